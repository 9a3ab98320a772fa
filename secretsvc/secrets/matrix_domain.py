"""A project at a glance: which key is set in which environment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from secretsvc.access.rules import assert_sees
from secretsvc.kernel.authorization import Address
from secretsvc.kernel.call import Call
from secretsvc.projects import domain as projects
from secretsvc.projects.rules import Environment, Project
from secretsvc.secrets.rules import Sealed, live_secrets, problem_with

PRESENT, MISSING, UNREADABLE = "present", "missing", "unreadable"


@dataclass(frozen=True, slots=True)
class MatrixRow:
    """A key, and its state in each of the matrix's environments."""

    key: str
    states: list[str]


@dataclass(frozen=True, slots=True)
class KeyMatrix:
    """A project's keys, sorted, against the environments that the caller sees; `total` is before filters."""

    project: Project
    environments: list[Environment]
    rows: list[MatrixRow]
    total: int


def key_matrix(call: Call, at: Address, text: str = "", *, missing_only: bool = False) -> KeyMatrix:
    """The keys that hold `text`, in any case; with `missing_only` those that some environment lacks.

    An environment that the caller does not see has no column, and its keys no row.
    """
    assert_sees(call, at)
    found = projects.get_project(call, at)
    places = projects.environments_of(call, [found])[found.id]
    secrets = {(row.key, row.environment_id): row for row in live_secrets(call, [one.id for one in places])}
    keys = sorted({key for key, _ in secrets})
    rows = []
    for key in keys:
        if text.lower() not in key.lower():
            continue
        states = [_state(call, secrets.get((key, one.id))) for one in places]
        if MISSING in states or not missing_only:
            rows.append(MatrixRow(key, states))
    return KeyMatrix(found, places, rows, len(keys))


def _state(call: Call, row: Any) -> str:
    if row is None:
        return MISSING
    return UNREADABLE if problem_with(call, Sealed.of(row)) else PRESENT
