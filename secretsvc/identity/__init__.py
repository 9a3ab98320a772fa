"""Who is asking: assertions, the access proxy's keys, and the identities that they prove."""

from typing import Any


def includeme(config: Any) -> None:
    """Announces the wing's rooms."""
    config.include(".tweens")
    config.include(".api")
    config.include(".ui")
