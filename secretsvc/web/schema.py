"""Colander types and schemas that take nothing for something else: no coercion, no unknown field.

Each type knows its bounds as attributes, so that a schema can also be read as documentation.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from uuid import UUID

import colander

from secretsvc.kernel.errors import Issue, ValidationFailed
from secretsvc.kernel.grammar import is_secret_key, is_slug
from secretsvc.kernel.ids import read_id

MAX_INTEGER = 2**53 - 1
REQUIRED = "Required."
KEY_GRAMMAR = "Must be the name of an environment variable."
NUL = "\x00"


class Body(colander.MappingSchema):  # type: ignore[misc]  # it has no types of its own
    """A JSON object or a query string; an unknown field is an issue."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs.setdefault("unknown", "raise")
        super().__init__(*args, **kwargs)

    def schema_type(self) -> Any:
        return colander.Mapping(unknown="raise")


class Type(colander.SchemaType):  # type: ignore[misc]  # it has no types of its own
    """The base: `null` is refused unless the type is nullable. `example` is for the documentation."""

    example: Any = None

    def __init__(self, *, nullable: bool = False) -> None:
        self.nullable = nullable

    def deserialize(self, node: Any, cstruct: Any) -> Any:
        if cstruct is colander.null:
            return colander.null
        if cstruct is None:
            if self.nullable:
                return None
            raise colander.Invalid(node, "Must not be null.")
        return self.read(node, cstruct)

    def read(self, node: Any, value: Any) -> Any:
        """The value, or `colander.Invalid`."""
        raise colander.Invalid(node, "Not readable.")


class Text(Type):
    """Text of `minimum` to `maximum` characters that every database can hold."""

    example = "Web shop"

    def __init__(
        self, *, minimum: int = 0, maximum: int, strip: bool = False, nullable: bool = False
    ) -> None:
        super().__init__(nullable=nullable)
        self.minimum, self.maximum, self.strip = minimum, maximum, strip

    def read(self, node: Any, value: Any) -> str:
        if not isinstance(value, str):
            raise colander.Invalid(node, "Must be a string.")
        text = value.strip() if self.strip else value
        if not self.minimum <= len(text) <= self.maximum:
            raise colander.Invalid(node, f"Must have {self.minimum} to {self.maximum} characters.")
        if NUL in text:
            raise colander.Invalid(node, "Must not hold NUL.")
        return text


class Slug(Type):
    """A slug (specification, "Common grammar")."""

    example = "shop"

    def read(self, node: Any, value: Any) -> str:
        if not isinstance(value, str) or not is_slug(value):
            raise colander.Invalid(node, "Must be a slug.")
        return value


class SecretKey(Type):
    """The name of a secret (specification, "Common grammar")."""

    example = "API_KEY"

    def read(self, node: Any, value: Any) -> str:
        if not isinstance(value, str) or not is_secret_key(value):
            raise colander.Invalid(node, KEY_GRAMMAR)
        return value


class Identifier(Type):
    """An id: a UUID in its usual spelling. In answers one of a few `words` may stand for it."""

    example = "0190163d-8694-739b-aea5-966c26f8ad91"

    def __init__(self, *, nullable: bool = False, words: tuple[str, ...] = ()) -> None:
        super().__init__(nullable=nullable)
        self.words = words

    def read(self, node: Any, value: Any) -> UUID:
        found = read_id(value)
        if found is None:
            raise colander.Invalid(node, "Must be an id.")
        return found


class Integer(Type):
    """A JSON integer within bounds; a boolean or a float is none."""

    example = 1

    def __init__(self, *, minimum: int = 0, maximum: int = MAX_INTEGER, nullable: bool = False) -> None:
        super().__init__(nullable=nullable)
        self.minimum, self.maximum = minimum, maximum

    def read(self, node: Any, value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int):
            raise colander.Invalid(node, "Must be an integer.")
        return self.bounded(node, value)

    def bounded(self, node: Any, value: int) -> int:
        """The value if it is within bounds."""
        if not self.minimum <= value <= self.maximum:
            raise colander.Invalid(node, f"Must be {self.minimum} to {self.maximum}.")
        return value


class IntegerText(Integer):
    """An integer of a query string: plain ASCII digits."""

    def read(self, node: Any, value: Any) -> int:
        if not (value.isascii() and value.isdigit() and len(value) <= 16):
            raise colander.Invalid(node, "Must be an integer.")
        return self.bounded(node, int(value))


class Boolean(Type):
    """`true` or `false`."""

    example = False

    def read(self, node: Any, value: Any) -> bool:
        if not isinstance(value, bool):
            raise colander.Invalid(node, "Must be true or false.")
        return value


class Choice(Type):
    """One of a few words."""

    def __init__(self, *choices: str, nullable: bool = False) -> None:
        super().__init__(nullable=nullable)
        self.choices = choices

    def read(self, node: Any, value: Any) -> str:
        if not isinstance(value, str) or value not in self.choices:
            raise colander.Invalid(node, f"Must be one of {', '.join(self.choices)}.")
        return value


