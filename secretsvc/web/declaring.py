"""How a directive declares a thing: one of a name, listed by Pyramid's introspection, whoever brought it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyramid.exceptions import ConfigurationConflictError, ConfigurationError

_VIEW = "view"


def declare(
    config: Any, kind: str, name: str, register: Callable[[], None] | None = None, *, within: Any = None
) -> None:
    """Declares a thing of a kind. Two of one name conflict, or two of one name within the same node class.

    `register` puts it where it is looked up; it runs at the end of the configuration and must not fail.
    """
    discriminator = (f"secretsvc {kind}", name) if within is None else (f"secretsvc {kind}", name, within)
    listed = config.introspectable(f"secretsvc {kind}", discriminator[1:], name, kind)
    config.action(discriminator, register, introspectables=(listed,))


def declared(registry: Any, kind: str) -> set[str]:
    """The names of all that was declared of a kind."""
    category = registry.introspector.get_category(f"secretsvc {kind}", [])
    return {entry["introspectable"].title for entry in category}


def commit(config: Any) -> None:
    """Ends the configuration. Raises `ConfigurationError` with one line for the first conflict."""
    try:
        config.commit()
    except ConfigurationConflictError as error:
        discriminator, places = min(error._conflicts.items(), key=str)
        told = " and ".join(sorted(f"{place.file}:{place.line}" for place in places))
        raise ConfigurationError(
            f"there are two of {_name(discriminator)}: take one out or rename it ({told})"
        ) from None


def _name(discriminator: Any) -> str:
    """What was declared twice, as it was called there."""
    kind, *parts = discriminator if isinstance(discriminator, tuple) else (str(discriminator),)
    if kind == _VIEW:
        # Of Pyramid's own the first two say which: the node class and the view's name.
        parts = parts[:2]
    named = (getattr(part, "__qualname__", None) or str(part) or "its own name" for part in parts)
    return " of ".join([f"{kind} {next(named, '')}".strip(), *named]).removeprefix("secretsvc ")
