"""The loader of ini files, found once: plaster reads of every package what it is, for each file anew."""

from __future__ import annotations

from typing import Any

from plaster import loaders

_USUAL = "file+ini", ["wsgi"]


def find_once() -> None:
    """From now on in this process, and in its forks."""
    find = loaders.find_loaders
    found = find(*_USUAL)
    assert [one.factory for one in found]

    def find_loaders(scheme: str, protocols: Any = None) -> Any:
        return found if (scheme, protocols) == _USUAL else find(scheme, protocols)

    loaders.find_loaders = find_loaders