class ListOf(Type):
    """An array whose items are all of one type."""

    def __init__(self, item: Type) -> None:
        super().__init__()
        self.item = item

    def read(self, node: Any, value: Any) -> list[Any]:
        if not isinstance(value, list):
            raise colander.Invalid(node, "Must be an array.")
        return list(_each(node, self.item, [(str(index), item) for index, item in enumerate(value)]).values())


class Items(Type):
    """An array of objects of one schema; it stands in answers only."""

    def __init__(self, schema: Body) -> None:
        super().__init__()
        self.schema = schema


class Nullable(Type):
    """An object of one schema, or null; it stands in answers only."""

    def __init__(self, schema: Body) -> None:
        super().__init__(nullable=True)
        self.schema = schema


class Anything(Type):
    """Any JSON; it stands in answers only."""

    def read(self, node: Any, value: Any) -> Any:
        return value


class Document(Type):
    """A JSON object of somebody else's schema; it stands in answers only."""


class SecretValue(Type):
    """A value: any text, NUL included, because what is stored is its envelope."""

    example = "s3cr3t"

    def read(self, node: Any, value: Any) -> str:
        if not isinstance(value, str):
            raise colander.Invalid(node, "Must be a string.")
        return value


class SecretMap(Type):
    """An object from secret keys to values of one type; an issue's path segment is the key."""

    def __init__(self, item: Type) -> None:
        super().__init__()
        self.item = item

    def read(self, node: Any, value: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise colander.Invalid(node, "Must be an object.")
        misnamed = [key for key in value if not is_secret_key(key)]
        if misnamed:
            raise _invalid(node, dict.fromkeys(misnamed, KEY_GRAMMAR))
        return _each(node, self.item, value.items())


def _each(node: Any, item: Type, members: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Every member read; all that fail are reported together."""
    found, problems = {}, {}
    for name, member in members:
        try:
            found[name] = item.deserialize(node, member)
        except colander.Invalid as error:
            problems[name] = str(error.msg)
    if problems:
        raise _invalid(node, problems)
    return found


def _invalid(node: Any, problems: Mapping[str, str]) -> colander.Invalid:
    invalid = colander.Invalid(node)
    for name, problem in problems.items():
        invalid.add(colander.Invalid(colander.SchemaNode(colander.String(), name=name), problem))
    return invalid


class Variants:
    """An object that takes one of several schemas, by the value of one field."""

    def __init__(self, field: str, schemas: Mapping[str, Body]) -> None:
        self.field, self.schemas = field, schemas

    def deserialize(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """As a schema does. Raises `colander.Invalid`."""
        if self.field not in values:
            raise _invalid(Body(), {self.field: REQUIRED})
        chosen = values[self.field]
        if not isinstance(chosen, str) or chosen not in self.schemas:
            raise _invalid(Body(), {self.field: f"Must be one of {', '.join(self.schemas)}."})
        found: dict[str, Any] = self.schemas[chosen].deserialize(values)
        return found


def optional(type_: Type, **options: Any) -> Any:
    """A field that may be left out; it is then absent from the result unless `missing` says otherwise."""
    options.setdefault("missing", colander.drop)
    return colander.SchemaNode(type_, **options)


def required(type_: Type, **options: Any) -> Any:
    """A field that must be there."""
    return colander.SchemaNode(type_, missing_msg=REQUIRED, **options)


def example_of(schema: Any) -> Any:
    """A value that the schema takes, for the documentation."""
    if isinstance(schema, Variants):
        return example_of([*schema.schemas.values()][-1])
    if isinstance(schema, Choice):
        return schema.choices[0]
    if isinstance(schema, ListOf):
        return [example_of(schema.item)]
    if isinstance(schema, SecretMap):
        return {SecretKey.example: example_of(schema.item)}
    if isinstance(schema, Type):
        return schema.example
    return {node.name: example_of(node.typ) for node in schema.children if node.required}


def validate(schema: Any, values: Mapping[str, Any]) -> dict[str, Any]:
    """The values in the schema's types. Raises `ValidationFailed` with every issue (contract 2)."""
    try:
        found: dict[str, Any] = schema.deserialize(values)
    except colander.Invalid as error:
        raise ValidationFailed(issues=tuple(_issues(error, ""))) from None
    return found


def _issues(error: Any, path: str) -> Iterator[Issue]:
    if isinstance(error, colander.UnsupportedFields):
        for name in error.fields:
            yield Issue(_join(path, name), "Unknown field.")
    elif error.children:
        for child in error.children:
            yield from _issues(child, _join(path, child.node.name))
    else:
        yield Issue(path, str(error.msg))


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


NOTHING = Body()


NAME = Text(minimum=1, maximum=256, strip=True)
DESCRIPTION = Text(maximum=1024, strip=True, nullable=True)
CURSOR = Text(maximum=64, nullable=True)
ROLE = Choice("reader", "writer", "admin")


class ListQuery(Body):
    """Lists that can be read in pages."""

    limit = optional(IntegerText(minimum=1, maximum=1000))
    cursor = optional(Identifier())
