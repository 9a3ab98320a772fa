"""The release of secretsvc, and where its documentation is."""

from __future__ import annotations

from importlib.metadata import version

VERSION = version("secretsvc")


def docs_page(path: str) -> str:
    """Return the name of a page of `docs/` for a message: the one place that knows where pages are."""
    return f"docs/{path}"
