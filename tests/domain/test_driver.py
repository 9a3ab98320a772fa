"""What goes past SQLAlchemy to the driver behaves as if it had not, on both databases.

`python -m pytest --plain tests/domain/test_driver.py` says so of what does not (secretsvc/db/fast/README.md).
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import Any

import pytest
from calls import manager_of_requests
from databases import ENGINES
from sqlalchemy import Connection, Engine, bindparam, event, insert, select, text, update
from sqlalchemy.exc import DBAPIError, IntegrityError
from transaction import TransactionManager
from transaction.interfaces import NoTransaction
from waiting import PATIENCE

from secretsvc.db.constraint_errors import is_duplicate
from secretsvc.db.engine import (
    make_engine,
    read_once,
    read_transaction,
    set_mode,
    write_transaction,
)
from secretsvc.db.fast import flags
from secretsvc.db.fast.prepared import Prepared
from secretsvc.db.session import Session
from secretsvc.db.statements import insert_many, update_many
from secretsvc.kernel.ids import new_id
from secretsvc.kernel.transaction_mode import Mode
from secretsvc.secrets.models import secret, secret_version
from secretsvc.tables.projects import environment, project

pytestmark = pytest.mark.both_engines

INSERT = Prepared(insert(project))
FIND = Prepared(select(project).where(project.c.slug == bindparam("slug")))
RENAME = Prepared(
    update(project)
    .where(project.c.slug == bindparam("old"))
    .values(slug=bindparam("new"))
    .returning(project.c.id, project.c.slug)
)
SECRETS = Prepared(select(secret).order_by(secret.c.key))
#: What inserts many rows, without the fast path and with it.
BULK = {"sqlite": ("INSERT", "INSERT"), "postgresql": ("INSERT", "COPY")}
VERSIONS = Prepared(select(secret_version).order_by(secret_version.c.secret_id, secret_version.c.version))


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    databases = request.getfixturevalue(f"{request.param}_databases")
    made = make_engine(databases.create())
    yield made
    made.dispose()


@pytest.fixture(params=[True, False], ids=["fast", "plain"])
def _either_path(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the fast path of `secretsvc/db/fast` and without it."""
    monkeypatch.setattr(flags, "ENABLED", request.param)


either_path = pytest.mark.usefixtures("_either_path")


def a_project(slug: str = "shop", **columns: Any) -> dict[str, Any]:
    times = {"created_at": 1, "updated_at": 2}
    return {"id": new_id(), "slug": slug, "name": "Web shop", "description": None, **times, **columns}


def slugs(engine: Engine) -> list[str]:
    """What another connection sees."""
    with engine.connect() as connection:
        return sorted(connection.scalars(select(project.c.slug)))


@either_path
def test_a_prepared_statement_gives_what_it_would_give_without(engine: Engine) -> None:
    row = a_project(description="ü")
    with write_transaction(engine) as connection:
        INSERT.run(connection, row)
        assert [one._asdict() for one in FIND.rows(connection, {"slug": "shop"})] == [row]
        assert connection.execute(select(project)).mappings().all() == [row]
        assert FIND.rows(connection, {"slug": "nowhere"}) == []


@either_path
@pytest.mark.parametrize("undone", [True, False])
def test_what_is_prepared_begins_a_transaction_that_can_be_undone(engine: Engine, undone: bool) -> None:
    with engine.connect() as connection:
        writer = set_mode(connection, Mode.WRITE)
        INSERT.run(writer, a_project())
        assert writer.in_transaction()
        assert slugs(engine) == []
        (writer.rollback if undone else writer.commit)()
    assert slugs(engine) == ([] if undone else ["shop"])


@either_path
def test_one_statement_by_itself_needs_no_transaction(engine: Engine) -> None:
    with read_once(engine) as connection:
        assert FIND.rows(connection, {"slug": "shop"}) == []
        assert not connection.in_transaction()


def written_last(engine: Engine, mode: Mode, row: dict[str, Any], *, committed: bool = True) -> None:
    """A request that reads, and inserts a row as the last that it does."""
    with manager_of_requests() as manager:
        connection = Session(engine, manager).connection(mode)
        assert FIND.rows(connection, {"slug": "shop"}) == []
        if mode is Mode.AUTOCOMMIT:
            set_mode(connection, Mode.WRITE)
        INSERT.run(connection, row)
        assert len(FIND.rows(connection, {"slug": row["slug"]})) == 1
        if committed:
            manager.commit()
            manager.begin()


@either_path
@pytest.mark.parametrize("mode", [Mode.AUTOCOMMIT, Mode.REVEAL, Mode.WRITE])
@pytest.mark.parametrize("committed", [True, False])
def test_what_a_request_writes_last_is_there_when_it_is_committed_and_only_then(
    engine: Engine, mode: Mode, committed: bool
) -> None:
    written_last(engine, mode, a_project(), committed=committed)
    assert slugs(engine) == (["shop"] if committed else [])


