"""Who may do what: groups, grants, and the snapshot that a request is judged by."""

from typing import Any


def includeme(config: Any) -> None:
    """Announces the wing's rooms."""
    config.include(".policy")
    config.include(".api")
    config.include(".group_api")
    for pages in ("ui", "grant_ui", "identity_ui", "group_ui", "place_ui"):
        config.include(f".{pages}")
