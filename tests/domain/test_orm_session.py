"""`request.dbsession`: an ORM session on a request's own connection, in its own transaction."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import transaction
from calls import manager_of_requests
from sqlalchemy import insert, select, text, update
from statements import recorded

from secretsvc.db.base import Base
from secretsvc.db.orm import RequestSession, TransactionOwnedByRequest, WroteWhileReading
from secretsvc.directives import dbsession
from secretsvc.kernel.actors import SYSTEM
from secretsvc.kernel.authorization import SYSTEM_GRANTS
from secretsvc.kernel.ids import new_id
from secretsvc.kernel.transaction_mode import Mode
from secretsvc.kernel.use_case import UseCaseContext
from secretsvc.tables.projects import project

pytestmark = pytest.mark.both_engines


class Project(Base):
    """One of our tables, as a package may map it that wants to."""

    __table__ = project


class Requests:
    """Requests of one mode, as the authentication tween gives them their connection."""

    def __init__(self, service):
        self.service = service

    def __call__(self, manager, mode=Mode.WRITE):
        registry = self.service.app.registry
        session = registry.database.session(manager)
        call = UseCaseContext(
            SYSTEM,
            SYSTEM_GRANTS,
            1,
            "a-test",
            registry.service_settings,
            connect=lambda _mode: session.connection(mode),
            abandon=session.restart,
            load_ring=registry.load_ring,
        )
        return SimpleNamespace(call=call, tm=manager, registry=registry)


@pytest.fixture
def request_in(service):
    return Requests(service)


def new_project(slug="shop"):
    return Project(id=new_id(), slug=slug, name=slug, description=None, created_at=1, updated_at=1)


def slugs(service):
    return sorted(row["slug"] for row in service.rows(project))


def test_what_is_pending_is_committed_with_the_request_and_only_then(request_in, service):
    with manager_of_requests() as manager:
        session = dbsession(request_in(manager))
        session.add(new_project())
        assert slugs(service) == []
        manager.commit()
        assert slugs(service) == ["shop"]
        manager.begin()


def test_what_raises_undoes_it_with_the_request(request_in, service):
    with manager_of_requests() as manager:
        request = request_in(manager)
        session = dbsession(request)
        session.add(new_project())
        session.flush()
        assert session.scalars(select(Project.slug)).all() == ["shop"]
        assert request.call.connection.execute(select(project.c.slug)).scalars().all() == ["shop"]
    assert slugs(service) == []


def test_after_a_restart_it_is_empty_and_joins_the_transaction_that_follows(request_in, service):
    with manager_of_requests() as manager:
        request = request_in(manager)
        session = dbsession(request)
        session.add(new_project("lost"))
        session.flush()
        request.call.restart()
        assert not session.new
        assert not list(session)
        session.add(new_project("kept"))
        manager.commit()
        manager.begin()
    assert slugs(service) == ["kept"]


@pytest.mark.parametrize("name", ["commit", "rollback"])
def test_it_decides_nothing_by_itself(request_in, service, name):
    with manager_of_requests() as manager:
        session = dbsession(request_in(manager))
        session.add(new_project())
        session.flush()
        with pytest.raises(TransactionOwnedByRequest):
            getattr(session, name)()
        manager.commit()
        manager.begin()
    assert slugs(service) == ["shop"]


def test_what_a_failed_flush_has_undone_is_not_committed_in_part(request_in, service):
    with manager_of_requests() as manager:
        request = request_in(manager)
        session = dbsession(request)
        request.call.connection.execute(
            insert(project).values(id=new_id(), slug="first", name="x", created_at=1, updated_at=1)
        )
        session.add_all([new_project(), new_project()])
        with pytest.raises(Exception, match=r"(?i)unique"):
            session.flush()
        with pytest.raises(Exception):  # noqa: B017, PT011  # whichever it is, nothing is committed
            manager.commit()
        manager.abort()
        manager.begin()
    assert slugs(service) == []


def writes():
    yield "flush", lambda session: (session.add(new_project()), session.flush())
    yield "insert", lambda session: session.execute(insert(Project).values(slug="x"))
    yield "update", lambda session: session.execute(update(Project).values(slug="x"))
    yield "text", lambda session: session.execute(text("DELETE FROM project"))


@pytest.mark.parametrize("mode", [mode for mode in Mode if not mode.writes])
@pytest.mark.parametrize("write", [one for _, one in writes()], ids=[name for name, _ in writes()])
def test_a_request_that_reads_writes_nothing_by_it(request_in, service, mode, write):
    with manager_of_requests() as manager:
        session = dbsession(request_in(manager, mode))
        assert session.scalars(select(Project)).all() == []
        assert session.execute(text(" SELECT 1")).scalar_one() == 1
        with recorded(service.engine) as statements, pytest.raises(WroteWhileReading):
            write(session)
        assert statements == []


def test_what_is_pending_when_a_reading_request_ends_fails_it(request_in, service):
    with manager_of_requests() as manager:
        dbsession_of = dbsession(request_in(manager, Mode.SNAPSHOT))
        dbsession_of.add(new_project())
        with pytest.raises(WroteWhileReading):
            manager.commit()
        manager.abort()
        manager.begin()
    assert slugs(service) == []


def test_it_takes_no_connection_before_it_needs_one(service):
    taken = []
    with manager_of_requests() as manager:
        RequestSession(lambda: taken.append(1), manager)
        manager.commit()
        manager.begin()
    assert taken == []


def test_what_was_loaded_can_be_read_when_the_transaction_is_over(request_in, service, admin):
    with manager_of_requests() as manager:
        (found,) = dbsession(request_in(manager, Mode.SNAPSHOT)).scalars(select(Project)).all()
        manager.commit()
        manager.begin()
    assert (found.slug, found.name) == ("shop", "Shop")


def test_a_request_that_nobody_sent_may_read_by_it(service):
    manager = transaction.TransactionManager(explicit=True)
    manager.begin()
    session = dbsession(SimpleNamespace(call=None, tm=manager, registry=service.app.registry))
    assert session.scalars(select(Project)).all() == []
    with pytest.raises(WroteWhileReading):
        session.execute(update(Project).values(slug="x"))
    manager.abort()
