"""What is not there costs as much work as what may not be seen: the same statements, one durable commit."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from fault_injection import at_once
from service import Maker, Service, arrange
from sqlalchemy import Connection, event

from secretsvc.audit.models import REFUSALS, audit_record, denial_tally
from secretsvc.db.engine import mode_of
from secretsvc.kernel.ids import new_id
from secretsvc.kernel.transaction_mode import Mode

pytestmark = pytest.mark.both_engines

NOBODY, WARDEN = "eve@example.com", "ada@example.com"


@pytest.fixture(params=["1000/day", ""], ids=["limit", "no limit"])
def town(make_service: Maker, request: pytest.FixtureRequest) -> Service:
    """Two projects; a caller who holds nothing, and an admin of one environment of the other project."""
    return warmed(make_service(LAST_SEEN_RESOLUTION="100000000", DENIAL_LIMIT=request.param))


def warmed(service: Service) -> Service:
    arrange(service, "shop")
    arrange(service, "vault", "prod", "test")
    service.grant(WARDEN, "admin", "shop/prod")
    for subject in (NOBODY, WARDEN):
        service.user(subject).get("/whoami")
    return service


@contextmanager
def work(service: Service) -> Iterator[list[str]]:
    """The statements and commits of the application, in order."""
    done: list[str] = []

    def statement(_connection: object, _cursor: object, sql: str, *_: object) -> None:
        done.append(sql)

    def commit(connection: Connection) -> None:
        # Where no BEGIN was sent there is no COMMIT; without the fast path SQLAlchemy counts one.
        if mode_of(connection) is not Mode.AUTOCOMMIT:
            done.append("COMMIT")

    event.listen(service.engine, "before_cursor_execute", statement)
    event.listen(service.engine, "commit", commit)
    yield done
    event.remove(service.engine, "before_cursor_execute", statement)
    event.remove(service.engine, "commit", commit)


@contextmanager
def changes(service: Service) -> Iterator[list[Any]]:
    """Two marks of what the database has taken in, one before and one after: they differ by what was written.

    A commit of nothing is no commit: it costs no wait for the disk.
    """
    with closing(_watcher(service.url)) as watcher:
        mark = (
            "PRAGMA data_version"
            if service.engine.name == "sqlite"
            else "SELECT pg_snapshot_xmax(pg_current_snapshot())::text"
        )
        marks = list(watcher.execute(mark).fetchone())
        yield marks
        marks += watcher.execute(mark).fetchone()


def _watcher(url: str) -> Any:
    """A connection that has no transaction of its own."""
    if url.startswith("sqlite"):
        return sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None)
    return psycopg.connect(url.replace("+psycopg", ""), autocommit=True)


CASES = [
    (NOBODY, "GET", "/projects/{}", "vault", "fault"),
    (NOBODY, "DELETE", "/projects/{}", "vault", "fault"),
    (NOBODY, "GET", "/projects/{}/environments", "vault", "fault"),
    (NOBODY, "GET", "/projects/{}/environments/prod", "vault", "fault"),
    (NOBODY, "GET", "/projects/vault/environments/{}", "prod", "dev"),
    (NOBODY, "GET", "/p/vault/e/{}", "prod", "dev"),
    (NOBODY, "GET", "/p/vault/e/{}/secrets/KEY", "prod", "dev"),
    (NOBODY, "GET", "/p/vault/e/{}/secrets:compare", "prod", "dev"),
    (WARDEN, "GET", "/p/shop/e/prod/secrets:compare?project={}&environment=prod", "vault", "fault"),
    (WARDEN, "GET", "/p/shop/e/prod/secrets:compare?project=vault&environment={}", "prod", "dev"),
    (NOBODY, "GET", "/projects/vault/environments/{}/revisions", "prod", "dev"),
    (NOBODY, "GET", "/p/vault/e/{}/secrets:deleted", "prod", "dev"),
    (NOBODY, "GET", "/p/vault/e/{}/secrets:export?rev=1", "prod", "dev"),
    (NOBODY, "GET", "/p/vault/e/{}/secrets/KEY?version=1", "prod", "dev"),
    (NOBODY, "PATCH", "/projects/vault/environments/{}", "prod", "dev"),
    (WARDEN, "GET", "/audit?project={}", "vault", "fault"),
    (WARDEN, "GET", "/audit?project={}&environment=prod", "vault", "fault"),
    (WARDEN, "GET", "/audit?project=vault&environment={}&key=KEY", "prod", "dev"),
    (WARDEN, "GET", "/audit?environment={}", "test", "rest"),
]


#: How a denial ends that is kept, and one that is not.
RELEASED, UNDONE = "RELEASE denial", "ROLLBACK TO denial"


def compare(town: Service, subject: str, method: str, invisible: str, absent: str, body: Any = None) -> None:
    efforts, denials = [], []
    for path in (invisible, absent):
        before = len(town.denials())
        with changes(town) as marks, work(town) as done:
            town.user(subject).request(method, path, body, status=404)
        assert done.count("COMMIT") == 1
        assert marks[0] != marks[1], f"nothing was written for {path}"
        efforts.append(done)
        denials.append(len(town.denials()) - before)
    assert [step.replace(RELEASED, UNDONE) for step in efforts[0]] == efforts[1]
    assert (efforts[0].count(RELEASED), efforts[1].count(UNDONE)) == (1, 1)
    assert denials == [1, 0]


@pytest.mark.parametrize(("subject", "method", "path", "invisible", "absent"), CASES)
def test_the_absent_costs_the_work_of_the_invisible(
    town: Service, subject: str, method: str, path: str, invisible: str, absent: str
) -> None:
    compare(town, subject, method, path.format(invisible), path.format(absent))


@pytest.mark.parametrize("path", ["/grants/{}", "/groups/{group}/grants/{}"])
@pytest.mark.parametrize(("method", "body"), [("DELETE", None), ("PATCH", {"role": "admin"})])
def test_a_grant_that_is_not_there_costs_the_work_of_a_foreign_one(
    town: Service, method: str, body: Any, path: str
) -> None:
    group_id = town.group("crew")
    foreign = town.grant(group_id, "reader", "vault", group=True)
    path = path.replace("{group}", str(group_id))
    compare(town, WARDEN, method, path.format(foreign), path.format(new_id()), body)


@pytest.mark.parametrize(
    ("verb", "body"),
    [
        ("batch", {"mode": "merge", "set": {"KEY": "x"}}),
        ("copy", {"from": {"project": "vault", "environment": "prod"}}),
        ("restore", {"to_rev": 0}),
    ],
)
def test_a_destination_that_is_not_there_costs_the_work_of_an_invisible_one(
    town: Service, verb: str, body: Any
) -> None:
    invisible, absent = (f"/p/vault/e/{slug}/secrets:{verb}" for slug in ("prod", "dev"))
    compare(town, NOBODY, "POST", invisible, absent, body)


@pytest.mark.parametrize("dry_run", [False, True])
@pytest.mark.parametrize(
    ("field", "invisible", "absent"), [("project", "vault", "fault"), ("environment", "prod", "dev")]
)
def test_a_source_that_is_not_there_costs_the_work_of_an_invisible_one(
    town: Service, field: str, invisible: str, absent: str, dry_run: bool
) -> None:
    efforts, denials = [], []
    for name in (invisible, absent):
        source = {"project": "vault", "environment": "prod", field: name}
        before = len(town.denials())
        with changes(town) as marks, work(town) as done:
            body = {"from": source, "dry_run": dry_run}
            town.user(WARDEN).post("/p/shop/e/prod/secrets:copy", body, 404)
        assert marks[0] != marks[1], f"nothing was written for {name}"
        efforts.append([step.replace(RELEASED, UNDONE) for step in done])
        denials.append(len(town.denials()) - before)
    assert efforts[0] == efforts[1]
    assert denials == [1, 0]


@pytest.mark.both_engines
@pytest.mark.parametrize(("subject", "method", "path", "invisible", "absent"), CASES)
def test_beyond_the_limit_neither_is_written(
    make_service: Maker, subject: str, method: str, path: str, invisible: str, absent: str
) -> None:
    town = warmed(make_service(LAST_SEEN_RESOLUTION="100000000", DENIAL_LIMIT="1/day"))
    town.user(subject).post("/projects", {"slug": "new", "name": "New"}, 403)
    efforts = []
    for name in (invisible, absent):
        with changes(town) as marks, work(town) as done:
            town.user(subject).request(method, path.format(name), status=404)
        assert marks[0] == marks[1], f"something was written for {name}"
        efforts.append(done)
    assert efforts[0] == efforts[1]
    assert "COMMIT" not in efforts[0]


def test_of_the_absent_nothing_is_left_but_that_something_was_refused(town: Service) -> None:
    log = town.count(audit_record)
    for number in range(5):
        town.user(NOBODY).get(f"/projects/nothing-{number}", 404)
    assert town.count(audit_record) == log
    [row] = town.rows(denial_tally)
    assert (row["identity_id"], row["scope_id"]) == (town.identity_id(NOBODY), REFUSALS)
    assert row["denials"] == 5
    assert town.user().get("/access/unknown-identities").json["items"] == []


def test_an_invisible_thing_writes_as_many_pages_as_an_absent_one(town: Service) -> None:
    if town.engine.name == "postgresql":
        sizes = [_written_on_postgresql(town, slug) for slug in ("vault", "fault")]
        # What is undone has a record of its own there, that it is.
        assert abs(sizes[0] - sizes[1]) < 0.2 * max(sizes)
    else:
        assert _written_on_sqlite(town, "vault") == _written_on_sqlite(town, "fault")


def _written_on_sqlite(town: Service, slug: str) -> int:
    log = Path(town.url.removeprefix("sqlite:///") + "-wal")
    town.user(NOBODY).get(f"/projects/{slug}", 404)
    with closing(_watcher(town.url)) as watcher:
        watcher.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    assert log.stat().st_size == 0
    town.user(NOBODY).get(f"/projects/{slug}", 404)
    return log.stat().st_size


def _written_on_postgresql(town: Service, slug: str) -> int:
    """The least of some: the first change of a page after a checkpoint writes all of it."""
    eve, sizes = town.user(NOBODY), []
    with closing(_watcher(town.url)) as watcher:
        for _ in range(10):
            [begin] = watcher.execute("SELECT pg_current_wal_insert_lsn()").fetchone()
            eve.get(f"/projects/{slug}", 404)
            grown = f"SELECT pg_current_wal_insert_lsn() - '{begin}'::pg_lsn"
            sizes.append(int(watcher.execute(grown).fetchone()[0]))
    return min(sizes)


def test_refusals_that_come_at_once_are_answered_alike(town: Service) -> None:
    slugs = ("vault", "fault")
    answers = at_once(
        8, lambda number: town.user(NOBODY).get(f"/projects/{slugs[number % 2]}", 404).json["code"]
    )
    assert answers == ["NOT_FOUND"] * 8
    assert len(town.denials()) == 4
