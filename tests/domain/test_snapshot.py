"""The snapshot statement against a reference in plain Python, on random grants in a real database."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest
from databases import ENGINES
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection, Engine, event, insert, text

from secretsvc.access.models import grant, group, group_member
from secretsvc.access.rules import load_standing
from secretsvc.db.engine import make_engine
from secretsvc.identity.models import identity
from secretsvc.kernel.actors import Kind, Principal
from secretsvc.kernel.authorization import Address, GrantSnapshot, decide
from secretsvc.kernel.ids import new_id
from secretsvc.projects.models import environment, project

NOW = 1_000
RANK = {"reader": 1, "writer": 2, "admin": 3}
SUBJECTS, GROUPS = range(3), range(2)
SCOPES = ["global", "shop", "shop/prod", "shop/dev", "depot", "depot/prod"]
HOLDERS = [("identity", number) for number in SUBJECTS] + [("group", number) for number in GROUPS]

granted = st.tuples(
    st.sampled_from(HOLDERS),
    st.sampled_from(SCOPES),
    st.sampled_from(list(RANK)),
    st.sampled_from([None, 0, NOW - 1, NOW, NOW + 1, 2**53 - 1]),
)
worlds = st.fixed_dictionaries(
    {
        "grants": st.lists(granted, max_size=12, unique_by=lambda one: one[:3]),
        "members": st.sets(st.tuples(st.sampled_from(GROUPS), st.sampled_from(SUBJECTS))),
        "disabled": st.sets(st.sampled_from(SUBJECTS)),
    }
)


@pytest.fixture(scope="module", params=ENGINES)
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    databases = request.getfixturevalue(f"{request.param}_databases")
    url = databases.create()
    made = make_engine(url)
    yield made
    made.dispose()
    databases.drop(url)


def subject(number: int) -> Principal:
    return Principal(Kind.SERVICE if number == 2 else Kind.USER, f"u{number}@example.com")


def write(connection: Connection, world: dict[str, Any]) -> dict[str, UUID]:
    """Writes a world; the ids of its places."""
    places = {scope: new_id() for scope in SCOPES}
    people, groups = [new_id() for _ in SUBJECTS], [new_id() for _ in GROUPS]
    named = {"name": "n", "created_at": 1, "updated_at": 1}
    for scope, place in places.items():
        slug, _, env = scope.partition("/")
        if env:
            row = {"id": place, "project_id": places[slug], "slug": env, "rev": 0, **named}
            connection.execute(insert(environment), row)
        elif slug != "global":
            connection.execute(insert(project), {"id": place, "slug": slug, **named})
    for number, made in enumerate(people):
        who = subject(number)
        row = {"id": made, "kind": who.kind, "subject": who.subject, "created_at": 1, "last_seen_at": 2}
        connection.execute(insert(identity), row | {"disabled": number in world["disabled"]})
    for number, made in enumerate(groups):
        connection.execute(insert(group), {"id": made, "slug": f"g{number}", **named})
    for g, i in world["members"]:
        row = {"group_id": groups[g], "identity_id": people[i], "created_at": 1}
        connection.execute(insert(group_member), row)
    for (kind, number), scope, role, expires_at in world["grants"]:
        slug, _, env = scope.partition("/")
        row = {
            "id": new_id(),
            "identity_id": people[number] if kind == "identity" else None,
            "group_id": groups[number] if kind == "group" else None,
            "scope_type": "environment" if env else "global" if slug == "global" else "project",
            "project_id": None if slug == "global" else places[slug],
            "environment_id": places[scope] if env else None,
            "role": role,
            "expires_at": expires_at,
            "created_at": 1,
        }
        connection.execute(insert(grant), row)
    return places


def held_by(world: dict[str, Any], number: int) -> list[tuple[str, str]]:
    """The live grants of somebody, their own and their groups': scope and role."""
    holders = {("identity", number)} | {("group", g) for g, i in world["members"] if i == number}
    return [
        (scope, role)
        for holder, scope, role, expires_at in world["grants"]
        if holder in holders and (expires_at is None or expires_at > NOW)
    ]


def reference(world: dict[str, Any], number: int, scope: str) -> int:
    if number in world["disabled"]:
        return 0
    covering = {"global", scope.partition("/")[0], scope}
    return max((RANK[role] for at, role in held_by(world, number) if at in covering), default=0)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(world=worlds)
def test_the_snapshot_says_what_plain_python_says_in_one_statement(engine, world):
    statements: list[str] = []
    with engine.connect() as connection, connection.begin() as transaction:
        write(connection, world)
        count = lambda _c, _cursor, sql, *_: statements.append(sql)  # noqa: E731
        event.listen(engine, "before_cursor_execute", count)
        standings = [load_standing(connection, subject(number), NOW) for number in SUBJECTS]
        event.remove(engine, "before_cursor_execute", count)
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
            at = Address() if scope == "global" else Address(slug, env or None)
            role = decide(snapshot, at)
            assert (RANK[role] if role else 0) == reference(world, number, scope), (number, scope)


def test_a_stranger_has_no_identity_and_no_grants(engine):
    with engine.connect() as connection:
        assert connection.execute(text("SELECT 1")).scalar() == 1
        standing = load_standing(connection, Principal(Kind.USER, "nobody@example.com"), NOW)
    assert (standing.identity, standing.grants, standing.admin_exists) == (None, (), False)
