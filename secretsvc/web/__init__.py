"""The Pyramid machinery: mounts, tree, views, input, errors. It knows no wing."""

from typing import Any


def includeme(config: Any) -> None:
    """Directives first, so that every wing can use them."""
    rooms = ("tree", "errors", "views", "pages", "assets", "admitted", "tweens", "access_log", "metrics")
    for room in rooms:
        config.include(f".{room}")
