"""Colander schemas as JSON Schema: a small converter for each type, and none for one that nobody foresaw."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import colander

from secretsvc.kernel.grammar import SECRET_KEY, SECRET_KEY_LENGTH, SLUG, SLUG_LENGTH
from secretsvc.web import schema as types

UUID_PATTERN = "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$"
# Python counts the separators among white space, ECMAScript does not.
NO_NUL = "^[^\\u0000]*$"
NOT_BLANK = "^[^\\u0000]*[^\\s\\u0000\\u001c-\\u001f\\u0085\\ufeff][^\\u0000]*$"

Schema = dict[str, Any]


def of_schema(schema: Any) -> Schema:
    """The JSON Schema of a body or an answer, closed against unknown members."""
    if isinstance(schema, types.Variants):
        return {"oneOf": [of_schema(variant) for variant in schema.schemas.values()]}
    if isinstance(schema, types.Type):
        return of_type(schema)
    properties = {node.name: of_node(node) for node in schema.children}
    return {
        "type": "object",
        "properties": properties,
        "required": [node.name for node in schema.children if node.required],
        "additionalProperties": False,
    }


def of_node(node: Any) -> Schema:
    """The JSON Schema of one field, with its default and example if it has them."""
    found = of_schema(node) if isinstance(node, types.Body) else of_type(node.typ)
    if node.missing not in (colander.required, colander.drop):
        found["default"] = node.missing
    return found


def of_type(type_: types.Type) -> Schema:
    """The JSON Schema of a type. Raises `KeyError` for one that is not in the table."""
    found = _CONVERTERS[type(type_)](type_)
    return _nullable(found) if type_.nullable and "anyOf" not in found else found


def _nullable(found: Schema) -> Schema:
    if "enum" in found:
        found["enum"] = [*found["enum"], None]
    return found | {"type": [found["type"], "null"]}


def _text(type_: types.Text) -> Schema:
    pattern = NOT_BLANK if type_.strip and type_.minimum else NO_NUL
    return {
        "type": "string",
        "minLength": type_.minimum,
        "maxLength": type_.maximum,
        "pattern": pattern,
    }


def _slug(_type: types.Slug) -> Schema:
    return {
        "type": "string",
        "pattern": f"^{SLUG.pattern}$",
        "minLength": 1,
        "maxLength": SLUG_LENGTH,
    }


def _secret_key(_type: types.SecretKey) -> Schema:
    return {
        "type": "string",
        "pattern": f"^{SECRET_KEY.pattern}$",
        "minLength": 1,
        "maxLength": SECRET_KEY_LENGTH,
    }


def _identifier(type_: types.Identifier) -> Schema:
    found: Schema = {"type": "string", "format": "uuid", "pattern": UUID_PATTERN}
    return {"anyOf": [found, {"enum": list(type_.words)}]} if type_.words else found


def _integer(type_: types.Integer) -> Schema:
    return {"type": "integer", "minimum": type_.minimum, "maximum": type_.maximum}


def _choice(type_: types.Choice) -> Schema:
    if len(type_.choices) == 1 and not type_.nullable:
        return {"type": "string", "const": type_.choices[0]}
    return {"type": "string", "enum": list(type_.choices)}


def _list(type_: types.ListOf) -> Schema:
    return {"type": "array", "items": of_type(type_.item)}


def _secret_map(type_: types.SecretMap) -> Schema:
    return {
        "type": "object",
        "propertyNames": _secret_key(types.SecretKey()),
        "additionalProperties": of_type(type_.item),
    }


_CONVERTERS: dict[type, Callable[[Any], Schema]] = {
    types.Text: _text,
    types.Slug: _slug,
    types.SecretKey: _secret_key,
    types.Identifier: _identifier,
    types.Integer: _integer,
    types.IntegerText: _integer,
    types.Boolean: lambda _type: {"type": "boolean"},
    types.Choice: _choice,
    types.ListOf: _list,
    types.Items: lambda type_: {"type": "array", "items": of_schema(type_.schema)},
    types.Nullable: lambda type_: {"anyOf": [of_schema(type_.schema), {"type": "null"}]},
    types.Anything: lambda _type: {},
    types.Document: lambda _type: {"type": "object"},
    types.SecretValue: lambda _type: {"type": "string"},
    types.SecretMap: _secret_map,
}
