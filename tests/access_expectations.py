"""The access matrix: every route of the API, who asks, and what the specification says of each pair.

Nothing here looks at the code: `verdict` is written from the specification ("Authorization resolution")
and contract 3.10, 4.1, 4.2, 4.7, 5.1, 5.2, 5.6, 5.9, 5.10, 5.11, 5.12 and 5.13.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

NONE, READER, WRITER, ADMIN = 0, 1, 2, 3
RANK = {"reader": READER, "writer": WRITER, "admin": ADMIN}
WORD = {rank: role for role, rank in RANK.items()}

#: Requirements that are no role at a scope.
PUBLIC, IDENTITY, VISIBLE, SOMEWHERE = "public", "any identity", "visible", "admin at any scope"


@dataclass(frozen=True)
class Caller:
    """Who asks: what it was granted, `role at scope` each, and what spoils it."""

    grants: tuple[str, ...] = ()
    through_group: bool = False
    expired: bool = False
    disabled: bool = False
    listed: bool = False
    robot: bool = False
    token: bool = True

    @property
    def effective(self) -> dict[str, int]:
        """The ranks by scope that count: a scope is `global`, a project, or `project/environment`."""
        if self.disabled or self.expired:
            return {}
        return {scope: RANK[role] for role, _, scope in (grant.partition(" at ") for grant in self.grants)}


CALLERS = {
    "no token": Caller(token=False),
    "no grant": Caller(),
    "global reader": Caller(("reader at global",)),
    "global writer": Caller(("writer at global",)),
    "global admin": Caller(("admin at global",)),
    "project reader": Caller(("reader at shop",)),
    "project writer": Caller(("writer at shop",)),
    "project admin": Caller(("admin at shop",)),
    "environment reader": Caller(("reader at shop/prod",)),
    "environment writer": Caller(("writer at shop/prod",)),
    "environment admin": Caller(("admin at shop/prod",)),
    "sibling project's admin": Caller(("admin at depot",)),
    "sibling environment's admin": Caller(("admin at shop/dev",)),
    "admin of a namesake": Caller(("admin at depot/prod",)),
    "project reader, admin elsewhere": Caller(("reader at shop", "admin at depot")),
    "environment reader, admin beside it": Caller(("reader at shop/prod", "admin at shop/dev")),
    "global reader, admin elsewhere": Caller(("reader at global", "admin at depot")),
    "expired admin": Caller(("admin at global", "admin at shop"), expired=True),
    "disabled admin": Caller(("admin at global", "admin at shop"), disabled=True),
    "disabled though listed": Caller(disabled=True, listed=True),
    "listed": Caller(("admin at global",), listed=True),
    "project writer through a group": Caller(("writer at shop",), through_group=True),
    "environment admin through a group": Caller(("admin at shop/prod",), through_group=True),
    "global admin through a group": Caller(("admin at global",), through_group=True),
    "expired group": Caller(("admin at global",), through_group=True, expired=True),
    "disabled member": Caller(("admin at global",), through_group=True, disabled=True),
    "service token without a grant": Caller(robot=True),
    "service token, project admin": Caller(("admin at shop",), robot=True),
    "service token, environment reader": Caller(("reader at shop/prod",), robot=True),
}


@dataclass(frozen=True)
class Route:
    """A row of the table. `needs` is a rank or one of the words above; `scope` is where."""

    operation: str
    method: str
    path: str
    needs: int | str
    scope: str = "global"
    status: int = 200
    body: Any = None
    action: str | None = None
    #: "Admin at any scope" is asked first (contract 4.2: what lies under such a route).
    gate: bool = False
    #: A grant is visible to readers of a scope that covers it, not to those below.
    covered: bool = False
    #: What reading the log by name denies with.
    denied: str | None = None
    #: A second scope, where the role of a reader is asked for as well.
    reads: str | None = None
    #: What a success is there, beside `action`.
    elsewhere: str | None = None


ENV = "{environment}"
GRANT = {"scope_type": "project", "project": "{project}", "role": "reader"}
PROD_GRANT = {"scope_type": "environment", "project": "{project}", "environment": "{env}", "role": "reader"}
GLOBAL_GRANT = {"scope_type": "global", "role": "writer"}
WHOM = {"identity_id": "{identity}"}
NEW = {"slug": "brand-new", "name": "New"}
NEWCOMER = {"kind": "user", "subject": "newcomer@example.com"}
SET = {"mode": "merge", "set": {"NEW_KEY": "x"}}
FILE = {"format": "env", "content": "NEW_KEY=x", "mode": "merge", "dry_run": False}
ANY_GRANT = {"gate": True, "covered": True, "status": 204}
COPY = {"from": {"project": "{project}", "environment": "{dev}"}}
CHANGED_GRANT = {"gate": True, "covered": True, "body": {"role": "reader", "expires_at": 2**53 - 1}}

# A row is a line, however long.
# ruff: noqa: E501
# fmt: off
ROUTES = [
    Route("health", "GET", "/health", PUBLIC),
    Route("openapi", "GET", "/openapi.json", PUBLIC),
    Route("docs", "GET", "/docs", PUBLIC),
    Route("whoAmI", "GET", "/whoami", IDENTITY),
    Route("search", "GET", "/search?q=prod", IDENTITY),

    Route("listProjects", "GET", "/projects", IDENTITY),
    Route("createProject", "POST", "/projects", WRITER, "global", 201, NEW, "project.create"),
    Route("getProject", "GET", "/projects/{project}", VISIBLE, "shop"),
    Route("updateProject", "PATCH", "/projects/{project}", WRITER, "shop", 200, {"name": "S"}, "project.update"),
    Route("deleteProject", "DELETE", "/projects/{project}", ADMIN, "shop", 204, None, "project.delete"),

    Route("listEnvironments", "GET", "/projects/{project}/environments", VISIBLE, "shop"),
    Route("createEnvironment", "POST", "/projects/{project}/environments", WRITER, "shop", 201, NEW, "environment.create"),
    Route("getEnvironment", "GET", ENV, READER, "shop/prod"),
    Route("updateEnvironment", "PATCH", ENV, ADMIN, "shop/prod", 200, {"protected": True}, "environment.update"),
    Route("deleteEnvironment", "DELETE", ENV, ADMIN, "shop/prod", 204, None, "environment.delete"),

    Route("listSecrets", "GET", ENV + "/secrets", READER, "shop/prod"),
    Route("listSecrets", "GET", ENV + "/secrets?rev=1", READER, "shop/prod"),
    Route("listDeletedSecrets", "GET", ENV + "/secrets:deleted", READER, "shop/prod"),
    Route("listRevisions", "GET", ENV + "/revisions", READER, "shop/prod"),
    Route("batchSecrets", "POST", ENV + "/secrets:batch", WRITER, "shop/prod", 200, SET, "secret.batch"),
    Route("importSecrets", "POST", ENV + "/secrets:import", WRITER, "shop/prod", 200, FILE, "secret.import"),
    Route("exportSecrets", "GET", ENV + "/secrets:export", READER, "shop/prod", action="secret.export"),
    Route("exportSecrets", "GET", ENV + "/secrets:export?rev=1", READER, "shop/prod", action="secret.export"),
    Route("renameSecret", "POST", ENV + "/secrets:rename", WRITER, "shop/prod", 200, {"from": "KEY", "to": "YEK"}, "secret.rename"),
    Route("rollbackSecret", "POST", ENV + "/secrets:rollback", WRITER, "shop/prod", 200, {"key": "KEY", "to_version": 1}, "secret.rollback"),
    Route("compareSecrets", "GET", ENV + "/secrets:compare", READER, "shop/prod"),
    Route("compareSecrets", "GET", ENV + "/secrets:compare?project={project}&environment={dev}", READER, "shop/prod", reads="shop/dev"),
    Route("copySecrets", "POST", ENV + "/secrets:copy", WRITER, "shop/prod", 200, COPY, "secret.copy", reads="shop/dev", elsewhere="secret.export"),
    Route("restoreSecrets", "POST", ENV + "/secrets:restore", WRITER, "shop/prod", 200, {"to_rev": 1}, "secret.restore"),
    Route("getSecret", "GET", ENV + "/secrets/KEY", READER, "shop/prod", action="secret.reveal"),
    Route("getSecret", "GET", ENV + "/secrets/KEY?version=1", READER, "shop/prod", action="secret.reveal"),
    Route("revealSecret", "GET", ENV + "/secrets/GONE:reveal?version=1", READER, "shop/prod", action="secret.reveal"),
    Route("revealSecret", "GET", ENV + "/secrets/KEY:reveal", READER, "shop/prod", action="secret.reveal"),
    Route("listSecretVersions", "GET", ENV + "/secrets/KEY/versions", READER, "shop/prod"),

    Route("listIdentities", "GET", "/identities", SOMEWHERE),
    Route("createIdentity", "POST", "/identities", SOMEWHERE, "global", 201, NEWCOMER, "identity.create"),
    Route("updateIdentity", "PATCH", "/identities/{identity}", ADMIN, "global", 200, {"display_name": "X"}, "identity.update"),
    Route("deleteIdentity", "DELETE", "/identities/{announced}", ADMIN, "global", 204, None, "identity.delete"),
    Route("getEffectivePermissions", "GET", "/identities/{identity}/effective-permissions", SOMEWHERE),
    Route("getExposure", "GET", "/identities/{identity}/exposure", SOMEWHERE),
    Route("listUnknownIdentities", "GET", "/access/unknown-identities", SOMEWHERE),

    Route("listGrants", "GET", "/grants", SOMEWHERE),
    Route("createGrant", "POST", "/grants", ADMIN, "global", 201, GLOBAL_GRANT | WHOM, "grant.create"),
    Route("createGrant", "POST", "/grants", ADMIN, "shop", 201, GRANT | WHOM, "grant.create"),
    Route("createGrant", "POST", "/grants", ADMIN, "shop/prod", 201, PROD_GRANT | WHOM, "grant.create"),
    Route("updateGrant", "PATCH", "/grants/{global_grant}", ADMIN, "global", action="grant.update", **CHANGED_GRANT),
    Route("updateGrant", "PATCH", "/grants/{shop_grant}", ADMIN, "shop", action="grant.update", **CHANGED_GRANT),
    Route("updateGrant", "PATCH", "/grants/{prod_grant}", ADMIN, "shop/prod", action="grant.update", **CHANGED_GRANT),
    Route("updateGrant", "PATCH", "/grants/{group_prod_grant}", ADMIN, "shop/prod", action="group.grant.update", **CHANGED_GRANT),
    Route("deleteGrant", "DELETE", "/grants/{global_grant}", ADMIN, "global", action="grant.delete", **ANY_GRANT),
    Route("deleteGrant", "DELETE", "/grants/{shop_grant}", ADMIN, "shop", action="grant.delete", **ANY_GRANT),
    Route("deleteGrant", "DELETE", "/grants/{prod_grant}", ADMIN, "shop/prod", action="grant.delete", **ANY_GRANT),

    Route("listGroups", "GET", "/groups", SOMEWHERE),
    Route("createGroup", "POST", "/groups", ADMIN, "global", 201, NEW, "group.create"),
    Route("getGroup", "GET", "/groups/{group}", SOMEWHERE),
    Route("updateGroup", "PATCH", "/groups/{group}", ADMIN, "global", 200, {"name": "G"}, "group.update"),
    Route("deleteGroup", "DELETE", "/groups/{group}", ADMIN, "global", 204, None, "group.delete"),
    Route("listGroupMembers", "GET", "/groups/{group}/members", SOMEWHERE),
    Route("addGroupMember", "POST", "/groups/{group}/members", ADMIN, "global", 201, WHOM, "group.member.add"),
    Route("removeGroupMember", "DELETE", "/groups/{group}/members/{member}", ADMIN, "global", 204, None, "group.member.remove"),
    Route("listGroupGrants", "GET", "/groups/{group}/grants", SOMEWHERE),
    Route("createGroupGrant", "POST", "/groups/{group}/grants", ADMIN, "global", 201, GLOBAL_GRANT, "group.grant.create"),
    Route("createGroupGrant", "POST", "/groups/{group}/grants", ADMIN, "shop", 201, GRANT, "group.grant.create"),
    Route("createGroupGrant", "POST", "/groups/{group}/grants", ADMIN, "shop/prod", 201, PROD_GRANT, "group.grant.create"),
    Route("updateGroupGrant", "PATCH", "/groups/{group}/grants/{group_shop_grant}", ADMIN, "shop", action="group.grant.update", **CHANGED_GRANT),
    Route("updateGroupGrant", "PATCH", "/groups/{group}/grants/{group_prod_grant}", ADMIN, "shop/prod", action="group.grant.update", **CHANGED_GRANT),
    Route("deleteGroupGrant", "DELETE", "/groups/{group}/grants/{group_shop_grant}", ADMIN, "shop", action="group.grant.delete", **ANY_GRANT),
    Route("deleteGroupGrant", "DELETE", "/groups/{group}/grants/{group_prod_grant}", ADMIN, "shop/prod", action="group.grant.delete", **ANY_GRANT),

    Route("readAudit", "GET", "/audit", SOMEWHERE),
    Route("readAudit", "GET", "/audit?project={project}", ADMIN, "shop", gate=True, denied="access.denied"),
    Route("readAudit", "GET", "/audit?project={project}&environment={env}", ADMIN, "shop/prod", gate=True, denied="access.denied"),
    Route("readAudit", "GET", "/audit?project={project}&environment={env}&key=KEY", ADMIN, "shop/prod", gate=True, denied="access.denied"),
    Route("readAudit", "GET", "/audit?environment={dev}", ADMIN, "shop/dev", gate=True, denied="access.denied"),

    Route("readAudit", "GET", "/audit?order=oldest", SOMEWHERE),
    Route("readAudit", "GET", "/audit?order=oldest&project={project}", ADMIN, "shop", gate=True, denied="access.denied"),
    Route("readAudit", "GET", "/audit?order=oldest&project={project}&environment={env}&key=KEY", ADMIN, "shop/prod", gate=True, denied="access.denied"),
    Route("getAuditCheckpoint", "GET", "/audit/checkpoint", ADMIN),
    Route("getAuditKey", "GET", "/audit/key", SOMEWHERE),

    Route("getKeyRing", "GET", "/admin/keyring", ADMIN),
    Route("rekey", "POST", "/admin/rekey", ADMIN, "global", 200, {"limit": 1}),
]
# fmt: on

SPELLINGS = ("/projects/{project}/environments/{env}", "/p/{project}/e/{env}")


def spelled(routes: list[Route]) -> list[tuple[Route, str]]:
    """Each route with its paths: what lies in an environment has two."""
    return [
        (route, route.path.replace(ENV, spelling))
        for route in routes
        for spelling in (SPELLINGS if ENV in route.path else SPELLINGS[:1])
    ]


def fill(template: Any, names: Mapping[str, str]) -> Any:
    """A path or body with its names in place."""
    if isinstance(template, dict):
        return {key: fill(value, names) for key, value in template.items()}
    return template.format_map(names) if isinstance(template, str) and "{" in template else template


@dataclass(frozen=True)
class Verdict:
    """The status, and the denial that is written: its action and the scope in its columns."""

    status: int
    denial: tuple[str, str] | None = None


def covering(scope: str) -> list[str]:
    """The scope and those above it, whose grants it inherits."""
    return [*dict.fromkeys(["global", scope.partition("/")[0], scope])]


def role_at(caller: Caller, scope: str) -> int:
    return max((caller.effective.get(above, NONE) for above in covering(scope)), default=NONE)


def sees_project(caller: Caller, project: str) -> bool:
    """By a grant on it, above it, or on one of its environments (contract 4.1)."""
    return any(scope in ("global", project) or scope.startswith(f"{project}/") for scope in caller.effective)


def sees(route: Route, caller: Caller) -> bool:
    """Whether the caller may know of what the route is about."""
    if route.scope == "global" and not route.covered:
        return True
    if "/" in route.scope or route.covered:
        return role_at(caller, route.scope) > NONE
    return sees_project(caller, route.scope)


def verdict(route: Route, caller: Caller) -> Verdict:
    """What the specification says."""
    if route.needs == PUBLIC:
        return Verdict(route.status)
    if not caller.token:
        return Verdict(401)
    if route.needs == IDENTITY:
        return Verdict(route.status)
    if (route.needs == SOMEWHERE or route.gate) and ADMIN not in caller.effective.values():
        return Verdict(403, ("authz.global.admin", "global"))
    if route.needs == SOMEWHERE:
        return Verdict(route.status)
    needs = READER if route.needs == VISIBLE else int(route.needs)
    if sees(route, caller) if route.needs == VISIBLE else role_at(caller, route.scope) >= needs:
        if route.reads is not None and role_at(caller, route.reads) < READER:
            return Verdict(404, (denial_action(route.reads, READER), route.reads))
        return Verdict(route.status)
    if route.denied is not None:
        return Verdict(404, (route.denied, route.scope))
    return Verdict(403 if sees(route, caller) else 404, (denial_action(route.scope, needs), route.scope))


def denial_action(scope: str, needs: int) -> str:
    kind = "global" if scope == "global" else "environment" if "/" in scope else "project"
    return f"authz.{kind}.{WORD[needs]}"
