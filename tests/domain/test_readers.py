"""Who can read a scope, against the decision for each identity, on random grants in a real database."""

from __future__ import annotations

import pytest
from examples import share
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from random_grants import NOW, SUBJECTS, subject, worlds, write
from service import ADMIN, Service, arrange
from sqlalchemy import Connection, select
from statements import recorded

from secretsvc.access.domain.permissions import effective_permissions
from secretsvc.access.domain.readers import Reader, readers
from secretsvc.authorization.rules.snapshot import load_standing
from secretsvc.kernel.actors import SYSTEM
from secretsvc.kernel.authorization import (
    ADMIN_EVERYWHERE,
    GrantSnapshot,
    HeldGrant,
    Role,
    ScopePath,
    ScopeType,
    decide,
)
from secretsvc.kernel.errors import Forbidden, NotFound
from secretsvc.kernel.settings import Settings
from secretsvc.kernel.use_case import UseCaseContext
from secretsvc.tables.grants import grant
from secretsvc.tables.identities import identity

pytestmark = pytest.mark.both_engines

SCOPES = [ScopePath("shop"), ScopePath("shop", "prod"), ScopePath("depot", "prod")]
ADA = "ada@example.com"
SETTINGS = Settings({}, {"BOOTSTRAP_ADMINS": ADMIN})
LISTED = ("u0@example.com", "u2@example.com")


def call_of(settings: Settings, connection: Connection, *held: HeldGrant) -> UseCaseContext:
    """A call of somebody with these grants."""
    return UseCaseContext(
        SYSTEM,
        GrantSnapshot(held),
        NOW,
        "test",
        settings,
        connect=lambda _mode: connection,
        abandon=connection.rollback,
        load_ring=lambda: pytest.fail("no key is needed"),
    )


def expected(connection: Connection, at: ScopePath, *, listed: bool) -> dict[str, Role]:
    """What enforcement would say of each identity in turn."""
    found = {}
    for number in SUBJECTS:
        who = subject(number)
        standing = load_standing(connection, who, NOW)
        assert standing.identity is not None
        # u2 is a service token: the list names people only.
        more = (ADMIN_EVERYWHERE,) if listed and number == 0 else ()
        role = decide(GrantSnapshot((*standing.grants, *more), standing.identity.disabled), at)
        if role is not None:
            found[who.subject] = role
    return found


@settings(
    max_examples=share(40),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(world=worlds, at=st.sampled_from(SCOPES), listed=st.booleans())
def test_the_readers_are_those_whom_the_decision_lets_in(engine, world, at, listed):
    own = Settings({}, {"BOOTSTRAP_ADMINS": ",".join(LISTED) if listed else ""})
    with engine.connect() as connection, connection.begin() as transaction:
        write(connection, world)
        call = call_of(own, connection, ADMIN_EVERYWHERE)
        with recorded(engine) as statements:
            found = readers(call, at)
        assert {one.identity.subject: one.role for one in found} == expected(connection, at, listed=listed)
        assert_explained(call, found, at)
        transaction.rollback()
    assert len(statements) == 2


def assert_explained(call: UseCaseContext, found: list[Reader], at: ScopePath) -> None:
    """Each source is the one that the explainer holds for decisive at the widest scope it names."""
    for one in found:
        assert one.source.decisive
        assert one.source.role is one.role
        entries = effective_permissions(call, one.identity.id).items
        named = [
            entry for entry in entries if (entry.project, entry.environment) == (at.project, at.environment)
        ]
        for entry in named:
            assert [source for source in entry.sources if source.decisive] == [one.source]


@pytest.fixture
def shop(service: Service) -> Service:
    arrange(service, "shop", "prod", "dev")
    return service


def held(service: Service, role: Role, path: str) -> HeldGrant:
    """A grant of the caller's at a scope that exists."""
    columns = service.scope(path)
    project, _, environment = path.partition("/")
    return HeldGrant(
        None,
        None,
        role,
        ScopeType(columns["scope_type"]),
        columns["project_id"],
        project,
        columns["environment_id"],
        environment or None,
    )


def test_only_the_admins_of_a_place_learn_who_can_read_it(shop):
    at = ScopePath("shop", "prod")
    with shop.engine.connect() as connection:
        own = call_of(SETTINGS, connection, held(shop, Role.ADMIN, "shop/prod"))
        assert [one.identity.subject for one in readers(own, at)] == [ADMIN]
        for call, error in (
            (call_of(SETTINGS, connection, held(shop, Role.WRITER, "shop/prod")), Forbidden),
            (call_of(SETTINGS, connection, held(shop, Role.ADMIN, "shop/dev")), NotFound),
            (call_of(SETTINGS, connection), NotFound),
        ):
            with pytest.raises(error):
                readers(call, at)
            assert [denial.action for denial in call.denials] == ["authz.environment.admin"]
        with pytest.raises(NotFound):
            readers(call_of(SETTINGS, connection, ADMIN_EVERYWHERE), ScopePath("shop", "absent"))


def test_a_grant_at_a_place_deleted_and_made_anew_is_not_the_new_ones(shop):
    stale = held(shop, Role.ADMIN, "shop")
    shop.user().delete("/projects/shop")
    arrange(shop, "shop")
    with shop.engine.connect() as connection, pytest.raises(NotFound):
        readers(call_of(SETTINGS, connection, stale), ScopePath("shop"))


def test_readers_stand_by_role_then_subject_and_the_disabled_are_left_out(shop):
    shop.grant("zoe@example.com", "admin", "shop/prod")
    shop.grant(ADA, "reader", "shop")
    shop.grant("gone@example.com", "admin", "shop")
    shop.disable("gone@example.com")
    shop.execute(grant.delete().where(grant.c.scope_type == "global"))
    with shop.engine.connect() as connection:
        assert len(connection.execute(select(identity)).all()) == 4
        found = readers(call_of(SETTINGS, connection, ADMIN_EVERYWHERE), ScopePath("shop", "prod"))
    subjects = [(one.identity.subject, one.role, one.source.scope_type) for one in found]
    assert subjects == [
        (ADMIN, Role.ADMIN, ScopeType.GLOBAL),
        ("zoe@example.com", Role.ADMIN, ScopeType.ENVIRONMENT),
        (ADA, Role.READER, ScopeType.PROJECT),
    ]
    assert found[0].source.grant_id is None
