"""The replay of the log: the state of the tables that its records lead to.

Records are sealed in the order in which they were written, and applied in that order. A record about a row
that the log has not created is ignored: the comparison of the state with the tables reports the row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from secretsvc.audit.models import EVERYWHERE
from secretsvc.audit.rules.records import DENIED
from secretsvc.sealedlog.replay.contents import Contents
from secretsvc.sealedlog.replay.details import (
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
from secretsvc.sealedlog.replay.histories import History, write_of
from secretsvc.sealedlog.replay.row_states import (
    UNTOLD,
    EnvironmentState,
    GrantState,
    IdentityState,
    Tally,
    TokenState,
)
from secretsvc.sealedlog.replay.transitions import revise, role_and_expiry

#: A row that a record can change after its creation.
Changing = TypeVar("Changing", IdentityState, EnvironmentState, GrantState)

#: Prefix of the actions that, with `changes` in the detail, are writes of secrets.
WRITES = "secret."


class State(Contents):
    """The state that the applied records lead to."""

    def apply(self, record: Mapping[str, Any]) -> None:
        """Apply one record: the fields of its leaf, with its whole detail.

        A record that changes nothing here is ignored. Raises ValueError for a record that lacks a field which
        a replay needs.
        """
        if record.get("id") in self.applied:
            self.applied.discard(record["id"])
            return
        detail = record.get("detail")
        try:
            if record.get("outcome") == DENIED:
                self._count_denial(record)
            if record.get("outcome") != "success":
                return
            # The detail of a plugin's record can be anything.
            if record["action"].startswith(WRITES) and isinstance(detail, dict) and "changes" in detail:
                self._write(record, detail)
            elif (act := _ACTS.get(record["action"])) is not None:
                act(self, record, record["detail"])
        except (AttributeError, KeyError, TypeError):
            raise ValueError(f"a record of {record.get('action')} lacks what a replay needs") from None

    def _create_identity(self, record: ActorRecord, detail: IdentityDetail) -> None:
        # An identity that was not announced is the actor of the record of its creation.
        actor = record["actor"]
        kind, subject = detail.get("kind", actor["kind"]), detail.get("subject", actor["subject"])
        self.identities[detail["identity_id"]] = IdentityState(kind, subject, False)

    def _update_identity(self, _record: object, detail: IdentityDetail) -> None:
        _change(self.identities, detail["identity_id"], disabled=detail["disabled"])

    def _delete_identity(self, _record: object, detail: IdentityDetail) -> None:
        identity_id = detail["identity_id"]
        self.identities.pop(identity_id, None)
        for members in self.members.values():
            members.discard(identity_id)
        for token_id in [one for one, token in self.tokens.items() if token.identity_id == identity_id]:
            del self.tokens[token_id]
        self._drop_grants(lambda one: one.identity_id == identity_id)

    def _create_group(self, _record: object, detail: GroupDetail) -> None:
        self.groups[detail["group_id"]] = detail["slug"]

    def _delete_group(self, _record: object, detail: GroupDetail) -> None:
        group_id = detail["group_id"]
        self.groups.pop(group_id, None)
        self.members.pop(group_id, None)
        self._drop_grants(lambda one: one.group_id == group_id)

    def _add_member(self, _record: object, detail: GroupDetail) -> None:
        self.members.setdefault(detail["group_id"], set()).add(detail["identity_id"])

    def _remove_member(self, _record: object, detail: GroupDetail) -> None:
        self.members.setdefault(detail["group_id"], set()).discard(detail["identity_id"])

    def _create_project(self, record: ProjectRecord, detail: ScopeDetail) -> None:
        self.projects[record["project_id"]] = detail["slug"]

    def _delete_project(self, record: ProjectRecord, _detail: object) -> None:
        project_id = record["project_id"]
        self.projects.pop(project_id, None)
        for one in [one for one, found in self.environments.items() if found.project_id == project_id]:
            self._drop_environment(one)
        self._drop_grants(lambda one: one.project_id == project_id)

    def _create_environment(self, record: EnvironmentRecord, detail: ScopeDetail) -> None:
        made = EnvironmentState(record["project_id"], detail["slug"], False, 0)
        self.environments[record["environment_id"]] = made

    def _update_environment(self, record: EnvironmentRecord, detail: ScopeDetail) -> None:
        if "protected" in detail:
            _change(self.environments, record["environment_id"], protected=detail["protected"])

    def _delete_environment(self, record: EnvironmentRecord, _detail: object) -> None:
        environment_id = record["environment_id"]
        self._drop_environment(environment_id)
        self._drop_grants(lambda one: one.environment_id == environment_id)

    def _drop_environment(self, environment_id: str) -> None:
        self.environments.pop(environment_id, None)
        self.secrets.pop(environment_id, None)
        self.histories.pop(environment_id, None)

    def _create_grant(self, record: ScopeRecord, detail: GrantDetail) -> None:
        scope = (detail["scope_type"], record["project_id"], record["environment_id"])
        self.grants[detail["grant_id"]] = GrantState(
            detail["identity_id"], detail["group_id"], *scope, detail["role"], detail["expires_at"]
        )

    def _bootstrap(self, _record: object, detail: GrantDetail) -> None:
        made = GrantState(detail["identity_id"], None, "global", None, None, "admin", None)
        self.grants[detail["grant_id"]] = made

    def _update_grant(self, _record: object, detail: GrantDetail) -> None:
        after, found = role_and_expiry(detail["after"]), self.grants.get(detail["grant_id"])
        # A change from other terms is ignored: something other than the service wrote them.
        if found is not None and role_and_expiry(detail.get("before", found._asdict())) == role_and_expiry(
            found._asdict()
        ):
            _change(self.grants, detail["grant_id"], **after)

    def _delete_grant(self, _record: object, detail: GrantDetail) -> None:
        self.grants.pop(detail["grant_id"], None)

    def _create_token(self, record: ActorRecord, detail: TokenDetail) -> None:
        made_by, digest = record["actor"]["identity_id"], detail.get("digest", UNTOLD)
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
        self.tokens.pop(detail["token_id"], None)

    def _count_denial(self, record: Mapping[str, Any]) -> None:
        """Count a denial at the most precise scope that its record names."""
        identity_id, time = record["actor"]["identity_id"], record["created_at"]
        scope = record["environment_id"] or record["project_id"] or str(EVERYWHERE)
        if identity_id is None:
            return
        tallies = self.tallies.setdefault(identity_id, {})
        before = tallies.get(scope, Tally(0, time, time))
        first, last = min(before.first_denied_at, time), max(before.last_denied_at, time)
        tallies[scope] = Tally(before.denials + 1, first, last)

    def _drop_grants(self, condition: Callable[[GrantState], bool]) -> None:
        for one in [one for one, found in self.grants.items() if condition(found)]:
            del self.grants[one]

    def _write(self, record: Mapping[str, Any], detail: Mapping[str, Any]) -> None:
        environment_id, rev = record["environment_id"], detail["rev"]
        found = self.environments.get(environment_id)
        if found is None or rev != found.rev + 1:
            return
        write = write_of(record, detail)
        self.environments[environment_id] = found._replace(rev=rev)
        revise(self.secrets.setdefault(environment_id, {}), write)
        self.histories.setdefault(environment_id, History()).add(write)


def _change(rows: dict[str, Changing], row_id: str, **changed: Any) -> None:
    if row_id in rows:
        rows[row_id] = rows[row_id]._replace(**changed)


_ACTS: dict[str, Callable[[State, Any, Any], None]] = {
    "identity.create": State._create_identity,
    "identity.update": State._update_identity,
    "identity.delete": State._delete_identity,
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
    "token.create": State._create_token,
    "token.delete": State._delete_token,
}
