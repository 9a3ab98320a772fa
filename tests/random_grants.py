"""Random grants of a few identities and groups at a few scopes, and how they get into a database."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from hypothesis import strategies as st
from sqlalchemy import Connection, insert

from secretsvc.kernel.actors import Kind, Principal
from secretsvc.kernel.ids import new_id
from secretsvc.tables.grants import grant, group, group_member
from secretsvc.tables.identities import identity
from secretsvc.tables.projects import environment, project

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


def subject(number: int) -> Principal:
    return Principal(Kind.SERVICE if number == 2 else Kind.USER, f"u{number}@example.com")


def write(connection: Connection, world: dict[str, Any]) -> dict[str, UUID]:
    """Writes a world; the ids of its scopes."""
    ids = {scope: new_id() for scope in SCOPES}
    people, groups = [new_id() for _ in SUBJECTS], [new_id() for _ in GROUPS]
    named = {"name": "n", "created_at": 1, "updated_at": 1}
    for scope, own_id in ids.items():
        slug, _, env = scope.partition("/")
        if env:
            row = {"id": own_id, "project_id": ids[slug], "slug": env, "rev": 0, **named}
            connection.execute(insert(environment), row)
        elif slug != "global":
            connection.execute(insert(project), {"id": own_id, "slug": slug, **named})
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
            "project_id": None if slug == "global" else ids[slug],
            "environment_id": ids[scope] if env else None,
            "role": role,
            "expires_at": expires_at,
            "created_at": 1,
        }
        connection.execute(insert(grant), row)
    return ids
