"""Types that are made of other types or schemas; an issue inside one has a path of its own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import colander
from colander import SchemaNode

from secretsvc.kernel.errors import MAX_COUNTED_ISSUES, MAX_ISSUES
from secretsvc.web.types import JsonSchema, Type, json_schema_of


class Rejected(colander.Invalid):  # type: ignore[misc]  # it has no types of its own
    """The problems with members of an array or object; `left_out` is the number of those without a child.

    A child takes far more time and room than the member that it is about. With `at_least`, reading stopped
    before the last member.
    """

    left_out = 0
    at_least = False


class ListOf(Type):
    """An array of `minimum` to `maximum` items, which are all of one type."""

    def __init__(self, item: Type, minimum: int = 0, maximum: int | None = None) -> None:
        super().__init__()
        self.item, self.minimum, self.maximum = item, minimum, maximum

    def read(self, node: SchemaNode, value: object) -> list[object]:
        if not isinstance(value, list):
            raise colander.Invalid(node, "Must be an array.")
        if len(value) < self.minimum:
            raise colander.Invalid(node, f"Must have at least {self.minimum}.")
        if self.maximum is not None and len(value) > self.maximum:
            raise colander.Invalid(node, f"Must have at most {self.maximum}.")
        found = _each(node, ((str(index), item) for index, item in enumerate(value)), self.item)
        return list(found.values())

    def json_schema(self) -> JsonSchema:
        found: JsonSchema = {"type": "array", "items": json_schema_of(self.item)}
        if self.minimum:
            found["minItems"] = self.minimum
        if self.maximum is not None:
            found["maxItems"] = self.maximum
        return found


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
            "propertyNames": json_schema_of(self.name),
            "additionalProperties": json_schema_of(self.item),
        }


def _each(
    node: SchemaNode, members: Iterable[tuple[str, object]], item: Type, name_type: Type | None = None
) -> dict[str, object]:
    """Read the members. Report those with an invalid value or name together, in order.

    Reading stops after `MAX_COUNTED_ISSUES`.
    """
    found: dict[str, object] = {}
    problems: dict[str, str | colander.Invalid] = {}
    count = left_out = 0
    for name, member in members:
        try:
            if name_type is not None:
                name_type.deserialize(node, name)
            found[name] = item.deserialize(node, member)
        except colander.Invalid as error:
            number = number_of_issues(error)
            count += number
            if len(problems) < MAX_ISSUES:
                problems[name] = error
            else:
                left_out += number
            if count >= MAX_COUNTED_ISSUES:
                break
    if problems:
        raise invalid(node, problems, left_out, at_least=count >= MAX_COUNTED_ISSUES)
    return found


def number_of_issues(error: colander.Invalid) -> int:
    """The number of issues that an error reports, those included that it only counts."""
    own = sum(map(number_of_issues, error.children)) if error.children else 1
    return own + getattr(error, "left_out", 0)


def is_at_least(error: colander.Invalid) -> bool:
    """Whether reading stopped before all issues of an error were counted."""
    return getattr(error, "at_least", False) or any(map(is_at_least, error.children))


def invalid(
    node: SchemaNode,
    problems: Mapping[str, str | colander.Invalid],
    left_out: int = 0,
    *,
    at_least: bool = False,
) -> Rejected:
    """The problems with members of a node, by their names: a message, or the problems with their own."""
    found = Rejected(node)
    found.left_out, found.at_least = left_out, at_least
    for name, problem in problems.items():
        named = colander.SchemaNode(colander.String(), name=name)
        if isinstance(problem, str):
            found.add(colander.Invalid(named, problem))
        else:
            problem.node = named
            found.add(problem)
    return found
