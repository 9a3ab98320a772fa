"""A small organisation that has something to show on every page."""

from __future__ import annotations

from typing import NamedTuple

from secrets_client import Vault, tamper
from service import Service, arrange

from secretsvc.kernel.clock import now_ms


class Sent(NamedTuple):
    """What a form sends, beside its token, and the page that it stands on."""

    page: str
    action: str
    fields: dict[str, str]


SHOP = "/projects/shop"
PROD, DEV = f"{SHOP}/environments/prod", f"{SHOP}/environments/dev"
TOKENS = "/identities/{robot}/tokens"
#: Every page there is; `{wendy}` and other names in braces stand for ids.
PATHS = (
    "/projects",
    "/projects?new",
    SHOP,
    f"{SHOP}?q=key&show=missing",
    f"{SHOP}/compare?from=dev&to=prod&show=all",
    f"{SHOP}/settings",
    f"{SHOP}/rename-everywhere?key=API_KEY",
    f"{SHOP}/delete-everywhere?key=API_KEY",
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
    "/?setup",
    "/search",
    "/search?q=key",
    "/search?q=in:shop+prod",
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
    "/identities/{announced}?remove-identity",
    "/identities/{wendy}/exposure",
    "/identities?new=user",
    "/groups?new",
    "/groups/{crew}?add",
    "/groups/{crew}?leave={wendy}",
    "/grants?remove={late}",
    TOKENS,
    f"{TOKENS}?new",
    f"{TOKENS}?remove={{made}}",
    "/whoami",
    "/projects/absent",
)
#: The page of the API, which asks another host for its viewer.
DOCS = "/api/v1/docs"
#: Pages that forms lead to, by what they are.
SENT = {
    "review": Sent(
        PROD,
        f"{PROD}/edit-review",
        {"value.API_KEY": "changed ", "new.1.key": "FRESH", "new.1.value": "x", "delete.BROKEN": "1"},
    ),
    "refusal": Sent(PROD, f"{PROD}/edit-review", {"value.API_KEY": "typed", "new.1.key": "no key"}),
    "conflict": Sent(PROD, f"{PROD}/edit-apply", {"rev": "1", "value.API_KEY": "mine", "reason": "typed"}),
    "import": Sent(
        f"{PROD}/import", f"{PROD}/import-review", {"format": "env", "mode": "merge", "content": "FRESH=x"}
    ),
    "text": Sent(f"{DEV}/text", f"{DEV}/text", {}),
    "copy": Sent(
        SHOP,
        f"{PROD}/copy-review",
        {"from": "dev", "existing": "overwrite", "keys": "API_KEY,BROKEN,ONLY_HERE"},
    ),
    "copy onwards": Sent(
        SHOP,
        f"{DEV}/copy-review",
        {"from": "prod", "existing": "skip", "keys": "API_KEY,BROKEN", "also.dev": "1"},
    ),
    "delete": Sent(SHOP, f"{SHOP}/delete-keys", {"key.API_KEY": "1", "key.BROKEN": "1"}),
    "token": Sent(f"{TOKENS}?new", TOKENS, {"attempt": "first", "name": "Of a test", "until": "1w"}),
}


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
    robot = service.identity_id("ci.access", "service")
    announced = admin.post("/identities", {"kind": "service", "subject": "announced"}, 201).json["id"]
    ids = {"wendy": service.identity_id("wendy@example.com"), "crew": crew, "late": late, "robot": robot}
    ids["announced"] = announced
    return {name: str(one) for name, one in ids.items()}


def hand_out(service: Service, robot: str) -> str:
    """A service token of an identity where they are switched on; its id."""
    body = {"name": "CI of the shop", "expires_at": now_ms() + 7 * 86_400_000}
    made: str = service.user().post(f"/identities/{robot}/tokens", body, 201).json["id"]
    return made
