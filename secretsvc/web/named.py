"""Schemas with names stand in the description once, with a sentence for each of their fields."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyramid.exceptions import ConfigurationError

from secretsvc.web.types import JsonSchema, Named

#: What the fields and parameters of the API mean, by their names; `Schema.field` goes before `field`.
Glossary = Mapping[str, str]
BOUNDS = {"pattern", "minLength", "maxLength", "minimum", "maximum", "propertyNames"}


def hoisted(value: Any, found: dict[str, JsonSchema], glossary: Glossary) -> Any:
    """The value with references for the named schemas in it, which are put into `found` by their names.

    Raises `ConfigurationError` for two of one name that are not the same.
    """
    if isinstance(value, Named):
        whole = {name: hoisted(member, found, glossary) for name, member in value.items()}
        if "properties" in whole:
            fields = whole["properties"].items()
            whole["properties"] = {name: told(part, glossary, name, value.name) for name, part in fields}
        if found.setdefault(value.name, whole) != whole:
            raise ConfigurationError(
                f"two schemas are called {value.name} and differ: give one of their classes another name"
            )
        return {"$ref": value.reference}
    if isinstance(value, dict):
        return {name: hoisted(member, found, glossary) for name, member in value.items()}
    return [hoisted(item, found, glossary) for item in value] if isinstance(value, list) else value


def promised(answer: Any) -> Any:
    """What an answer's schema promises for as long as v1 is served: no bounds, which a later release may widen.

    What reads an answer would refuse it for the sake of them (docs/api-stability.md).
    """
    if isinstance(answer, list):
        return [promised(part) for part in answer]
    if not isinstance(answer, dict):
        return answer
    found = {name: promised(part) for name, part in answer.items() if name not in BOUNDS}
    if "properties" in answer:
        found["properties"] = {name: promised(part) for name, part in answer["properties"].items()}
    return Named(answer.name, found) if isinstance(answer, Named) else found


def told(part: JsonSchema, glossary: Glossary, name: str, within: str) -> JsonSchema:
    """A field of a schema, or a parameter of a query, with its sentence; one that has its own keeps it."""
    if "description" in part:
        return part
    sentence = glossary.get(f"{within}.{name}") or glossary.get(name)
    return part | {"description": sentence} if sentence else part
