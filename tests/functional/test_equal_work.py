"""What is not there costs as much work as what may not be seen: as many statements, one durable commit."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import psycopg
import pytest
from obstacles import at_once
from service import Maker, Service, arrange
from sqlalchemy import event

from secretsvc.audit.models import absence, audit_record
from secretsvc.audit.rules import ABSENCES
from secretsvc.kernel.ids import new_id

NOBODY, WARDEN = "eve@example.com", "ada@example.com"


@pytest.fixture
def town(make_service: Maker) -> Service:
    """Two projects; a caller who holds nothing, and an admin of one environment of the other project."""
    service = make_service(LAST_SEEN_RESOLUTION="100000000")
    arrange(service, "shop")
    arrange(service, "vault")
    service.grant(WARDEN, "admin", "shop/prod")
    for subject in (NOBODY, WARDEN):
        service.user(subject).get("/whoami")
    return service


@contextmanager
def work(service: Service) -> Iterator[list[str]]:
    """The kinds of statements and commits of the application, in order."""
    done: list[str] = []

    def statement(_connection: object, _cursor: object, sql: str, *_: object) -> None:
        done.append(sql.split()[0])

    def commit(_connection: object) -> None:
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
    (WARDEN, "GET", "/audit?project={}", "vault", "fault"),
    (WARDEN, "GET", "/audit?project={}&environment=prod", "vault", "fault"),
]


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
    assert efforts[0] == efforts[1]
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


def test_what_is_written_for_the_absent_is_not_kept_and_seen_by_nobody(town: Service) -> None:
    log = town.count(audit_record)
    for number in range(5):
        town.user(NOBODY).get(f"/projects/nothing-{number}", 404)
    rows = town.rows(absence)
    # Where two met at one place, one is left.
    assert 1 <= len(rows) <= 5
    assert all(0 <= row["slot"] < ABSENCES for row in rows)
    assert "nothing" not in str(rows)
    assert town.count(audit_record) == log


def test_absences_take_the_places_of_older_ones(town: Service) -> None:
    town.execute(absence.insert(), [{"slot": slot, "noise": "old"} for slot in range(ABSENCES)])
    town.user(NOBODY).get("/projects/nothing", 404)
    assert town.count(absence) == ABSENCES
    assert len(town.rows(absence, absence.c.noise != "old")) == 1


def test_absences_that_come_at_once_are_answered_alike(town: Service) -> None:
    answers = at_once(
        8, lambda number: town.user(NOBODY).get(f"/projects/nothing-{number}", 404).json["code"]
    )
    assert answers == ["NOT_FOUND"] * 8
