"""What people do to an environment by hand: edit many rows, or all of it as text, and see who did what."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Unpack

from sqlalchemy import ColumnElement, and_, bindparam, select

from secretsvc.authorization.rules.checks import assert_can
from secretsvc.db.statements import PerDialect
from secretsvc.db.types import Query
from secretsvc.kernel.authorization import Role, ScopePath
from secretsvc.kernel.display_names import full_name
from secretsvc.kernel.errors import DecryptFailed, Issue, UnknownKid, refuse
from secretsvc.kernel.text_areas import Restore, exactly, outcome, with_line_ends
from secretsvc.kernel.use_case import UseCaseContext
from secretsvc.projects.rules import EnvironmentRow, find_environment
from secretsvc.secrets.domain.writes import REPLACE
from secretsvc.secrets.formats.imports import Reader, read_env
from secretsvc.secrets.models import secret, secret_version
from secretsvc.secrets.queries.contents import read_listed, read_values
from secretsvc.secrets.queries.decryption import list_items, with_envelopes
from secretsvc.secrets.queries.key_rows import KeyRow
from secretsvc.secrets.queries.plan import Plan
from secretsvc.secrets.queries.rows import IS_CURRENT, SecretListItem, lateral_versions
from secretsvc.secrets.write.limits import check_edits, check_values
from secretsvc.secrets.write.write import WriteOptions, WriteOutcome, write
from secretsvc.tables.identities import identity


@dataclass(frozen=True, slots=True)
class Edits:
    """What somebody wants changed: values to write, descriptions to set (None clears), keys to remove.

    `blank` are keys without a value: one that is not deleted keeps its own, another begins with an empty one.
    `exact` are the keys whose values are written as they are, with no line ends or NUL of the stored ones.
    """

    values: Mapping[str, str]
    descriptions: Mapping[str, str | None]
    removals: Collection[str]
    blank: Collection[str] = ()
    exact: Collection[str] = ()

    def __repr__(self) -> str:
        keys = sorted({*self.values, *self.blank})
        return f"Edits({keys}, {sorted(self.descriptions)}, {sorted(self.removals)})"


@dataclass(frozen=True, slots=True)
class Authored:
    """A version with the name of who wrote it, and when, in epoch milliseconds; a tombstone has no kid."""

    key: str
    version: int
    kid: str | None
    created_at: int
    author: str

    @property
    def deleted(self) -> bool:
        """Whether it is a tombstone."""
        return self.kid is None


@dataclass(frozen=True, slots=True)
class EditorState:
    """An environment as its editor shows it; `authors` are those of the current versions, by key."""

    environment: EnvironmentRow
    items: list[SecretListItem]
    authors: dict[str, Authored]


def edit_secrets(
    call: UseCaseContext,
    at: ScopePath,
    edits: Edits,
    **options: Unpack[WriteOptions],
) -> WriteOutcome:
    """As `batch_secrets` merges, but what is as it was takes no version, and a description may change alone.

    Values are texts of a page: one that differs only in what browsers rewrite is as it was, if not exact.
    Raises as `batch_secrets` does, and `ValidationFailed` for the description of what is not there.
    """
    assert_can(call, Role.WRITER, at)
    check_edits({**edits.values, **dict.fromkeys(edits.blank, "")}, {}, edits.removals)
    check_values(call, edits.values)

    def plan(environment: EnvironmentRow, known: Mapping[str, KeyRow]) -> Plan:
        undeleted = {key for key, one in known.items() if not one.deleted}
        given = {**dict.fromkeys({*edits.blank} - undeleted, ""), **edits.values}
        _check_described(edits, given.keys() | undeleted)
        values, line_ends = given, dict[str, str]()
        if given.keys() & undeleted:
            values, line_ends = _changed(call, environment, given, with_line_ends, edits.exact)
        unchanged = (given.keys() - values.keys()) | ({*edits.blank} & undeleted)
        return Plan(values, edits.removals, edits.descriptions, unchanged=unchanged, line_ends=line_ends)

    return write(
        call,
        at,
        plan,
        action="secret.batch",
        keys={*edits.values, *edits.blank, *edits.descriptions, *edits.removals},
        **options,
    )


def _check_described(edits: Edits, there: Collection[str]) -> None:
    issues = []
    for key in sorted(edits.descriptions):
        if key in edits.removals:
            issues.append(Issue(f"description.{key}", "Its secret is to be deleted."))
        elif key not in there:
            issues.append(Issue(f"description.{key}", "The secret is not there any more."))
    refuse(issues)


def rewrite(
    call: UseCaseContext,
    at: ScopePath,
    content: str,
    *,
    read: Reader = read_env,
    mode: str = REPLACE,
    restore: Restore = exactly,
    **options: Unpack[WriteOptions],
) -> WriteOutcome:
    """As `import_secrets`, but a value that stays as it is takes no new version.

    `restore` makes the value that was meant of each one that is there already.
    """
    assert_can(call, Role.WRITER, at)
    given = read(content, call.settings.env_max_secrets)
    check_values(call, given)

    def plan(environment: EnvironmentRow, known: Mapping[str, KeyRow]) -> Plan:
        values, line_ends = _changed(call, environment, given, restore)
        gone = known.keys() - given.keys() if mode == REPLACE else ()
        return Plan(values, gone, unchanged=given.keys() - values.keys(), line_ends=line_ends)

    return write(
        call,
        at,
        plan,
        action="secret.import",
        keys=given,
        whole=mode == REPLACE,
        **options,
    )


def _changed(
    call: UseCaseContext,
    environment: EnvironmentRow,
    values: Mapping[str, str],
    restore: Restore,
    exact: Collection[str] = (),
) -> tuple[dict[str, str], dict[str, str]]:
    """Return the values that are to be written, and what became of their line ends.

    `restore` is not applied to the values of `exact` keys.
    """
    changed, open_one = dict(values), call.ring.within(environment.id).open
    line_ends = {}
    present = read_values(call, environment).entries
    with with_envelopes(call, [one for key, one in present.items() if key in changed]) as sealed:
        for row, envelope, kid in sealed:
            key = row.key
            # What cannot be read differs from whatever is given.
            with suppress(DecryptFailed, UnknownKid):
                stored = open_one(envelope, kid, key, row.version).decode()
                typed = changed[key]
                changed[key] = typed if key in exact else restore(typed, stored)
                if changed[key] == stored:
                    del changed[key]
                elif became := outcome(typed, stored, changed[key]):
                    line_ends[key] = became
    # Line ends of two characters make a value longer.
    check_values(call, changed)
    return changed, line_ends


def editor_state(call: UseCaseContext, at: ScopePath) -> EditorState:
    """An environment's secrets without their values, and who wrote them."""
    assert_can(call, Role.READER, at)
    environment = find_environment(call, at)
    items = list_items(call, read_listed(call, environment))
    authors = _authored(call, _CURRENT_AUTHORS, {"environment_id": environment.id})
    return EditorState(environment, items, {one.key: one for one in authors})


