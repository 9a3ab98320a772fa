"""The decision and its explanation, on random grants (specification, "Authorization resolution")."""

from __future__ import annotations

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from secretsvc.access.rules.explanation import explain_grants
from secretsvc.kernel.authorization import (
    GLOBAL,
    GrantSnapshot,
    HeldGrant,
    Role,
    ScopePath,
    ScopeType,
    can_see,
    decide,
    decide_row,
    is_expired,
    sees_project,
)

PROJECTS = {name: UUID(int=number) for number, name in enumerate(("shop", "depot", "shop-2"), 100)}
ENVIRONMENTS = {
    (project, name): UUID(int=200 + number)
    for number, (project, name) in enumerate((p, e) for p in PROJECTS for e in ("prod", "dev"))
}
ADDRESSES = [
    GLOBAL,
    *(ScopePath(project) for project in PROJECTS),
    *(ScopePath(project, name) for project, name in ENVIRONMENTS),
]
RANK = {None: 0, Role.READER: 1, Role.WRITER: 2, Role.ADMIN: 3}
WIDTH = {ScopeType.GLOBAL: 0, ScopeType.PROJECT: 1, ScopeType.ENVIRONMENT: 2}


def held(number: int, at: ScopePath, role: Role, group: int | None) -> HeldGrant:
    return HeldGrant(
        UUID(int=number),
        None if group is None else UUID(int=group),
        role,
        at.scope_type,
        PROJECTS.get(at.project or ""),
        at.project,
        ENVIRONMENTS.get((at.project or "", at.environment or "")),
        at.environment,
    )


addresses = st.sampled_from(ADDRESSES)
grants = st.builds(
    held,
    st.integers(1, 10**6),
    addresses,
    st.sampled_from(list(Role)),
    st.none() | st.integers(10**7, 10**7 + 2),
)
grant_sets = st.lists(grants, max_size=8, unique_by=lambda one: one.grant_id).map(tuple)
snapshots = st.builds(GrantSnapshot, grant_sets, st.booleans())
enabled = st.builds(GrantSnapshot, grant_sets)


def above(at: ScopePath) -> list[ScopePath]:
    """The address itself and what it inherits from."""
    return [one for one in (GLOBAL, ScopePath(at.project), at) if one.project is None or at.project]


def address_of(one: HeldGrant) -> ScopePath:
    return ScopePath(one.project, one.environment)


@given(snapshots, addresses)
def test_the_role_is_the_greatest_of_the_grants_at_the_scope_and_above(snapshot, at):
    covering = [one.role for one in snapshot.grants if address_of(one) in above(at)]
    expected = 0 if snapshot.disabled else max((RANK[role] for role in covering), default=0)
    assert RANK[decide(snapshot, at)] == expected


@given(enabled, grants, addresses)
def test_another_grant_never_takes_anything_away(snapshot, more, at):
    wider = GrantSnapshot((*snapshot.grants, more))
    assert RANK[decide(wider, at)] >= RANK[decide(snapshot, at)]
    assert can_see(wider, at) >= can_see(snapshot, at)


@given(snapshots, addresses)
def test_a_role_holds_below_its_scope(snapshot, at):
    assert RANK[decide(snapshot, at)] >= RANK[decide(snapshot, at.parent)]


@given(grants, addresses)
def test_a_role_holds_nowhere_but_at_and_below_its_scope(one, at):
    assert (decide(GrantSnapshot((one,)), at) is not None) == (address_of(one) in above(at))


@given(grant_sets, addresses)
def test_a_disabled_identity_holds_and_sees_nothing(found, at):
    snapshot = GrantSnapshot(found, disabled=True)
    assert decide(snapshot, at) is None
    assert snapshot.global_role is None
    assert can_see(snapshot, at) == (at == GLOBAL)


@given(grant_sets, addresses)
def test_the_order_of_grants_and_where_they_come_from_do_not_matter(found, at):
    role = decide(GrantSnapshot(found), at)
    assert decide(GrantSnapshot(found[::-1]), at) == role
    direct = tuple(held(n, address_of(one), one.role, None) for n, one in enumerate(found))
    assert decide(GrantSnapshot(direct), at) == role


@given(snapshots, st.sampled_from(list(ENVIRONMENTS)))
def test_rows_are_judged_as_their_slugs_are(snapshot, pair):
    project, name = pair
    by_row = decide_row(snapshot, PROJECTS[project], ENVIRONMENTS[pair])
    assert by_row == decide(snapshot, ScopePath(project, name))
    assert decide_row(snapshot, PROJECTS[project]) == decide(snapshot, ScopePath(project))


@given(enabled, st.sampled_from(list(PROJECTS)))
def test_a_project_is_seen_by_whoever_holds_anything_on_it_above_or_below(snapshot, project):
    anything = any(one.project in (None, project) for one in snapshot.grants)
    assert sees_project(snapshot, project) == can_see(snapshot, ScopePath(project)) == anything


@given(enabled)
def test_the_explanation_is_what_is_enforced_at_each_named_scope(snapshot):
    entries = explain_grants(snapshot)
    assert {entry.at for entry in entries} == {address_of(one) for one in snapshot.grants}
    assert len(entries) == len({entry.at for entry in entries})
    for entry in entries:
        assert entry.role == decide(snapshot, entry.at)
        assert set(entry.sources) == {one for one in snapshot.grants if address_of(one) in above(entry.at)}
        assert len(entry.sources) == len(set(entry.sources))


@given(grant_sets)
def test_a_disabled_identity_has_the_same_entries_without_a_role(found):
    plain, disabled = (
        explain_grants(GrantSnapshot(found)),
        explain_grants(GrantSnapshot(found, disabled=True)),
    )
    assert [(one.at, one.sources) for one in plain] == [(one.at, one.sources) for one in disabled]
    assert all(one.role is None and one.decisive is None for one in disabled)


@given(enabled)
def test_one_source_decides_and_only_its_removal_can_change_the_role(snapshot):
    for entry in explain_grants(snapshot):
        assert entry.decisive is not None
        assert sum(one is entry.decisive for one in entry.sources) == 1
        assert entry.decisive.role == entry.role
        for one in entry.sources:
            without = GrantSnapshot(tuple(other for other in snapshot.grants if other is not one))
            if one is not entry.decisive:
                assert decide(without, entry.at) == entry.role


@given(enabled)
def test_of_equal_roles_the_widest_then_the_direct_then_the_oldest_decides(snapshot):
    for entry in explain_grants(snapshot):
        rivals = [one for one in entry.sources if one.role == entry.role]
        widest = min(WIDTH[one.scope_type] for one in rivals)
        rivals = [one for one in rivals if WIDTH[one.scope_type] == widest]
        rivals = [one for one in rivals if one.group_id is None] or rivals
        assert entry.decisive == min(rivals, key=lambda one: one.grant_id)


def test_roles_imply_the_lesser_ones():
    implied = [(one, other) for one in Role for other in Role if one.implies(other)]
    assert implied == [
        (Role.READER, Role.READER),
        (Role.WRITER, Role.READER),
        (Role.WRITER, Role.WRITER),
        (Role.ADMIN, Role.READER),
        (Role.ADMIN, Role.WRITER),
        (Role.ADMIN, Role.ADMIN),
    ]


@pytest.mark.parametrize(
    ("expires_at", "expired"), [(None, False), (0, True), (999, True), (1_000, True), (1_001, False)]
)
def test_a_grant_is_expired_from_the_very_moment_at_which_it_ends(expires_at, expired):
    assert is_expired(expires_at, 1_000) is expired
