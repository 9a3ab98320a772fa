"""Data classes that cost a start little: there are some 150, and most starts use a few."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar, dataclass_transform

T = TypeVar("T")
#: The methods that come of the fields, by the options that make them.
_METHODS = {"init": "__init__", "repr": "__repr__", "eq": "__eq__", "unsafe_hash": "__hash__"}


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def struct(cls: type[T]) -> type[T]:
    """A data class, equal and hashed by its fields, each method of which is compiled at its first call.

    Attributes are kept from being set by the type check alone. For what decides access (who acts, what is
    granted, declared or verified, by which keys), take `@dataclass(frozen=True, slots=True)` (decision 0045).
    """
    # For a class without one the standard library would spell the signature out.
    cls.__doc__ = cls.__doc__ or cls.__name__
    made = dataclass(init=False, repr=False, eq=False)(cls)
    for option, name in _METHODS.items():
        if name not in vars(made):
            setattr(made, name, _compiled_later(made, option))
    return made


def _compiled_later(cls: type, option: str) -> Callable[..., Any]:
    def compile_and_call(*args: Any, **named: Any) -> Any:
        # Of a class below, because what dataclass() has once made of a class it would not read again.
        space = {"__doc__": cls.__doc__, "__module__": cls.__module__, "__qualname__": cls.__qualname__}
        below = type(cls.__name__, (cls,), space)
        method = vars(dataclass(**{one: one == option for one in _METHODS})(below))[_METHODS[option]]
        setattr(cls, _METHODS[option], method)
        return method(*args, **named)

    return compile_and_call