@either_path
@pytest.mark.parametrize("mode", [Mode.AUTOCOMMIT, Mode.REVEAL, Mode.WRITE])
def test_a_write_that_fails_leaves_its_connection_as_good_as_new(engine: Engine, mode: Mode) -> None:
    there = a_project("depot")
    written_last(engine, mode, there)
    with pytest.raises(IntegrityError) as caught:
        written_last(engine, mode, there)
    assert is_duplicate(caught.value)
    assert slugs(engine) == ["depot"]
    written_last(engine, mode, a_project())
    assert slugs(engine) == ["depot", "shop"]


@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
def test_one_statement_that_writes_waits_for_its_turn_as_a_transaction_does(engine: Engine) -> None:
    with ThreadPoolExecutor(1) as pool:
        with write_transaction(engine) as connection:
            INSERT.run(connection, a_project("depot"))
            second = pool.submit(written_last, engine, Mode.AUTOCOMMIT, a_project())
            with pytest.raises(TimeoutError):
                second.result(timeout=0.3)
        second.result(timeout=PATIENCE)
    assert slugs(engine) == ["depot", "shop"]


def test_a_request_has_one_connection_and_another_when_it_starts_again(engine: Engine) -> None:
    taken: list[Any] = []
    event.listen(engine, "checkout", lambda *given: taken.append(given))
    with manager_of_requests() as manager:
        session = Session(engine, manager)
        first = session.connection(Mode.AUTOCOMMIT)
        FIND.rows(first, {"slug": "shop"})
        INSERT.run(session.connection(Mode.WRITE), a_project())
        assert session.connection(Mode.WRITE) is first
        assert len(taken) == 1
        session.restart()
        assert FIND.rows(session.connection(Mode.AUTOCOMMIT), {"slug": "shop"}) == []
        assert len(taken) == 2
    assert engine.pool.checkedout() == 0  # type: ignore[attr-defined]  # of the pool that we have


@either_path
@pytest.mark.parametrize("many", [True, False])
def test_a_constraint_that_refuses_a_write_is_told_as_sqlalchemy_tells_it(engine: Engine, many: bool) -> None:
    rows = [a_project(), a_project()]

    def write(connection: Connection) -> None:
        if many:
            insert_many(connection, project, rows)
        else:
            for row in rows:
                INSERT.run(connection, row)

    with pytest.raises(IntegrityError) as caught, write_transaction(engine) as connection:
        write(connection)
    assert is_duplicate(caught.value)
    assert slugs(engine) == []


@either_path
@pytest.mark.parametrize("engine", ["postgresql"], indirect=True)
def test_a_connection_that_the_server_has_closed_is_let_go_of(engine: Engine) -> None:
    with read_once(engine) as connection:
        FIND.rows(connection, {"slug": "shop"})
        pid = connection.scalar(text("SELECT pg_backend_pid()"))
        with engine.connect() as other:
            other.execute(text("SELECT pg_terminate_backend(:pid, 5000)"), {"pid": pid})
        with pytest.raises(DBAPIError) as caught:
            FIND.rows(connection, {"slug": "shop"})
    assert caught.value.connection_invalidated
    with read_once(engine) as connection:
        assert FIND.rows(connection, {"slug": "shop"}) == []


def test_whoever_listens_for_statements_hears_these_too(engine: Engine) -> None:
    heard: list[str] = []
    event.listen(engine, "before_cursor_execute", lambda *given: heard.append(given[2].split()[0]))
    with write_transaction(engine) as connection:
        insert_many(connection, project, [a_project(), a_project("depot")])
        FIND.rows(connection, {"slug": "shop"})
    assert heard == [BULK[engine.name][flags.ENABLED], "SELECT"]


@either_path
def test_a_prepared_update_gives_the_rows_that_it_returns(engine: Engine) -> None:
    row = a_project()
    with write_transaction(engine) as connection:
        INSERT.run(connection, row)
        (renamed,) = RENAME.rows(connection, {"old": "shop", "new": "depot"})
        assert renamed._asdict() == {"id": row["id"], "slug": "depot"}
        assert RENAME.rows(connection, {"old": "shop", "new": "depot"}) == []
    assert slugs(engine) == ["depot"]


@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
def test_a_statement_for_many_rows_is_told_once_and_as_what_it_is(engine: Engine) -> None:
    told: list[object] = []
    for name in "before_cursor_execute", "after_cursor_execute":
        event.listen(
            engine, name, lambda *given: told.append((given[2].split()[0], given[4].executemany, given[5]))
        )
    with write_transaction(engine) as connection:
        insert_many(connection, project, [a_project("shop"), a_project("depot")])
    assert told == [("INSERT", True, True)] * 2


