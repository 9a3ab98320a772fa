"""Components: named schemas stand in the document once, each of their fields with a description."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyramid.exceptions import ConfigurationError

from secretsvc.web.types import SCHEMAS, JsonSchema, NamedSchema

#: Descriptions of the fields and parameters of the API, by name; `Schema.field` goes before `field`.
Glossary = Mapping[str, str]
BOUNDS = {"pattern", "minLength", "maxLength", "minimum", "maximum", "propertyNames"}


def extract_references(part: Any, components: dict[str, JsonSchema], glossary: Glossary) -> Any:
    """Return a part of the document with references in place of named schemas; add those to `components`.

    Raises `ConfigurationError` for two of one name that are not the same.
    """
    if isinstance(part, list):
        return [extract_references(item, components, glossary) for item in part]
    if not isinstance(part, dict):
        return part
    extracted = {name: extract_references(member, components, glossary) for name, member in part.items()}
    if not isinstance(part, NamedSchema):
        return extracted
    component = _with_descriptions(part.name, extracted, components, glossary)
    if components.setdefault(part.name, component) != component:
        raise ConfigurationError(
            f"two schemas are called {part.name} and differ: give one of their classes another name"
        )
    return {"$ref": part.reference} | part.keywords


def _with_descriptions(
    name: str, schema: JsonSchema, components: Mapping[str, JsonSchema], glossary: Glossary
) -> JsonSchema:
    """Describe each field of a component; one without fields is described itself."""
    if "properties" not in schema:
        return schema | {"description": glossary[name]} if name in glossary else schema
    properties = {}
    for field, part in schema["properties"].items():
        referred = components.get(part.get("$ref", "").removeprefix(SCHEMAS), {})
        # A described component needs no general description where a field refers to it.
        entries = [f"{name}.{field}"] if "description" in referred else [f"{name}.{field}", field]
        properties[field] = with_description(part, glossary, *entries)
    return schema | {"properties": properties}


def without_bounds(schema: Any) -> Any:
    """Return a response's schema without bounds (docs/api-stability.md).

    A later release may widen a bound, and a client that checks responses against it would refuse those.
    """
    if isinstance(schema, list):
        return [without_bounds(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    if isinstance(schema, NamedSchema) and "properties" not in schema:
        # A common grammar, which does not change.
        return schema
    found = {name: without_bounds(part) for name, part in schema.items() if name not in BOUNDS}
    if "properties" in schema:
        found["properties"] = {name: without_bounds(part) for name, part in schema["properties"].items()}
    return NamedSchema(schema.name, found, schema.keywords) if isinstance(schema, NamedSchema) else found


def with_description(part: JsonSchema, glossary: Glossary, *entries: str) -> JsonSchema:
    """Return a field or parameter with the first of these entries of the glossary, unless it has its own."""
    description = next((glossary[entry] for entry in entries if entry in glossary), None)
    return part if description is None or "description" in part else part | {"description": description}
