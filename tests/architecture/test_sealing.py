"""Nothing is sealed but behind the guard, `secrets/write/sealing.py` (decision 0025)."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from architecture.parsed import nodes_of

PACKAGE = Path(__file__).parents[2] / "secretsvc"
SEALING = {"seal", "seal_many", "seal_under"}
#: The cipher itself, and the one place that asks whether the key may.
LAWFUL = {"kernel/crypto.py", "secrets/write/sealing.py"}
SOURCES = {str(path.relative_to(PACKAGE)): path.read_text() for path in sorted(PACKAGE.rglob("*.py"))}


def seals_by_itself(source: str) -> list[int]:
    """The lines that reach for what an `EnvironmentCipher` seals with."""
    return [
        node.lineno for node in nodes_of(source) if isinstance(node, ast.Attribute) and node.attr in SEALING
    ]


@pytest.mark.parametrize("path", sorted(SOURCES.keys() - LAWFUL))
def test_what_is_not_the_guard_does_not_seal(path):
    assert seals_by_itself(SOURCES[path]) == []


def test_the_guard_seals():
    assert all(seals_by_itself(SOURCES[path]) for path in LAWFUL)


@pytest.mark.parametrize(
    "source",
    [
        "call.ring.within(environment.id).seal(value, key, 1)",
        "cipher.seal_under(kid, value, key, 1)",
        "cipher.seal_many(values, 2)",
        "sealer = cipher.seal",
    ],
)
def test_the_rule_of_sealing_can_fail(source):
    assert seals_by_itself(source) == [1]
