"""The code that laws look at: each module is parsed once for all of them."""

from __future__ import annotations

import ast
from functools import cache


@cache
def nodes_of(source: str) -> list[ast.AST]:
    """All nodes of a module."""
    return [*ast.walk(ast.parse(source))]
