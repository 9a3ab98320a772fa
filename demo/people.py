"""Who works there, in which group, and what they may do."""

from __future__ import annotations

from typing import NamedTuple

ADMIN = "admin@example.test"
#: May change things, each where the grants below say so.
WRITERS = ("wendy.writer@example.test", "omar.operator@example.test", "lena.lead@example.test")
READER = "rita.reader@example.test"
SUPPORT = "sam.support@example.test"
TEMPORARY = "theo.temporary@example.test"
DEPLOYER = "service:deploy-bot"
BUILDER = "service:ci-runner"
DEPARTED = "dora.departed@example.test"
#: Known to nobody: they ask, are denied, and wait for a grant.
STRANGER, NEWCOMER = "service:backup-probe", "nora.newcomer@example.test"
NAMES = {
    ADMIN: "Ada Admin",
    "wendy.writer@example.test": "Wendy Writer",
    "omar.operator@example.test": "Omar Operator",
    "lena.lead@example.test": "Lena Lead",
    READER: "Rita Reader",
    SUPPORT: "Sam Support",
    TEMPORARY: "Theo Temporary",
    DEPARTED: "Dora Departed",
}
PEOPLE = (*WRITERS, READER, SUPPORT, TEMPORARY, DEPARTED, DEPLOYER, BUILDER)


class Group(NamedTuple):
    """A group and its members."""

    slug: str
    name: str
    description: str
    members: tuple[str, ...]


GROUPS = (
    Group("platform", "Platform team", "Keeps everything running.", WRITERS[1:]),
    Group("shop-developers", "Shop developers", "Builds the web shop.", (*WRITERS[::2], READER)),
    Group("support", "Customer support", "Looks things up, changes nothing.", (SUPPORT, READER)),
    Group("robots", "Pipelines", "Service tokens that deploy.", (DEPLOYER, BUILDER)),
)


class Grant(NamedTuple):
    """A role at `project`, `project/environment` or, where empty, everywhere, for some days or for good."""

    holder: str
    role: str
    scope: str = ""
    days: int | None = None


GRANTS = (
    Grant("lena.lead@example.test", "admin", "webshop"),
    Grant("lena.lead@example.test", "writer", "data-platform"),
    Grant("wendy.writer@example.test", "writer", "webshop/production", 6),
    Grant("wendy.writer@example.test", "writer", "payments"),
    Grant("wendy.writer@example.test", "writer", "data-platform/development"),
    Grant(READER, "reader"),
    Grant(TEMPORARY, "writer", "webshop/staging", 3),
    Grant(TEMPORARY, "reader", "payments/development", 21),
    Grant(DEPARTED, "writer", "payments"),
    Grant(BUILDER, "writer", "webshop/preview", 80),
    Grant(BUILDER, "reader", "mobile-api/preview"),
)
GROUP_GRANTS = (
    Grant("platform", "writer"),
    Grant("shop-developers", "writer", "webshop/development"),
    Grant("shop-developers", "writer", "webshop/staging"),
    Grant("shop-developers", "reader", "webshop"),
    Grant("support", "reader", "webshop/production", 28),
    Grant("robots", "reader", "webshop"),
    Grant("robots", "reader", "payments/production"),
)


def may_write(who: str, scope: str) -> bool:
    """Whether these grants let somebody write in `project/environment`."""
    holders = {who, *(group.slug for group in GROUPS if who in group.members)}
    return any(
        grant.holder in holders
        and grant.role != "reader"
        and grant.scope in (scope, scope.partition("/")[0], "")
        for grant in (*GRANTS, *GROUP_GRANTS)
    )
