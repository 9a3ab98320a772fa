"""Statements that go to PostgreSQL as one do what they do one by one on SQLite."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import Engine, bindparam, delete, insert, select, update
from sqlalchemy.exc import IntegrityError
from statements import recorded

from secretsvc.db.constraint_errors import is_duplicate
from secretsvc.db.engine import write_transaction
from secretsvc.db.statement_batch import execute_batch
from secretsvc.db.statements import update_of
from secretsvc.kernel.ids import new_id
from secretsvc.tables.projects import environment, project

pytestmark = pytest.mark.both_engines

INSERT = insert(project)
RENAME = (
    update(project)
    .where(project.c.slug == bindparam("old"))
    .values(slug=bindparam("slug"), updated_at=project.c.updated_at + 1)
)


@pytest.fixture(autouse=True)
def _empty(engine: Engine) -> Iterator[None]:
    yield
    with write_transaction(engine) as connection:
        for table in (environment, project):
            connection.execute(delete(table))


def a_project(slug: str) -> dict[str, Any]:
    times = {"created_at": 1, "updated_at": 2}
    return {"id": new_id(), "slug": slug, "name": slug.title(), "description": None, **times}


def stored(engine: Engine) -> list[tuple[str, int]]:
    """What another connection sees."""
    with engine.connect() as connection:
        found = connection.execute(select(project.c.slug, project.c.updated_at).order_by(project.c.slug))
        return [(slug, at) for slug, at in found]


def test_each_has_parameters_of_its_own_whatever_their_names(engine: Engine) -> None:
    shop, depot = a_project("shop"), a_project("depot")
    inside = {**a_project("prod"), "project_id": shop["id"], "rev": 0}
    with write_transaction(engine) as connection:
        connection.execute(INSERT, [shop, depot])
    with write_transaction(engine) as connection, recorded(engine) as statements:
        execute_batch(
            connection,
            [
                (RENAME, {"old": "shop", "slug": "store"}),
                (insert(environment), inside),
                (INSERT, a_project("yard")),
                update_of(project, {**depot, "slug": "barn"}),
            ],
        )
    assert stored(engine) == [("barn", 2), ("store", 3), ("yard", 2)]
    assert len(statements) == {"sqlite": 4, "postgresql": 1}[engine.name]


@pytest.mark.parametrize("number", [0, 1, 2])
def test_what_one_of_them_may_not_do_none_does(engine: Engine, number: int) -> None:
    with write_transaction(engine) as connection:
        connection.execute(INSERT, a_project("shop"))
    rows = [a_project(name) for name in ("barn", "depot", "yard")]
    rows[number]["slug"] = "shop"
    with pytest.raises(IntegrityError) as caught, write_transaction(engine) as connection:
        execute_batch(connection, [(INSERT, row) for row in rows])
    assert is_duplicate(caught.value)
    assert stored(engine) == [("shop", 2)]
    with write_transaction(engine) as connection:
        execute_batch(connection, [(INSERT, a_project("barn"))])
    assert stored(engine) == [("barn", 2), ("shop", 2)]