def written_since(call: UseCaseContext, at: ScopePath, rev: int) -> tuple[int, list[Authored]]:
    """The present revision, and the newest version of each key that was written after another one, by key."""
    assert_can(call, Role.READER, at)
    environment = find_environment(call, at)
    parameters = {"environment_id": environment.id, "since_rev": rev}
    return environment.rev, _authored(call, _AUTHORS_SINCE, parameters)


def _authored(
    call: UseCaseContext, statements: PerDialect[Query], parameters: Mapping[str, object]
) -> list[Authored]:
    rows = call.connection.execute(statements[call.connection.dialect.name], parameters)
    return [
        Authored(row.key, row.version, row.kid, row.created_at, full_name(row.display_name, row.subject))
        for row in rows
    ]


_AUTHOR = identity.c.display_name, identity.c.subject


def _authors(dialect_name: str, condition: ColumnElement[bool]) -> Query:
    """A key's newest version is its current one, be it a tombstone."""
    version, on = lateral_versions(dialect_name, and_(IS_CURRENT, condition))
    return (
        select(secret.c.key, version.c.version, version.c.kid, version.c.created_at, *_AUTHOR)
        .join_from(secret, version, on)
        .outerjoin(identity, identity.c.id == version.c.created_by)
        .where(secret.c.environment_id == bindparam("environment_id"))
        .order_by(secret.c.key)
    )


_CURRENT_AUTHORS = PerDialect(lambda name: _authors(name, ~secret.c.deleted))
_AUTHORS_SINCE = PerDialect(lambda name: _authors(name, secret_version.c.rev > bindparam("since_rev")))
