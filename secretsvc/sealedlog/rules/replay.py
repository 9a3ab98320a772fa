"""What the log explains: the state of the tables that its records lead to, one after the other.

Records are applied in the order in which they were sealed. That is the order in which they were written, but
before migration 0017 it was that of their ids, so that of two the later may come first if the clocks of two
hosts differed: removals and changes wait for what they are of, a revision for the one before it, and new
terms for those before them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from secretsvc.audit.models import EVERYWHERE
from secretsvc.audit.rules.records import DENIED
from secretsvc.sealedlog.rules.details import (
    ActorRecord,
    EnvironmentRecord,
    GrantDetail,
    GroupDetail,
    IdentityDetail,
    ProjectRecord,
    ScopeDetail,
    ScopeRecord,
    TokenDetail,
)
from secretsvc.sealedlog.rules.histories import History, write_of
from secretsvc.sealedlog.rules.replay_state import (
    UNTOLD,
    EnvironmentState,
    GrantState,
    IdentityState,
    Tally,
    TokenState,
)
from secretsvc.sealedlog.rules.states import Contents
from secretsvc.sealedlog.rules.transitions import apply_pending_changes, revise, terms_of

T = TypeVar("T")
#: What a record may change that comes before the one that makes it.
Changing = TypeVar("Changing", IdentityState, EnvironmentState, GrantState)

#: What waits in `State.changed`, beside fields: changes of a grant's terms; how often more than once, or less
#: than never, somebody has joined a group so far.
STEPS, JOINED = "steps", "joined"
#: How the actions begin of which those with `changes` are writes of secrets.
WRITES = "secret."


class State(Contents):
    """What the records that were applied lead to."""

    def apply(self, record: Mapping[str, Any]) -> None:
        """Has a record come true: the fields of its leaf, with its whole detail.

        What changes nothing here is passed over. Raises ValueError for a record that lacks what it should
        tell.
        """
        if record.get("id") in self.applied:
            self.applied.discard(record["id"])
            return
        if record.get("outcome") == DENIED:
            self._count_denial(record)
        if record.get("outcome") != "success":
            return
        detail = record.get("detail")
        try:
            # A plugin's record may hold anything.
            if record["action"].startswith(WRITES) and isinstance(detail, dict) and "changes" in detail:
                self._write(record, detail)
            elif (act := _ACTS.get(record["action"])) is not None:
                act(self, record, record["detail"])
        except (AttributeError, KeyError, TypeError):
            raise ValueError(f"a record of {record.get('action')} lacks what a replay needs") from None

    def _came(self, thing_id: str) -> bool:
        """Whether what a record makes is to be there: it may have been removed already."""
        if thing_id in self.removed:
            self.removed.discard(thing_id)
            return False
        return True

    def _make(self, held: dict[str, Changing], thing_id: str, made: Changing) -> bool:
        """Has a thing be there, with what changed of it before; whether it is to be."""
        changed = self.changed.pop(thing_id, {})
        if not self._came(thing_id):
            return False
        held[thing_id] = made._replace(**changed)
        return True

    def _change(self, held: dict[str, Changing], thing_id: str, **changed: Any) -> None:
        if thing_id in held:
            held[thing_id] = held[thing_id]._replace(**changed)
        else:
            self.changed[thing_id] = self.changed.get(thing_id, {}) | changed

    def _remove(self, held: dict[str, T], thing_id: str) -> None:
        if held.pop(thing_id, None) is None:
            self.removed.add(thing_id)

    def _create_identity(self, record: ActorRecord, detail: IdentityDetail) -> None:
        # Who comes by itself is the actor of its own record.
        actor = record["actor"]
        kind, subject = detail.get("kind", actor["kind"]), detail.get("subject", actor["subject"])
        self._make(self.identities, detail["identity_id"], IdentityState(kind, subject, False))

    def _update_identity(self, _record: object, detail: IdentityDetail) -> None:
        self._change(self.identities, detail["identity_id"], disabled=detail["disabled"])

    def _delete_identity(self, _record: object, detail: IdentityDetail) -> None:
        identity_id = detail["identity_id"]
        self._remove(self.identities, identity_id)
        for held in self.members.values():
            held.discard(identity_id)
        for token_id in [one for one, token in self.tokens.items() if token.identity_id == identity_id]:
            del self.tokens[token_id]
        self._drop_grants(lambda one: one.identity_id == identity_id)

    def _create_group(self, _record: object, detail: GroupDetail) -> None:
        if self._came(detail["group_id"]):
            self.groups[detail["group_id"]] = detail["slug"]

    def _delete_group(self, _record: object, detail: GroupDetail) -> None:
        group_id = detail["group_id"]
        self._remove(self.groups, group_id)
        self.members.pop(group_id, None)
        self._drop_grants(lambda one: one.group_id == group_id)

    def _count_member(self, detail: GroupDetail, more: int) -> None:
        """Nobody joins twice without leaving between: how often they are in is so in whatever order."""
        one, member = detail["identity_id"], f"{detail['identity_id']} of {detail['group_id']}"
        held = self.members.setdefault(detail["group_id"], set())
        times = (one in held) - (member in self.removed) + self.changed.pop(member, {}).get(JOINED, 0) + more
        self.removed.discard(member)
        held.discard(one)
        if times > 0:
            held.add(one)
        if times not in (0, 1):
            self.changed[member] = {JOINED: times - (times > 0)}

    def _create_project(self, record: ProjectRecord, detail: ScopeDetail) -> None:
        if self._came(record["project_id"]):
            self.projects[record["project_id"]] = detail["slug"]

    def _delete_project(self, record: ProjectRecord, _detail: object) -> None:
        project_id = record["project_id"]
        self._remove(self.projects, project_id)
        for one in [one for one, found in self.environments.items() if found.project_id == project_id]:
            del self.environments[one]
            self._forget(one)
        self._drop_grants(lambda one: one.project_id == project_id)

    def _create_environment(self, record: EnvironmentRecord, detail: ScopeDetail) -> None:
        environment_id = record["environment_id"]
        made = EnvironmentState(record["project_id"], detail["slug"], False, 0)
        if self._make(self.environments, environment_id, made):
            self._go_on(environment_id)

    def _update_environment(self, record: EnvironmentRecord, detail: ScopeDetail) -> None:
        if "protected" in detail:
            self._change(self.environments, record["environment_id"], protected=detail["protected"])

    def _delete_environment(self, record: EnvironmentRecord, _detail: object) -> None:
        environment_id = record["environment_id"]
        self._remove(self.environments, environment_id)
        self._forget(environment_id)
        self._drop_grants(lambda one: one.environment_id == environment_id)

    def _create_grant(self, record: ScopeRecord, detail: GrantDetail) -> None:
        scope = (detail["scope_type"], record["project_id"], record["environment_id"])
        made = GrantState(
            detail["identity_id"], detail["group_id"], *scope, detail["role"], detail["expires_at"]
        )
        self._make_grant(detail["grant_id"], made)

    def _bootstrap(self, _record: object, detail: GrantDetail) -> None:
        made = GrantState(detail["identity_id"], None, "global", None, None, "admin", None)
        self._make_grant(detail["grant_id"], made)

    def _update_grant(self, _record: object, detail: GrantDetail) -> None:
        after = terms_of(detail["after"])
        if "before" not in detail:
            self._change(self.grants, detail["grant_id"], **after)
            return
        steps = self.changed.setdefault(detail["grant_id"], {}).setdefault(STEPS, [])
        steps.append([terms_of(detail["before"]), after])
        self._step(detail["grant_id"])

    def _make_grant(self, grant_id: str, made: GrantState) -> None:
        steps = self.changed.get(grant_id, {}).pop(STEPS, [])
        if self._make(self.grants, grant_id, made) and steps:
            self.changed[grant_id] = {STEPS: steps}
            self._step(grant_id)

    def _step(self, grant_id: str) -> None:
        """Applies the changes of a grant's terms that have waited for those that it has."""
        if grant_id in self.grants:
            steps = self.changed[grant_id][STEPS]
            self.grants[grant_id] = apply_pending_changes(self.grants[grant_id], steps)
            if not steps:
                del self.changed[grant_id]

    def _delete_grant(self, _record: object, detail: GrantDetail) -> None:
        self._remove(self.grants, detail["grant_id"])

    def _create_token(self, record: ActorRecord, detail: TokenDetail) -> None:
        made_by, digest = record["actor"]["identity_id"], detail.get("digest", UNTOLD)
        if self._came(detail["token_id"]):
            self.tokens[detail["token_id"]] = TokenState(
                detail["identity_id"],
                detail["name"],
                detail["prefix"],
                record["created_at"],
                made_by,
                detail["expires_at"],
                digest,
            )

    def _delete_token(self, _record: object, detail: TokenDetail) -> None:
        self._remove(self.tokens, detail["token_id"])

    def _count_denial(self, record: Mapping[str, Any]) -> None:
        """Each record of a denial is counted where the most precise scope that it names is."""
        identity_id, time = record["actor"]["identity_id"], record["created_at"]
        scope = record["environment_id"] or record["project_id"] or str(EVERYWHERE)
        if identity_id is None:
            return
        held = self.tallies.setdefault(identity_id, {})
        before = held.get(scope, Tally(0, time, time))
        first, last = min(before.first_denied_at, time), max(before.last_denied_at, time)
        held[scope] = Tally(before.denials + 1, first, last)

    def _drop_grants(self, condition: Callable[[GrantState], bool]) -> None:
        for one in [one for one, found in self.grants.items() if condition(found)]:
            del self.grants[one]

    def _write(self, record: Mapping[str, Any], detail: Mapping[str, Any]) -> None:
        environment_id, rev = record["environment_id"], detail["rev"]
        found = self.environments.get(environment_id)
        if environment_id in self.removed or rev <= (0 if found is None else found.rev):
            return
        self.waiting.setdefault(environment_id, {})[rev] = write_of(record, detail)
        if found is not None:
            self._go_on(environment_id)

    def _go_on(self, environment_id: str) -> None:
        """Applies the writes that have waited for the revision that an environment has."""
        found, waiting = self.environments[environment_id], self.waiting.pop(environment_id, {})
        while (following := waiting.pop(found.rev + 1, None)) is not None:
            found = found._replace(rev=found.rev + 1)
            revise(self.secrets.setdefault(environment_id, {}), following)
            self.histories.setdefault(environment_id, History()).add(following)
        self.environments[environment_id] = found
        if waiting:
            self.waiting[environment_id] = waiting

    def _forget(self, environment_id: str) -> None:
        """Drop what an environment takes along."""
        self.secrets.pop(environment_id, None)
        self.histories.pop(environment_id, None)
        self.waiting.pop(environment_id, None)


_ACTS: dict[str, Callable[[State, Any, Any], None]] = {
    "identity.create": State._create_identity,
    "identity.update": State._update_identity,
    "identity.delete": State._delete_identity,
    "group.create": State._create_group,
    "group.delete": State._delete_group,
    "group.member.add": lambda state, _record, detail: state._count_member(detail, 1),
    "group.member.remove": lambda state, _record, detail: state._count_member(detail, -1),
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
    "token.create": State._create_token,
    "token.delete": State._delete_token,
}
