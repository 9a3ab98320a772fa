"""What the log explains: the state of the tables that its records lead to, one after the other (issue 25.3).

Records are applied in the order in which they were sealed. That is the order of their ids wherever they
waited together, so that of two the later may come first if the clocks of two hosts differ: a removal waits
for what it removes, and a revision for the one before it, or for its environment.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import orjson

from secretsvc.kernel.canonical import canonical

#: Of a state as JSON; another field makes another number.
VERSION = 1
#: How the actions begin of which those with `changes` are writes of secrets.
WRITES = "secret."


class Identity(NamedTuple):
    """Who may be granted something."""

    kind: str
    subject: str
    disabled: bool


class Grant(NamedTuple):
    """A role at a scope; ids as text, `expires_at` in epoch milliseconds."""

    identity_id: str | None
    group_id: str | None
    scope_type: str
    project_id: str | None
    environment_id: str | None
    role: str
    expires_at: int | None


class Environment(NamedTuple):
    """An environment of a project, at its present revision."""

    project_id: str
    slug: str
    protected: bool
    rev: int


class Secret(NamedTuple):
    """A key's current version.

    The description is there by its digest under the key that `kid` names, None where there is none.
    """

    version: int
    deleted: bool
    kid: str | None = None
    digest: str | None = None


class State:
    """What the tables hold if nobody changed them beside the service. All ids are texts."""

    def __init__(self) -> None:
        self.identities: dict[str, Identity] = {}
        self.groups: dict[str, str] = {}
        self.members: dict[str, set[str]] = {}
        self.projects: dict[str, str] = {}
        self.environments: dict[str, Environment] = {}
        self.grants: dict[str, Grant] = {}
        #: By environment, then by key; deleted ones too.
        self.secrets: dict[str, dict[str, Secret]] = {}
        #: Writes that came before their environment, or the revision before theirs: by both.
        self.waiting: dict[str, dict[int, dict[str, Any]]] = {}
        #: What was removed before it came: groups, projects, environments and grants by their ids.
        self.removed: set[str] = set()
        #: Records that are in here already, and will yet be met: they were not sealed when it was made.
        self.applied: set[str] = set()

    def apply(self, record: Mapping[str, Any]) -> None:
        """Has a record come true: the fields of its leaf, with its whole detail.

        What changes nothing here is passed over. Raises ValueError for a record that lacks what it should
        tell.
        """
        if record.get("id") in self.applied:
            self.applied.discard(record["id"])
            return
        if record.get("outcome") != "success":
            return
        detail = record.get("detail")
        try:
            # A plugin's record may hold anything.
            if record["action"].startswith(WRITES) and isinstance(detail, dict) and "changes" in detail:
                self._write(record["environment_id"], detail)
            elif (act := _ACTS.get(record["action"])) is not None:
                act(self, record, record["detail"])
        except (AttributeError, KeyError, TypeError):
            raise ValueError(f"a record of {record.get('action')} lacks what a replay needs") from None

    def to_json(self) -> bytes:
        """Canonical JSON, equal for equal states."""
        return canonical(
            {
                "v": VERSION,
                "identities": _lists(self.identities),
                "groups": self.groups,
                "members": {one: sorted(held) for one, held in self.members.items() if held},
                "projects": self.projects,
                "environments": _lists(self.environments),
                "grants": _lists(self.grants),
                "secrets": {one: _lists(held) for one, held in self.secrets.items() if held},
                "waiting": {one: [held[rev] for rev in sorted(held)] for one, held in self.waiting.items()},
                "removed": sorted(self.removed),
                "applied": sorted(self.applied),
            }
        )

    @classmethod
    def from_json(cls, content: bytes) -> State:
        """Raises ValueError for what is no state, or one of another version."""
        try:
            found = orjson.loads(content)
            if found["v"] != VERSION:
                raise ValueError("a state of another version")
            state = cls()
            state.identities = _tuples(Identity, found["identities"])
            state.groups, state.projects = dict(found["groups"]), dict(found["projects"])
            state.members = {one: set(held) for one, held in found["members"].items()}
            state.environments = _tuples(Environment, found["environments"])
            state.grants = _tuples(Grant, found["grants"])
            state.secrets = {one: _tuples(Secret, held) for one, held in found["secrets"].items()}
            state.waiting = {
                one: {detail["rev"]: detail for detail in held} for one, held in found["waiting"].items()
            }
            state.removed, state.applied = set(found["removed"]), set(found["applied"])
        except (AttributeError, KeyError, TypeError):
            raise ValueError("not a state") from None
        return state

    def _came(self, thing_id: str) -> bool:
        """Whether what a record makes is to be there: it may have been removed already."""
        if thing_id in self.removed:
            self.removed.discard(thing_id)
            return False
        return True

    def _create_identity(self, record: Mapping[str, Any], detail: Mapping[str, Any]) -> None:
        # Who comes by itself is the actor of its own record.
        actor = record["actor"]
        kind, subject = detail.get("kind", actor["kind"]), detail.get("subject", actor["subject"])
        self.identities[detail["identity_id"]] = Identity(kind, subject, False)

    def _update_identity(self, _record: Mapping[str, Any], detail: Mapping[str, Any]) -> None:
        found = self.identities.get(detail["identity_id"])
        if found is not None:
            self.identities[detail["identity_id"]] = found._replace(disabled=detail["disabled"])

    def _create_group(self, _record: Mapping[str, Any], detail: Mapping[str, Any]) -> None:
        if self._came(detail["group_id"]):
            self.groups[detail["group_id"]] = detail["slug"]

    def _delete_group(self, _record: Mapping[str, Any], detail: Mapping[str, Any]) -> None:
        group_id = detail["group_id"]
        if self.groups.pop(group_id, None) is None:
            self.removed.add(group_id)
        self.members.pop(group_id, None)
        self._drop_grants(lambda one: one.group_id == group_id)

    def _add_member(self, _record: Mapping[str, Any], detail: Mapping[str, Any]) -> None:
        self.members.setdefault(detail["group_id"], set()).add(detail["identity_id"])

    def _remove_member(self, _record: Mapping[str, Any], detail: Mapping[str, Any]) -> None:
        self.members.get(detail["group_id"], set()).discard(detail["identity_id"])

    def _create_project(self, record: Mapping[str, Any], detail: Mapping[str, Any]) -> None:
        if self._came(record["project_id"]):
            self.projects[record["project_id"]] = detail["slug"]

    def _delete_project(self, record: Mapping[str, Any], _detail: Mapping[str, Any]) -> None:
        project_id = record["project_id"]
        if self.projects.pop(project_id, None) is None:
            self.removed.add(project_id)
        for one in [one for one, found in self.environments.items() if found.project_id == project_id]:
            del self.environments[one]
            self.secrets.pop(one, None)
            self.waiting.pop(one, None)
        self._drop_grants(lambda one: one.project_id == project_id)

    def _create_environment(self, record: Mapping[str, Any], detail: Mapping[str, Any]) -> None:
        environment_id = record["environment_id"]
        if self._came(environment_id):
            self.environments[environment_id] = Environment(record["project_id"], detail["slug"], False, 0)
            self._go_on(environment_id)

    def _update_environment(self, record: Mapping[str, Any], detail: Mapping[str, Any]) -> None:
        found = self.environments.get(record["environment_id"])
        if found is not None and "protected" in detail:
            self.environments[record["environment_id"]] = found._replace(protected=detail["protected"])

    def _delete_environment(self, record: Mapping[str, Any], _detail: Mapping[str, Any]) -> None:
        environment_id = record["environment_id"]
        if self.environments.pop(environment_id, None) is None:
            self.removed.add(environment_id)
        self.secrets.pop(environment_id, None)
        self.waiting.pop(environment_id, None)
        self._drop_grants(lambda one: one.environment_id == environment_id)

    def _create_grant(self, record: Mapping[str, Any], detail: Mapping[str, Any]) -> None:
        if self._came(detail["grant_id"]):
            holder = (detail["identity_id"], detail["group_id"])
            scope = (detail["scope_type"], record["project_id"], record["environment_id"])
            self.grants[detail["grant_id"]] = Grant(*holder, *scope, detail["role"], detail["expires_at"])

    def _bootstrap(self, _record: Mapping[str, Any], detail: Mapping[str, Any]) -> None:
        if self._came(detail["grant_id"]):
            made = Grant(detail["identity_id"], None, "global", None, None, "admin", None)
            self.grants[detail["grant_id"]] = made

    def _update_grant(self, _record: Mapping[str, Any], detail: Mapping[str, Any]) -> None:
        found, after = self.grants.get(detail["grant_id"]), detail["after"]
        if found is not None:
            changed = found._replace(role=after["role"], expires_at=after["expires_at"])
            self.grants[detail["grant_id"]] = changed

    def _delete_grant(self, _record: Mapping[str, Any], detail: Mapping[str, Any]) -> None:
        if self.grants.pop(detail["grant_id"], None) is None:
            self.removed.add(detail["grant_id"])

    def _drop_grants(self, condition: Callable[[Grant], bool]) -> None:
        for one in [one for one, found in self.grants.items() if condition(found)]:
            del self.grants[one]

    def _write(self, environment_id: str, detail: Mapping[str, Any]) -> None:
        found, rev = self.environments.get(environment_id), detail["rev"]
        if environment_id in self.removed or rev <= (0 if found is None else found.rev):
            return
        kept = {name: detail.get(name) for name in ("rev", "changes", "descriptions")}
        self.waiting.setdefault(environment_id, {})[rev] = kept
        if found is not None:
            self._go_on(environment_id)

    def _go_on(self, environment_id: str) -> None:
        """Applies the writes that have waited for the revision that an environment has."""
        found, waiting = self.environments[environment_id], self.waiting.pop(environment_id, {})
        while (following := waiting.pop(found.rev + 1, None)) is not None:
            found = found._replace(rev=found.rev + 1)
            _revise(self.secrets.setdefault(environment_id, {}), following)
        self.environments[environment_id] = found
        if waiting:
            self.waiting[environment_id] = waiting


def _revise(held: dict[str, Secret], detail: Mapping[str, Any]) -> None:
    """What a revision makes of an environment's keys."""
    for change in detail["changes"]:
        before, is_removed = held.get(change["key"]), change["kind"] == "removed"
        if before is None:
            held[change["key"]] = Secret(change["version"], is_removed)
        else:
            held[change["key"]] = before._replace(version=change["version"], deleted=is_removed)
    described = detail["descriptions"] or {"kid": None, "digests": {}}
    for key, digest in described["digests"].items():
        if key in held:
            kid = None if digest is None else described["kid"]
            held[key] = held[key]._replace(kid=kid, digest=digest)


def _lists(found: Mapping[str, tuple[Any, ...]]) -> dict[str, object]:
    return {name: [*one] for name, one in found.items()}


def _tuples(kind: Any, found: Mapping[str, Any]) -> dict[str, Any]:
    return {name: kind(*one) for name, one in found.items()}


_ACTS: dict[str, Callable[[State, Mapping[str, Any], Mapping[str, Any]], None]] = {
    "identity.create": State._create_identity,
    "identity.update": State._update_identity,
    "group.create": State._create_group,
    "group.delete": State._delete_group,
    "group.member.add": State._add_member,
    "group.member.remove": State._remove_member,
    "project.create": State._create_project,
    "project.delete": State._delete_project,
    "environment.create": State._create_environment,
    "environment.update": State._update_environment,
    "environment.delete": State._delete_environment,
    "grant.create": State._create_grant,
    "grant.update": State._update_grant,
    "grant.delete": State._delete_grant,
    "grant.bootstrap": State._bootstrap,
    "group.grant.create": State._create_grant,
    "group.grant.update": State._update_grant,
    "group.grant.delete": State._delete_grant,
}
