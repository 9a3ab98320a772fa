"""JSON Schemas of responses, from the type hints of what views return: dataclasses, or mappings."""

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
from secretsvc.web.types import (
    ID,
    INTEGER_SCHEMA,
    JsonSchema,
    NamedSchema,
    json_schema_of,
    or_null,
    with_keywords,
)

_PLAIN: dict[object, JsonSchema] = {
    str: {"type": "string"},
    int: INTEGER_SCHEMA,
    float: {"type": "number"},
    bool: {"type": "boolean"},
    UUID: ID,
    object: {},
}


def response_schema(response: object) -> JsonSchema:
    """Return the JSON Schema of a response: of a type hint, or of an instance of a schema.

    Raises `ConfigurationError` with the name of a type that has none.
    """
    if isinstance(response, type) or get_origin(response) is not None:
        return _cached_schema(response)
    return json_schema_of(response)


def response_type(view: Callable[..., object]) -> object:
    """Return what a view is annotated to return. Raises `ConfigurationError` where it has no annotation."""
    hint = type_hints_of(view).get("return", object)
    if hint is object:
        raise ConfigurationError(
            f"{view.__module__}.{view.__qualname__} does not say what it answers: annotate what it returns,"
            " or declare a response"
        )
    return None if hint is NoneType else hint


@cache
def type_hints_of(annotated: Any) -> dict[str, object]:
    """The type hints of a class or a function. Raises `ConfigurationError` for one that cannot be resolved.

    Cached: a view is asked for its node and its response, a class for each response that contains it.
    """
    try:
        return get_type_hints(annotated, include_extras=True)
    except NameError as error:
        raise ConfigurationError(
            f"a type hint of {annotated.__module__}.{annotated.__qualname__}: {error}"
        ) from None


@cache
def _cached_schema(hint: Hashable) -> JsonSchema:
    """Cached: each application of a process asks for the same."""
    return _schema(hint, {})


def _schema(hint: object, bound: Mapping[object, object]) -> JsonSchema:
    """The schema of a type hint; `bound` has the type arguments by type parameter."""
    hint = bound.get(hint, hint) if isinstance(hint, TypeVar) else hint
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        found = _schema(arguments[0], bound)
        for one in arguments[1:]:
            found = with_keywords(found, one.keywords) if isinstance(one, SchemaKeywords) else found
            found = NamedSchema(one.name, found) if isinstance(one, SchemaName) else found
        return found
    if origin is NotRequired:
        return _schema(arguments[0], bound)
    if origin in (Union, UnionType):
        found = _union_schema([_schema(one, bound) for one in arguments if one is not NoneType])
        return or_null(found) if NoneType in arguments else found
    if origin is Literal and all(isinstance(one, str) for one in arguments):
        return {"type": "string", "enum": [*arguments]}
    if isinstance(hint, type) and hint in _PLAIN:
        return with_keywords(_PLAIN[hint], {})
    return _class_schema(origin or hint, arguments, bound)


def _union_schema(schemas: list[JsonSchema]) -> JsonSchema:
    """The schema of a union; of texts a text, since languages without unions have no other type for it."""
    if len(schemas) == 1:
        return schemas[0]
    if any(one.get("type") != "string" or not one.keys() & {"pattern", "enum"} for one in schemas):
        return {"anyOf": schemas}
    patterns = [one.get("pattern") or f"^({'|'.join(one['enum'])})$" for one in schemas]
    return {"type": "string", "pattern": "|".join(patterns)}


def _class_schema(kind: object, arguments: tuple[object, ...], bound: Mapping[object, object]) -> JsonSchema:
    if is_dataclass(kind) or is_typeddict(kind):
        resolved = [bound.get(one, one) if isinstance(one, TypeVar) else one for one in arguments]
        found = _object_schema(kind, dict(zip(getattr(kind, "__parameters__", ()), resolved, strict=True)))
        return NamedSchema(_class_name(kind, resolved), found)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return NamedSchema(kind.__name__, {"type": "string", "enum": [one.value for one in kind]})
    if isinstance(kind, type) and issubclass(kind, Mapping) and arguments:
        names, values = (_schema(one, bound) for one in arguments)
        return {"type": "object", "propertyNames": names, "additionalProperties": values}
    if isinstance(kind, type) and issubclass(kind, Sequence) and arguments:
        return {"type": "array", "items": _schema(arguments[0], bound)}
    named = f"{kind.__module__}.{kind.__qualname__}" if isinstance(kind, type) else repr(kind)
    raise ConfigurationError(
        f"{named} is no dataclass, and no type that JSON has: take one, or an instance of a schema"
    )


def _class_name(kind: Any, arguments: Sequence[object]) -> str:
    """The names of the type arguments, then that of the class: `ProjectPage` of `Page[Project]`."""
    own = NAMES[kind] if isinstance(kind, type) and kind in NAMES else str(getattr(kind, "__name__", ""))
    return "".join(_hint_name(one) for one in arguments) + own


def _hint_name(hint: object) -> str:
    arguments = get_args(hint)
    if get_origin(hint) is Annotated:
        return next((one.name for one in arguments if isinstance(one, SchemaName)), _hint_name(arguments[0]))
    return _class_name(get_origin(hint) or hint, arguments)


def _object_schema(kind: Any, bound: Mapping[object, object]) -> JsonSchema:
    """The schema of a class: open to members that a later release adds (docs/api-stability.md).

    Members whose names begin with an underscore are no part of responses.
    """
    hints = type_hints_of(kind)
    listed = [field.name for field in fields(kind)] if is_dataclass(kind) else hints
    names = [name for name in listed if not name.startswith("_")]
    return {
        "type": "object",
        "properties": {name: _schema(hints[name], bound) for name in names},
        "required": [name for name in names if get_origin(hints[name]) is not NotRequired],
    }
