"""Every route for every caller, as the specification has it (see `matrix`)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from access_expectations import (
    ADMIN,
    CALLERS,
    ROUTES,
    SPELLINGS,
    Caller,
    Route,
    Verdict,
    sees_project,
    spelled,
    verdict,
)
from access_matrix import World, make_world
from databases import ENGINES
from tokens import TestIssuer

from secretsvc.web.tree import API

CELLS = spelled(ROUTES)
IDS = [f"{route.method} {path}" for route, path in CELLS]


def _mark(cells: list[tuple[Route, str]]) -> Iterator[Any]:
    """Leave all but the first cell of each way to be judged to `make test-all`, and every alias.

    Which environment an alias means is decided by the tree, before anything is read.
    """
    met = set()
    for route, path in cells:
        alias = path.startswith(SPELLINGS[1])
        way = route.needs, route.scope, route.gate, route.covered, route.denied, route.reads
        yield pytest.param(route, path, marks=[pytest.mark.slow] * (alias or way in met))
        met.add(way)


EACH_CELL = pytest.mark.parametrize(("route", "path"), list(_mark(CELLS)), ids=IDS)
NAMES = (
    "announced",
    "project", "env", "dev", "identity", "member", "group", "global_grant", "shop_grant", "prod_grant",
    "group_shop_grant", "group_prod_grant",
)  # fmt: skip
VARYING = {"x-request-id", "date"}


@pytest.fixture(scope="module", params=ENGINES)
def world(request: pytest.FixtureRequest, issuer: TestIssuer) -> Iterator[World]:
    databases = request.getfixturevalue(f"{request.param}_databases")
    url = databases.create()
    made = make_world(url, issuer)
    yield made
    made.service.close()
    databases.drop(url)


def test_the_matrix_has_a_row_for_every_operation(world):
    category = world.service.app.registry.introspector.get_category("views", [])
    views = [entry["introspectable"] for entry in category]
    operations = {view["operation"].operation_id for view in views if view["route_name"] == API}
    assert operations == {route.operation for route in ROUTES}
    assert set(world.names) == set(NAMES)


@EACH_CELL
def test_each_caller_gets_what_the_specification_says(world, route, path):
    said, expected = {}, {}
    asked = {name: world.ask(name, route, path, world.names) for name in CALLERS}
    for name, caller in CALLERS.items():
        answer, rows = asked[name].answer, world.rows(asked[name])
        denied = [row for row in rows if row["outcome"] == "denied"]
        done = [row["action"] for row in rows if row["outcome"] == "success"]
        columns = [
            tuple(row[c] for c in ("action", "outcome", "project_id", "environment_id")) for row in denied
        ]
        said[name] = (answer.status_int, columns, done)
        due = verdict(route, caller)
        succeeded = due.status < 300 and route.action is not None
        actions = [action for action in (route.action, route.elsewhere) if action is not None]
        expected[name] = (due.status, world.denial(due), actions if succeeded else [])
    assert said == expected


def twins(route: Route, path: str, caller: Caller) -> list[str]:
    """The names that, replaced, make it the same request about something that is not there.

    Only where that must not show: behind a 404, and behind a 403 at global scope (contract 4.2).
    """
    due = verdict(route, caller)
    gated = due.denial == ("authz.global.admin", "global") and ADMIN not in caller.effective.values()
    at_large = due.status == 403 and (gated or (route.scope == "global" and not route.covered))
    if due.status != 404 and not at_large:
        return []
    used = [name for name in NAMES if "{" + name + "}" in f"{path} {route.body}"]
    if route.reads is not None:
        # Of two scopes the one that is refused.
        other = due.denial is not None and due.denial[1] == route.reads
        used = ["dev"] if other else [name for name in used if name != "dev"]
    # In a project that is visible, an environment that is absent is another kind of thing.
    return [name for name in used if name != "project" or not sees_project(caller, "shop")]


def leaves_denial(route: Route, due: Verdict, name: str) -> bool:
    """What does not exist cannot be denied; but a scope can, whoever was to be granted something there."""
    return due.status == 403 or (route.method == "POST" and name in ("identity", "group"))


def told(answer: Any) -> tuple[Any, ...]:
    """All that a client can read of an answer, less what differs between any two."""
    headers = sorted((n.lower(), v) for n, v in answer.headerlist if n.lower() not in VARYING)
    return answer.status_int, {**answer.json, "request_id": None}, headers


@EACH_CELL
def test_the_invisible_is_answered_like_the_absent(world, route, path):
    pairs = {
        (name, replaced): (
            world.ask(name, route, path, world.names),
            world.ask(name, route, path, world.names | {replaced: world.absent[replaced]}),
        )
        for name, caller in CALLERS.items()
        for replaced in twins(route, path, caller)
    }
    for (name, replaced), (there, absent) in pairs.items():
        left = leaves_denial(route, verdict(route, CALLERS[name]), replaced)
        assert told(absent.answer) == told(there.answer), (name, replaced)
        assert len(world.rows(absent)) == left, (name, replaced)


def test_the_comparison_of_absent_and_invisible_compares_something():
    compared = [
        verdict(route, caller).status
        for route, path in CELLS
        for caller in CALLERS.values()
        if twins(route, path, caller)
    ]
    assert compared.count(403) > 100
    assert compared.count(404) > 200
