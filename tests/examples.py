"""How many examples tests of properties look at: a third of them in `make test`, all in `make test-all`."""

from __future__ import annotations

from hypothesis import settings


def share(count: int) -> int:
    """So many of each hundred that the profile has (tests/conftest.py); where each takes long."""
    return max(1, count * settings.default.max_examples // 100)
