"""A migration names the oldest release that may serve where it takes something away, and only there."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.operations import Operations
from alembic.script import ScriptDirectory
from schema_removals import schema_of, taken_away, wrongly_named

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_a_migration_names_a_release_where_it_takes_something_away_and_only_there() -> None:
    script = ScriptDirectory.from_config(Config(ROOT / "production.ini"))
    engine = sa.create_engine("sqlite://")
    with engine.connect() as connection:
        assert wrongly_named(connection, script) == {}
    engine.dispose()


#: What a migration does to `a (b, c NULL, d, e UNIQUE)`, and what that takes away.
CASES: tuple[tuple[str, Callable[[Operations, Operations], object], list[str]], ...] = (
    ("a table", lambda op, _: op.create_table("z", sa.Column("y", sa.Text(), nullable=False)), []),
    ("an index", lambda op, _: op.create_index("ix", "a", ["b"]), []),
    ("a column", lambda op, _: op.add_column("a", sa.Column("f", sa.Text(), nullable=True)), []),
    (
        "a column with a default",
        lambda op, _: op.add_column("a", sa.Column("f", sa.Text(), nullable=False, server_default="x")),
        [],
    ),
    ("a wider column", lambda _, a: a.alter_column("b", type_=sa.String(9)), []),
    ("a value that may lack", lambda _, a: a.alter_column("b", nullable=True), []),
    (
        "a column without a default",
        lambda _, a: a.add_column(sa.Column("f", sa.Text(), nullable=False)),
        ["a.f must have a value"],
    ),
    ("no column", lambda op, _: op.drop_column("a", "b"), ["a.b is gone"]),
    ("another name", lambda op, _: op.alter_column("a", "c", new_column_name="f"), ["a.c is gone"]),
    ("no table", lambda op, _: op.drop_table("a"), ["a is gone"]),
    ("by hand", lambda op, _: op.execute("ALTER TABLE a RENAME TO z"), ["a is gone"]),
    ("a value", lambda _, a: a.alter_column("c", nullable=False), ["a.c must have a value"]),
    ("no default", lambda _, a: a.alter_column("d", server_default=None), ["a.d has no default"]),
    (
        "a narrower column",
        lambda _, a: a.alter_column("b", type_=sa.String(4)),
        ["a.b was VARCHAR(length=5) and is VARCHAR(length=4)"],
    ),
    (
        "a check",
        lambda _, a: a.create_check_constraint("some", "b <> ''"),
        ["a must fulfil check b <> ''"],
    ),
    (
        "a unique index",
        lambda op, _: op.create_index("ix", "a", ["b"], unique=True),
        ["a must fulfil unique ['b']"],
    ),
    (
        "a foreign key",
        lambda _, a: a.create_foreign_key("fk", "a", ["b"], ["e"]),
        ["a must fulfil foreign key ['b'] to a"],
    ),
)


@pytest.mark.parametrize(("change", "taken"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_what_a_migration_takes_away_is_seen(change: Callable[..., object], taken: list[str]) -> None:
    engine = sa.create_engine("sqlite://")
    with engine.connect() as connection:
        connection.exec_driver_sql(
            "CREATE TABLE a (b VARCHAR(5) NOT NULL, c TEXT, d TEXT DEFAULT 'x' NOT NULL, e VARCHAR(5) UNIQUE)"
        )
        before = schema_of(connection)
        with (
            Operations.context(MigrationContext.configure(connection)) as op,
            op.batch_alter_table("a") as table,
        ):
            change(op, table)
        found = taken_away(before, schema_of(connection))
    engine.dispose()
    assert found == taken
