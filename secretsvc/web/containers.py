"""Types that are made of other types or schemas; an issue inside one has a path of its own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import colander
from colander import SchemaNode

from secretsvc.web.types import JsonSchema, Type, described

#: Of one array or object so many wrong members are told of: each takes far more to tell than to send.
MAX_PROBLEMS = 1_000


class ListOf(Type):
    """An array of at least `minimum` items, which are all of one type."""

    def __init__(self, item: Type, minimum: int = 0) -> None:
        super().__init__()
        self.item, self.minimum = item, minimum

    def read(self, node: SchemaNode, value: object) -> list[object]:
        if not isinstance(value, list):
            raise colander.Invalid(node, "Must be an array.")
        if len(value) < self.minimum:
            raise colander.Invalid(node, f"Must have at least {self.minimum}.")
        found = _each(node, ((str(index), item) for index, item in enumerate(value)), self.item)
        return list(found.values())

    def json_schema(self) -> JsonSchema:
        found: JsonSchema = {"type": "array", "items": described(self.item)}
        return found | {"minItems": self.minimum} if self.minimum else found


class MapOf(Type):
    """An object from names of one type to values of another; an issue's path segment is the name."""

    def __init__(self, name: Type, item: Type) -> None:
        super().__init__()
        self.name, self.item = name, item

    def read(self, node: SchemaNode, value: object) -> dict[str, object]:
        if not isinstance(value, dict):
            raise colander.Invalid(node, "Must be an object.")
        return _each(node, value.items(), self.item, self.name)

    def json_schema(self) -> JsonSchema:
        return {
            "type": "object",
            "propertyNames": described(self.name),
            "additionalProperties": described(self.item),
        }


def _each(
    node: SchemaNode, members: Iterable[tuple[str, object]], item: Type, name_type: Type | None = None
) -> dict[str, object]:
    """Every member read. Those that fail, or whose names do, are told together in order, up to a bound."""
    found: dict[str, object] = {}
    problems: dict[str, str | colander.Invalid] = {}
    for name, member in members:
        try:
            if name_type is not None:
                name_type.deserialize(node, name)
            found[name] = item.deserialize(node, member)
        except colander.Invalid as error:
            problems[name] = error
            if len(problems) == MAX_PROBLEMS:
                break
    if problems:
        raise invalid(node, problems)
    return found


def invalid(node: SchemaNode, problems: Mapping[str, str | colander.Invalid]) -> colander.Invalid:
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
