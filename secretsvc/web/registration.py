"""How a directive declares a thing: one of a name, listed by Pyramid's introspection, whoever brought it."""

from __future__ import annotations

from collections.abc import Callable

from pyramid.config import Configurator
from pyramid.exceptions import ConfigurationConflictError, ConfigurationError
from pyramid.registry import Registry

_VIEW = "view"


def declare(
    config: Configurator,
    kind: str,
    name: str,
    register: Callable[[], None] | None = None,
    *,
    within: object = None,
) -> None:
    """Declares a thing of a kind. Two of one name conflict, or two of one name within the same node class.

    `register` puts it where it is looked up; it runs at the end of the configuration and must not fail.
    """
    discriminator = (f"secretsvc {kind}", name) if within is None else (f"secretsvc {kind}", name, within)
    listed = config.introspectable(f"secretsvc {kind}", discriminator[1:], name, kind)
    config.action(discriminator, register, introspectables=(listed,))


def check_function(what: str, given: object) -> None:
    """Raises `ConfigurationError` where a directive was given something else than a function."""
    if not callable(given):
        raise ConfigurationError(f"{what} needs a function, not {given!r}")


def declared(registry: Registry, kind: str) -> set[str]:
    """The names of all that was declared of a kind."""
    category = registry.introspector.get_category(f"secretsvc {kind}", [])
    return {entry["introspectable"].title for entry in category}


def commit(config: Configurator) -> None:
    """Ends the configuration. Raises `ConfigurationError` with one line for the first conflict."""
    try:
        config.commit()
    except ConfigurationConflictError as error:
        discriminator, sources = min(error._conflicts.items(), key=str)
        told = " and ".join(sorted(f"{source.file}:{source.line}" for source in sources))
        raise ConfigurationError(
            f"there are two of {_name(discriminator)}: take one out or rename it ({told})"
        ) from None


def _name(discriminator: object) -> str:
    """What was declared twice, as it was called there."""
    kind, *parts = discriminator if isinstance(discriminator, tuple) else (str(discriminator),)
    if kind == _VIEW:
        # Of Pyramid's own the first two say which: the node class and the view's name.
        parts = parts[:2]
    named = (getattr(part, "__qualname__", None) or str(part) or "its own name" for part in parts)
    return " of ".join([f"{kind} {next(named, '')}".strip(), *named]).removeprefix("secretsvc ")