@either_path
def test_a_listener_finds_again_at_the_end_what_it_left_at_the_beginning(engine: Engine) -> None:
    found: list[str] = []

    def begin(*given: Any) -> None:
        given[4].note = given[2].split()[0]

    event.listen(engine, "before_cursor_execute", begin)
    event.listen(engine, "after_cursor_execute", lambda *given: found.append(given[4].note))
    event.listen(engine, "handle_error", lambda error: found.append(f"no {error.execution_context.note}"))
    with engine.connect() as connection:
        set_mode(connection, Mode.WRITE)
        connection.begin()
        insert_many(connection, project, [a_project(), a_project("depot")])
        FIND.rows(connection, {"slug": "shop"})
        with pytest.raises(IntegrityError):
            INSERT.run(connection, a_project())
    assert found == [BULK[engine.name][flags.ENABLED], "SELECT", "no INSERT"]


def secrets_of(engine: Engine, count: int) -> list[dict[str, Any]]:
    """Rows of secrets of one environment, without the ids that the database will give them."""
    outer, inside = a_project(), a_project("prod")
    with write_transaction(engine) as connection:
        INSERT.run(connection, outer)
        connection.execute(insert(environment), {**inside, "project_id": outer["id"], "rev": 0})
    common = {"environment_id": inside["id"], "version": 1, "created_at": 1, "updated_at": 2**53 - 1}
    return [
        {"key": f"K{number}", "description": "ü\t\n\\N" if number else None, "deleted": not number, **common}
        for number in range(count)
    ]


@either_path
@pytest.mark.parametrize("read", [3, 40], ids=["given up", "to the end"])
def test_a_stream_gives_the_rows_of_the_query_and_ends_with_its_context(engine: Engine, read: int) -> None:
    rows = secrets_of(engine, 40)
    with write_transaction(engine) as connection:
        insert_many(connection, secret, rows)
    with read_transaction(engine) as connection:
        whole = [*map(tuple, SECRETS.tuples(connection, {}))]
        with SECRETS.streamed(connection, {}) as stream:
            assert [*map(tuple, islice(stream, read))] == whole[:read]
        with write_transaction(engine) as other:
            INSERT.run(other, a_project("depot"))
        connection.rollback()
        # Neither the snapshot nor the connection is still held by what was not read.
        assert len(FIND.rows(connection, {"slug": "depot"})) == 1


@either_path
def test_many_rows_are_inserted_as_they_are_whatever_is_in_them(engine: Engine) -> None:
    rows = secrets_of(engine, 3)
    with write_transaction(engine) as connection:
        insert_many(connection, secret, rows)
        stored = [one._asdict() for one in SECRETS.rows(connection, {})]
        assert [{name: one[name] for name in rows[0]} for one in stored] == rows
        common = {"version": 1, "rev": 1, "created_at": 1}
        versions = [
            {"secret_id": stored[0]["id"], "envelope": None, "kid": None, "created_by": None, **common},
            {
                "secret_id": stored[1]["id"],
                "envelope": bytes(range(256)),
                "kid": "0" * 16,
                "created_by": new_id(),
                **common,
            },
        ]
        insert_many(connection, secret_version, versions)
        stored = [one._asdict() for one in VERSIONS.rows(connection, {})]
        assert [{name: one[name] for name in versions[0]} for one in stored] == versions
        assert {one["origin_secret_id"] for one in stored} == {None}


@pytest.mark.fast_path
@pytest.mark.parametrize("engine", ["postgresql"], indirect=True)
def test_a_connection_that_is_found_closed_by_its_begin_is_let_go_of(engine: Engine) -> None:
    with read_transaction(engine) as connection:
        pid = connection.scalar(text("SELECT pg_backend_pid()"))
        connection.rollback()
        with engine.connect() as other:
            other.execute(text("SELECT pg_terminate_backend(:pid, 5000)"), {"pid": pid})
        with pytest.raises(DBAPIError) as caught:
            FIND.rows(connection, {"slug": "shop"})
    assert caught.value.connection_invalidated
    with read_transaction(engine) as connection:
        assert FIND.rows(connection, {"slug": "shop"}) == []


@either_path
def test_many_rows_are_changed_each_to_its_own_values_and_no_others(engine: Engine) -> None:
    rows = secrets_of(engine, 3)
    with write_transaction(engine) as connection:
        insert_many(connection, secret, rows)
        first, second, third = (one._asdict() for one in SECRETS.rows(connection, {}))
        changes = [
            {"id": first["id"], "version": 7, "deleted": False, "description": '{"a\\", NULL}'},
            {"id": third["id"], "version": 8, "deleted": True, "description": None},
        ]
        update_many(connection, secret, changes)
        assert [one._asdict() for one in SECRETS.rows(connection, {})] == [
            first | changes[0],
            second,
            third | changes[1],
        ]


def test_a_session_that_no_transaction_ends_keeps_no_connection(engine: Engine) -> None:
    session = Session(engine, TransactionManager(explicit=True))
    with pytest.raises(NoTransaction):
        session.connection(Mode.READ)
    assert engine.pool.checkedout() == 0  # type: ignore[attr-defined]  # of the pool that we have
