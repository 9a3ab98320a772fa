"""What a form leads on with is a word that somebody registered: of any other the page would say nothing."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from architecture.parsed import nodes_of

import secretsvc

LEADING = ("redirect_after_form", "see_removed")
PACKAGE = Path(__file__).parents[2] / "secretsvc"


def words(source: str) -> set[str]:
    """The words that a source leads on with."""
    calls = [
        node
        for node in nodes_of(source)
        if isinstance(node, ast.Call) and getattr(node.func, "id", None) in LEADING
    ]
    choices = [argument for call in calls for argument in call.args[1:]]
    # Of a choice between two words the condition may hold others.
    chosen = [
        branch
        for one in choices
        for branch in ([one.body, one.orelse] if isinstance(one, ast.IfExp) else [one])
    ]
    return {branch.value for branch in chosen if isinstance(branch, ast.Constant)}


def test_every_word_is_registered_and_every_registered_word_is_used():
    sources = [path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py")]
    used = set().union(*map(words, sources))
    assert used == set(secretsvc.main({}).registry.done)


@pytest.mark.parametrize(
    "source",
    [
        "redirect_after_form('/', 'a')",
        "redirect_after_form(back, 'a' if kind == 'x' else 'a')",
        "see_removed('/', 'a', act)",
    ],
)
def test_the_rule_of_words_can_fail(source):
    assert words(source) == {"a"}


def test_the_rule_of_words_lets_pass_what_says_nothing():
    assert words("redirect_after_form('/')") == set()
