"""Fixtures of the tests over HTTP."""

from __future__ import annotations

import pytest

CANONICAL = "/projects/{p}/environments/{e}"
ALIAS = "/p/{p}/e/{e}"


@pytest.fixture(params=[CANONICAL, ALIAS], ids=["canonical", "alias"])
def place(request: pytest.FixtureRequest) -> str:
    """The path of any environment, in both spellings: fill in `p` and `e`."""
    return request.param


@pytest.fixture
def base(place: str) -> str:
    """The path of `shop`'s `prod`, in both spellings."""
    return place.format(p="shop", e="prod")
