"""A small organisation that has something to show on every page."""

from __future__ import annotations

from service import Service, arrange
from vault import Vault, tamper

SHOP = "/projects/shop"
PROD = f"{SHOP}/environments/prod"
#: Every page there is; `{wendy}`, `{crew}` and `{late}` stand for ids.
PATHS = (
    "/projects",
    SHOP,
    f"{SHOP}?q=key&show=missing",
    f"{SHOP}/compare?from=dev&to=prod&show=all",
    f"{SHOP}/settings",
    f"{SHOP}/environments",
    PROD,
    f"{PROD}/settings",
    f"{PROD}/import",
    f"{PROD}/text",
    f"{PROD}/secrets/API_KEY",
    f"{PROD}/secrets/BROKEN",
    f"{PROD}/secrets/GONE",
    f"{PROD}/secrets/API_KEY?left=1",
    f"{PROD}/secrets/API_KEY?rename",
    f"{PROD}/secrets/API_KEY?describe",
    f"{PROD}/secrets/API_KEY?rollback=1",
    f"{PROD}/secrets/API_KEY?delete",
    f"{PROD}/history",
    f"{PROD}/history?rev=1",
    f"{PROD}/restore?rev=1",
    f"{PROD}/deleted",
    "/",
    "/?q=key",
    "/audit",
    "/audit?project=shop&outcome=denied",
    "/audit?since=long+ago",
    "/admin/keyring",
    "/identities",
    "/identities/{wendy}",
    "/groups",
    "/groups/{crew}",
    "/grants",
    "/grants?subject=unknown.access",
    "/grants/{late}",
    "/access/unknown-identities",
    f"{SHOP}/access",
    f"{SHOP}/access?why={{wendy}}",
    f"{SHOP}/access?grant&holder=unknown.access&scope=shop/prod",
    f"{PROD}/access",
    "/identities/{wendy}?why=shop",
    "/identities/{wendy}?grant",
    "/identities/{wendy}?disable",
    "/identities/{wendy}/exposure",
    "/identities?new=user",
    "/groups?new",
    "/groups/{crew}?add",
    "/grants?remove={late}",
    "/whoami",
    "/projects/absent",
)


def furnish(service: Service) -> dict[str, str]:
    """A project with two environments, secrets in every state, and people with grants; the ids in `PATHS`."""
    admin = arrange(service, "shop", "prod", "dev")
    prod, dev = Vault(admin), Vault(admin, f"{SHOP}/environments/dev")
    prod.batch(
        set={"API_KEY": "one", "BROKEN": "two", "GONE": "three", "A_KEY_WITH_QUITE_A_LONG_NAME_" * 3: "four"},
        descriptions={"API_KEY": "For the payments, of which there are many. " * 4},
        reason="The first ones",
    )
    prod.set(API_KEY="another")
    prod.batch(delete=["GONE"])
    dev.batch(set={"API_KEY": "five", "ONLY_HERE": "six"})
    tamper(service, "BROKEN")
    crew = service.group("crew", "wendy@example.com", "rita@example.com")
    service.grant(crew, "writer", "shop", group=True)
    service.grant("rita@example.com", "reader", "shop/prod")
    late = service.grant("wendy@example.com", "writer", "shop/prod", expires_at=1)
    service.robot("unknown.access").get(SHOP, 404)
    return {"wendy": str(service.identity_id("wendy@example.com")), "crew": str(crew), "late": str(late)}
