"""Schemas with names stand in the description once, with a sentence for each of their fields."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyramid.exceptions import ConfigurationError

from secretsvc.web.types import SCHEMAS, JsonSchema, NamedSchema

#: What the fields and parameters of the API mean, by their names; `Schema.field` goes before `field`.
Glossary = Mapping[str, str]
BOUNDS = {"pattern", "minLength", "maxLength", "minimum", "maximum", "propertyNames"}


def extract_references(value: Any, found: dict[str, JsonSchema], glossary: Glossary) -> Any:
    """The value with references for the named schemas in it, which are put into `found` by their names.

    Raises `ConfigurationError` for two of one name that are not the same.
    """
    if isinstance(value, NamedSchema):
        whole = {name: extract_references(member, found, glossary) for name, member in value.items()}
        if "properties" in whole:
            fields = whole["properties"].items()
            whole["properties"] = {
                name: with_description(
                    part, glossary, f"{value.name}.{name}", *_unless_told(name, part, found)
                )
                for name, part in fields
            }
        elif value.name in glossary:
            whole["description"] = glossary[value.name]
        if found.setdefault(value.name, whole) != whole:
            raise ConfigurationError(
                f"two schemas are called {value.name} and differ: give one of their classes another name"
            )
        return {"$ref": value.reference} | value.beside
    if isinstance(value, dict):
        return {name: extract_references(member, found, glossary) for name, member in value.items()}
    return [extract_references(item, found, glossary) for item in value] if isinstance(value, list) else value


def without_bounds(answer: Any) -> Any:
    """What an answer's schema promises as long as v1 is served (docs/api-stability.md).

    No bounds: a later release may widen them, and a client that holds answers to them would refuse those.
    """
    if isinstance(answer, list):
        return [without_bounds(part) for part in answer]
    if not isinstance(answer, dict):
        return answer
    if isinstance(answer, NamedSchema) and "properties" not in answer:
        # A common grammar, which does not change.
        return answer
    found = {name: without_bounds(part) for name, part in answer.items() if name not in BOUNDS}
    if "properties" in answer:
        found["properties"] = {name: without_bounds(part) for name, part in answer["properties"].items()}
    return NamedSchema(answer.name, found, answer.beside) if isinstance(answer, NamedSchema) else found


def _unless_told(field: str, part: JsonSchema, found: Mapping[str, JsonSchema]) -> list[str]:
    """The field's name, but of one whose type says by itself what it is: that need not be said again."""
    named = part.get("$ref", "").removeprefix(SCHEMAS)
    return [] if "description" in found.get(named, {}) else [field]


def with_description(part: JsonSchema, glossary: Glossary, *words: str) -> JsonSchema:
    """A field or a parameter with the sentence of the first word that has one, unless it has its own."""
    sentence = next((glossary[word] for word in words if word in glossary), None)
    return part if sentence is None or "description" in part else part | {"description": sentence}
