"""Types that are made of other types or schemas; an issue inside one has a path of its own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

import colander

from secretsvc.kernel.grammar import is_secret_key
from secretsvc.web.types import KEY_GRAMMAR, JsonSchema, SecretKey, Type, described


class ListOf(Type):
    """An array of at least `minimum` items, which are all of one type."""

    def __init__(self, item: Type, minimum: int = 0) -> None:
        super().__init__()
        self.item, self.minimum = item, minimum

    def read(self, node: Any, value: Any) -> list[Any]:
        if not isinstance(value, list):
            raise colander.Invalid(node, "Must be an array.")
        if len(value) < self.minimum:
            raise colander.Invalid(node, f"Must have at least {self.minimum}.")
        return list(_each(node, self.item, [(str(index), item) for index, item in enumerate(value)]).values())

    def json_schema(self) -> JsonSchema:
        found: JsonSchema = {"type": "array", "items": described(self.item)}
        return found | {"minItems": self.minimum} if self.minimum else found


class Items(Type):
    """An array of objects of one schema; it stands in answers only."""

    def __init__(self, schema: Any) -> None:
        super().__init__()
        self.schema = schema

    def json_schema(self) -> JsonSchema:
        return {"type": "array", "items": described(self.schema)}


class Nullable(Type):
    """An object of one schema, or null; it stands in answers only."""

    def __init__(self, schema: Any) -> None:
        super().__init__(nullable=True)
        self.schema = schema

    def json_schema(self) -> JsonSchema:
        return {"anyOf": [described(self.schema), {"type": "null"}]}


class SecretMap(Type):
    """An object from secret keys to values of one type; an issue's path segment is the key."""

    def __init__(self, item: Type) -> None:
        super().__init__()
        self.item = item

    def read(self, node: Any, value: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise colander.Invalid(node, "Must be an object.")
        misnamed = {key: KEY_GRAMMAR for key in value if not is_secret_key(key)}
        return _each(node, self.item, value.items(), misnamed)

    def json_schema(self) -> JsonSchema:
        return {
            "type": "object",
            "propertyNames": SecretKey().json_schema(),
            "additionalProperties": described(self.item),
        }


def _each(
    node: Any,
    item: Type,
    members: Iterable[tuple[str, Any]],
    misnamed: Mapping[str, str] = MappingProxyType({}),
) -> dict[str, Any]:
    """Every member read; all that fail, and those whose names do, are reported together, in their order."""
    found: dict[str, Any] = {}
    problems: dict[str, str | colander.Invalid] = {}
    for name, member in members:
        if name in misnamed:
            problems[name] = misnamed[name]
            continue
        try:
            found[name] = item.deserialize(node, member)
        except colander.Invalid as error:
            problems[name] = error
    if problems:
        raise invalid(node, problems)
    return found


def invalid(node: Any, problems: Mapping[str, str | colander.Invalid]) -> colander.Invalid:
    """What is wrong with members of a node, by their names: a message, or what is wrong with their own."""
    found = colander.Invalid(node)
    for name, problem in problems.items():
        named = colander.SchemaNode(colander.String(), name=name)
        if isinstance(problem, str):
            found.add(colander.Invalid(named, problem))
        else:
            problem.node = named
            found.add(problem)
    return found
