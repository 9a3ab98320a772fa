"""JSON Schemas of answers, from the type hints of what views return: dataclasses, or mappings."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    NotRequired,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)
from uuid import UUID

from pyramid.exceptions import ConfigurationError

from secretsvc.kernel.schema_annotations import NAMES, SchemaKeywords, SchemaName
from secretsvc.web.types import ID, INTEGER_SCHEMA, JsonSchema, NamedSchema, described, or_null, with_keywords

_PLAIN: dict[object, JsonSchema] = {
    str: {"type": "string"},
    int: INTEGER_SCHEMA,
    float: {"type": "number"},
    bool: {"type": "boolean"},
    UUID: ID,
    object: {},
}


def answer_schema(response: object) -> JsonSchema:
    """The JSON Schema of what a view returns: a dataclass or another type, or a schema that tells it itself.

    Raises `ConfigurationError` with the name of a type that has none.
    """
    if isinstance(response, type) or get_origin(response) is not None:
        return _of_type(response)
    return described(response)


def returned(view: Callable[..., object]) -> object:
    """What a view is annotated to return. Raises `ConfigurationError` for one that does not say it."""
    hint = hints_of(view).get("return", object)
    if hint is object:
        raise ConfigurationError(
            f"{view.__module__}.{view.__qualname__} does not say what it answers: annotate what it returns,"
            " or declare a response"
        )
    return None if hint is NoneType else hint


@cache
def hints_of(of: Any) -> dict[str, object]:
    """The type hints of a class or a function. Raises `ConfigurationError` for one that cannot be read.

    Kept: a view is asked for its node and for its answer, and a class for each answer that it is a part of.
    """
    try:
        return get_type_hints(of, include_extras=True)
    except NameError as error:
        raise ConfigurationError(f"a type hint of {of.__module__}.{of.__qualname__}: {error}") from None


@cache
def _of_type(hint: Hashable) -> JsonSchema:
    """Kept: each application of a process asks for the same."""
    return _of(hint, {})


def _of(hint: object, bound: Mapping[object, object]) -> JsonSchema:
    """Of a type hint, with what stands for type parameters."""
    hint = bound.get(hint, hint) if isinstance(hint, TypeVar) else hint
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        found = _of(arguments[0], bound)
        for one in arguments[1:]:
            found = with_keywords(found, one.said) if isinstance(one, SchemaKeywords) else found
            found = NamedSchema(one.name, found) if isinstance(one, SchemaName) else found
        return found
    if origin is NotRequired:
        return _of(arguments[0], bound)
    if origin in (Union, UnionType):
        some = [_of(one, bound) for one in arguments if one is not NoneType]
        found = _either(some)
        return or_null(found) if NoneType in arguments else found
    if origin is Literal and all(isinstance(one, str) for one in arguments):
        return {"type": "string", "enum": [*arguments]}
    if isinstance(hint, type) and hint in _PLAIN:
        return with_keywords(_PLAIN[hint], {})
    return _of_class(origin or hint, arguments, bound)


def _either(some: list[JsonSchema]) -> JsonSchema:
    """One of them. Of texts it is a text: languages without unions have no other type for it."""
    if len(some) == 1:
        return some[0]
    if any(one.get("type") != "string" or not one.keys() & {"pattern", "enum"} for one in some):
        return {"anyOf": some}
    patterns = [one.get("pattern") or f"^({'|'.join(one['enum'])})$" for one in some]
    return {"type": "string", "pattern": "|".join(patterns)}


def _of_class(kind: object, arguments: tuple[object, ...], bound: Mapping[object, object]) -> JsonSchema:
    if is_dataclass(kind) or is_typeddict(kind):
        given = [bound.get(one, one) if isinstance(one, TypeVar) else one for one in arguments]
        found = _object(kind, dict(zip(getattr(kind, "__parameters__", ()), given, strict=True)))
        return NamedSchema(_name(kind, given), found)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return NamedSchema(kind.__name__, {"type": "string", "enum": [one.value for one in kind]})
    if isinstance(kind, type) and issubclass(kind, Mapping) and arguments:
        names, values = (_of(one, bound) for one in arguments)
        return {"type": "object", "propertyNames": names, "additionalProperties": values}
    if isinstance(kind, type) and issubclass(kind, Sequence) and arguments:
        return {"type": "array", "items": _of(arguments[0], bound)}
    named = f"{kind.__module__}.{kind.__qualname__}" if isinstance(kind, type) else repr(kind)
    raise ConfigurationError(
        f"{named} is no dataclass, and no type that JSON has: take one, or an instance of a schema"
    )


def _name(kind: Any, given: Sequence[object]) -> str:
    """That of the class, after those of what it was given: `ProjectPage` of `Page[Project]`."""
    own = NAMES[kind] if isinstance(kind, type) and kind in NAMES else str(getattr(kind, "__name__", ""))
    return "".join(_name_of(one) for one in given) + own


def _name_of(hint: object) -> str:
    arguments = get_args(hint)
    if get_origin(hint) is Annotated:
        return next((one.name for one in arguments if isinstance(one, SchemaName)), _name_of(arguments[0]))
    return _name(get_origin(hint) or hint, arguments)


def _object(kind: Any, bound: Mapping[object, object]) -> JsonSchema:
    """Open to members that a later release adds (docs/api-stability.md).

    Those whose names begin with an underscore are left out of answers.
    """
    hints = hints_of(kind)
    listed = [field.name for field in fields(kind)] if is_dataclass(kind) else hints
    names = [name for name in listed if not name.startswith("_")]
    return {
        "type": "object",
        "properties": {name: _of(hints[name], bound) for name in names},
        "required": [name for name in names if get_origin(hints[name]) is not NotRequired],
    }
