"""Statements that go to PostgreSQL as one do what they do one by one on SQLite."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import Engine, bindparam, delete, insert, select, update
from sqlalchemy.exc import IntegrityError
from statements import recorded

from secretsvc.db.constraint_errors import is_duplicate
from secretsvc.db.engine import set_mode, write_transaction
from secretsvc.db.fast import flags
from secretsvc.db.fast.prepared import Prepared
from secretsvc.db.statement_batch import collect_statements, execute_batch, execute_batch_returning
from secretsvc.db.statements import change_of, insertion_of
from secretsvc.kernel.ids import new_id
from secretsvc.kernel.transaction_mode import Mode
from secretsvc.tables.projects import environment, project

pytestmark = pytest.mark.postgresql("every")

INSERT = Prepared(insert(project))
RENAME = Prepared(
    update(project)
    .where(project.c.slug == bindparam("old"))
    .values(slug=bindparam("slug"), updated_at=project.c.updated_at + 1)
    .returning(project.c.id, project.c.slug)
)


@pytest.fixture(autouse=True, params=[True, False], ids=["fast", "plain"])
def _either_path(
    engine: Engine, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    monkeypatch.setattr(flags, "ENABLED", request.param)
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


def test_each_has_parameters_of_its_own_whatever_their_names_and_the_first_gives_its_rows(
    engine: Engine,
) -> None:
    shop, depot = a_project("shop"), a_project("depot")
    inside = {**a_project("prod"), "project_id": shop["id"], "rev": 0}
    with write_transaction(engine) as connection:
        INSERT.run(connection, shop)
    with write_transaction(engine) as connection, recorded(engine) as statements:
        rows = execute_batch_returning(
            connection,
            [
                (RENAME, {"old": "shop", "slug": "store"}),
                (INSERT, depot),
                insertion_of(environment, inside),
            ],
        )
        execute_batch(
            connection, [(INSERT, a_project("yard")), change_of(project, {**depot, "slug": "barn"})]
        )
    assert [one._asdict() for one in rows] == [{"id": shop["id"], "slug": "store"}]
    assert stored(engine) == [("barn", 2), ("store", 3), ("yard", 2)]
    assert len(statements) == {"sqlite": 5, "postgresql": 2}[engine.name]


def test_a_first_that_finds_nothing_gives_no_row(engine: Engine) -> None:
    with write_transaction(engine) as connection:
        steps = [(RENAME, {"old": "shop", "slug": "store"}), (INSERT, a_project("depot"))]
        assert execute_batch_returning(connection, steps) == []
    assert stored(engine) == [("depot", 2)]


@pytest.mark.parametrize("number", [0, 1, 2])
def test_what_one_of_them_may_not_do_none_does(engine: Engine, number: int) -> None:
    with write_transaction(engine) as connection:
        INSERT.run(connection, a_project("shop"))
    rows = [a_project(name) for name in ("barn", "depot", "yard")]
    rows[number]["slug"] = "shop"
    with pytest.raises(IntegrityError) as caught, write_transaction(engine) as connection:
        execute_batch(connection, [(INSERT, row) for row in rows])
    assert is_duplicate(caught.value)
    assert stored(engine) == [("shop", 2)]
    with write_transaction(engine) as connection:
        execute_batch(connection, [(INSERT, a_project("barn"))])
    assert stored(engine) == [("barn", 2), ("shop", 2)]


@pytest.mark.parametrize("mode", [Mode.REVEAL, Mode.WRITE])
def test_what_is_collected_is_left_to_whoever_collects_and_the_rest_is_run(
    engine: Engine, mode: Mode
) -> None:
    with engine.connect() as connection, recorded(engine) as statements:
        writer = set_mode(connection, mode)
        with collect_statements(writer) as steps:
            INSERT.execute_deferred(writer, a_project("shop"))
            INSERT.execute_deferred(writer, a_project("depot"))
        assert (len(steps), statements) == (2, [])
        execute_batch(writer, steps)
        INSERT.execute_deferred(writer, a_project("yard"))
        writer.commit()
    assert len(statements) == {"sqlite": 3, "postgresql": 2}[engine.name]
    assert [slug for slug, _ in stored(engine)] == ["depot", "shop", "yard"]
