"""The code under test, with each module parsed once."""

from __future__ import annotations

import ast
from functools import cache


@cache
def nodes_of(source: str) -> list[ast.AST]:
    """All nodes of a module."""
    return [*ast.walk(ast.parse(source))]
