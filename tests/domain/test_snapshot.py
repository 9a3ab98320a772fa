"""The snapshot statement against a reference in plain Python, on random grants in a real database."""

from __future__ import annotations

from typing import Any

import pytest
from examples import share
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from random_grants import NOW, RANK, SCOPES, SUBJECTS, subject, worlds, write
from sqlalchemy import select, text
from statements import recorded

from secretsvc.authorization.rules.snapshot import load_standing, not_expired
from secretsvc.kernel.actors import Kind, Principal
from secretsvc.kernel.authorization import GrantSnapshot, ScopePath, decide, is_expired
from secretsvc.tables.grants import grant

pytestmark = pytest.mark.both_engines

times = st.integers(0, 2**53 - 1)
#: A time, and when a grant ends: never, at any time, or within a moment of it.
ends = times.flatmap(
    lambda now: st.tuples(
        st.just(now), st.one_of(st.none(), times, st.integers(max(now - 1, 0), min(now + 1, 2**53 - 1)))
    )
)


def held_by(world: dict[str, Any], number: int) -> list[tuple[str, str]]:
    """The unexpired grants of somebody, their own and their groups': scope and role."""
    holders = {("identity", number)} | {("group", g) for g, i in world["members"] if i == number}
    return [
        (scope, role)
        for holder, scope, role, expires_at in world["grants"]
        if holder in holders and not is_expired(expires_at, NOW)
    ]


def reference(world: dict[str, Any], number: int, scope: str) -> int:
    if number in world["disabled"]:
        return 0
    covering = {"global", scope.partition("/")[0], scope}
    return max((RANK[role] for at, role in held_by(world, number) if at in covering), default=0)


@settings(
    max_examples=share(60),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(world=worlds)
def test_the_snapshot_says_what_plain_python_says_in_one_statement(engine, world):
    with engine.connect() as connection, connection.begin() as transaction:
        write(connection, world)
        with recorded(engine) as statements:
            standings = [load_standing(connection, subject(number), NOW) for number in SUBJECTS]
        transaction.rollback()
    assert len(statements) == len(SUBJECTS)
    usable = any(
        ("global", "admin") in held_by(world, number)
        for number in SUBJECTS
        if number not in world["disabled"]
    )
    for number, standing in enumerate(standings):
        assert standing.identity is not None
        assert standing.identity.disabled == (number in world["disabled"])
        assert standing.admin_exists == usable
        snapshot = GrantSnapshot(standing.grants, standing.identity.disabled)
        found = sorted(
            ("/".join(filter(None, (g.project, g.environment))) or "global", g.role) for g in standing.grants
        )
        assert found == sorted(held_by(world, number))
        for scope in SCOPES:
            slug, _, env = scope.partition("/")
            at = ScopePath() if scope == "global" else ScopePath(slug, env or None)
            role = decide(snapshot, at)
            assert (RANK[role] if role else 0) == reference(world, number, scope), (number, scope)


def test_a_stranger_has_no_identity_and_no_grants(engine):
    with engine.connect() as connection:
        assert connection.execute(text("SELECT 1")).scalar() == 1
        standing = load_standing(connection, Principal(Kind.USER, "nobody@example.com"), NOW)
    assert (standing.identity, standing.grants, standing.admin_exists) == (None, (), False)


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(times=ends)
def test_the_database_says_of_a_grant_that_it_is_expired_when_the_rule_does(engine, times):
    now, expires_at = times
    grants = [(("identity", 0), "global", "admin", expires_at)]
    with engine.connect() as connection, connection.begin() as transaction:
        write(connection, {"grants": grants, "members": [], "disabled": []})
        found = connection.execute(select(not_expired()).select_from(grant), {"now": now}).scalar_one()
        transaction.rollback()
    assert bool(found) == (not is_expired(expires_at, now))
