"""What migrations take away from code that was written before them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from alembic.migration import MigrationContext
from alembic.operations import Operations
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, inspect
from sqlalchemy.types import BigInteger, Integer, String


class Column(NamedTuple):
    type: Any
    is_nullable: bool
    has_default: bool


class Rule(NamedTuple):
    """What rows of a table must be like; `columns` is empty where only the text knows them."""

    kind: str
    columns: frozenset[str]
    text: str


class Table(NamedTuple):
    columns: dict[str, Column]
    rules: frozenset[Rule]


Schema = dict[str, Table]

#: From here on migrations tell which releases may serve the schema after them.
FIRST = "0010"


def wrongly_named(connection: Connection, script: ScriptDirectory) -> dict[str, list[str]]:
    """Applies all migrations to an empty database: those that name a release though they take nothing away.

    And those that name none though they do, each with what that is.
    """
    found, before = {}, schema_of(connection)
    with Operations.context(MigrationContext.configure(connection)):
        for one in reversed([*script.walk_revisions()]):
            one.module.upgrade()
            if one.revision < FIRST:
                continue
            after = schema_of(connection)
            found[one.revision] = (hasattr(one.module, "oldest_release"), taken_away(before, after))
            before = after
    del found[FIRST]
    return {number: taken for number, (is_named, taken) in found.items() if is_named != bool(taken)}


def schema_of(connection: Connection) -> Schema:
    """As the database has it."""
    inspector = inspect(connection)
    return {
        name: Table(
            {
                one["name"]: Column(one["type"], one["nullable"], _has_default(one))
                for one in inspector.get_columns(name)
            },
            frozenset(_rules(inspector, name)),
        )
        for name in inspector.get_table_names()
    }


def taken_away(before: Schema, after: Schema) -> list[str]:
    """What code that knows the one schema cannot do with the other; triggers and rights are not looked at."""
    found = [f"{name} is gone" for name in before.keys() - after.keys()]
    for name in before.keys() & after.keys():
        found += [f"{name}{what}" for what in _from_table(before[name], after[name])]
    return sorted(found)


def _from_table(before: Table, after: Table) -> Iterator[str]:
    new = after.columns.keys() - before.columns.keys()
    for name, column in before.columns.items():
        now = after.columns.get(name)
        if now is None:
            yield f".{name} is gone"
        elif column.is_nullable and not now.is_nullable:
            yield f".{name} must have a value"
        elif column.has_default and not now.has_default and not now.is_nullable:
            yield f".{name} has no default"
        elif not _holds(now.type, column.type):
            yield f".{name} was {column.type!r} and is {now.type!r}"
    for name in new:
        if not (after.columns[name].is_nullable or after.columns[name].has_default):
            yield f".{name} must have a value"
    for rule in after.rules - before.rules:
        # Of new columns alone, older code leaves the default, which the database has seen to fit.
        if not (rule.columns and rule.columns <= new):
            yield f" must fulfil {rule.kind} {rule.text}"


def _holds(now: Any, before: Any) -> bool:
    """Whether a type holds whatever another does."""
    if isinstance(now, String) and isinstance(before, String):
        return now.length is None or (before.length is not None and now.length >= before.length)
    if isinstance(now, BigInteger) and isinstance(before, Integer):
        return True
    return repr(now) == repr(before)


def _has_default(column: Any) -> bool:
    """Also one that is computed, or counted by the database itself."""
    return column["default"] is not None or "identity" in column or column.get("autoincrement") is True


def _rules(inspector: Any, table: str) -> Iterator[Rule]:
    key = inspector.get_pk_constraint(table)["constrained_columns"]
    yield Rule("primary key", frozenset(key), str(key))
    indexes = [one for one in inspector.get_indexes(table) if one["unique"]]
    for one in (*inspector.get_unique_constraints(table), *indexes):
        columns = one.get("expressions") or one["column_names"]
        where = [
            str(text) for name, text in one.get("dialect_options", {}).items() if name.endswith("_where")
        ]
        yield Rule("unique", frozenset(columns), " where ".join([str(columns), *where]))
    for one in inspector.get_foreign_keys(table):
        columns = one["constrained_columns"]
        yield Rule("foreign key", frozenset(columns), f"{columns} to {one['referred_table']}")
    for one in inspector.get_check_constraints(table):
        yield Rule("check", frozenset(), one["sqltext"])
