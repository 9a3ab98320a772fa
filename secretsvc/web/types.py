"""Strict colander types, which describe themselves as JSON Schema.

Each knows its bounds as attributes and describes them as JSON Schema, by a method that a package outside
gives its own types too (decision 0011).
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any
from uuid import UUID

import colander
from colander import SchemaNode
from pyramid.exceptions import ConfigurationError

from secretsvc.kernel.identifiers import NO_NUL, NOT_BLANK, SLUG, SLUG_LENGTH, is_slug
from secretsvc.kernel.ids import read_id
from secretsvc.kernel.schema_annotations import MAX_INTEGER

NUL = "\x00"
MAX_INT32 = 2**31 - 1

JsonSchema = dict[str, Any]
NULL = {"type": "null"}
#: Without a format, some languages take 32 bits.
INTEGER_SCHEMA: JsonSchema = {"type": "integer", "format": "int64"}
UUID_SCHEMA: JsonSchema = {
    "type": "string",
    "format": "uuid",
    "pattern": "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$",
}


SCHEMAS = "#/components/schemas/"


class NamedSchema(JsonSchema):
    """A JSON Schema that has a name; `beside` is what is said at one place, beside the reference to it."""

    def __init__(self, name: str, schema: JsonSchema, beside: JsonSchema | None = None) -> None:
        super().__init__(schema)
        self.name, self.beside = name, beside or {}

    @property
    def reference(self) -> str:
        """Where the description has it."""
        return SCHEMAS + self.name


def with_keywords(schema: JsonSchema, more: JsonSchema) -> JsonSchema:
    """The schema with more keywords, at one place where it stands."""
    if isinstance(schema, NamedSchema):
        return NamedSchema(schema.name, schema, {**schema.beside, **more})
    return schema | more


def described(what: object) -> JsonSchema:
    """The JSON Schema of a type or a schema, which is asked for it; of a nullable one with null.

    Raises `ConfigurationError` with the name of one that has no method `json_schema`.
    """
    if isinstance(what, type) or not hasattr(what, "json_schema"):
        named = what if isinstance(what, type) else type(what)
        raise ConfigurationError(
            f"{named.__module__}.{named.__qualname__} has no json_schema(): derive it from"
            " secretsvc.web.schema.Type and return its JSON Schema there"
        )
    found: JsonSchema = what.json_schema()
    return or_null(found) if getattr(what, "nullable", False) else found


def or_null(found: JsonSchema) -> JsonSchema:
    """As well as null."""
    if "anyOf" in found:
        return {"anyOf": [*(one for one in found["anyOf"] if one != NULL), NULL]}
    if "type" not in found or "properties" in found or (isinstance(found, NamedSchema) and "enum" in found):
        return {"anyOf": [found, NULL]}
    if "enum" in found:
        found = found | {"enum": [*found["enum"], None]}
    return found | {"type": [found["type"], "null"]}


ID = NamedSchema("Id", UUID_SCHEMA)


class Type(colander.SchemaType):  # type: ignore[misc]  # it has no types of its own
    """The base: `null` is refused unless the type is nullable. `example` is for the documentation.

    A subclass reads, and has a method `json_schema` that describes what it reads, null aside.
    """

    example: object = None

    def __init__(self, *, nullable: bool = False) -> None:
        self.nullable = nullable

    def deserialize(self, node: SchemaNode, cstruct: object) -> object:
        if cstruct is colander.null:
            return colander.null
        if cstruct is None:
            if self.nullable:
                return None
            raise colander.Invalid(node, "Must not be null.")
        return self.read(node, cstruct)

    def read(self, node: SchemaNode, value: object) -> object:
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

    def read(self, node: SchemaNode, value: object) -> str:
        if not isinstance(value, str):
            raise colander.Invalid(node, "Must be a string.")
        text = value.strip() if self.strip else value
        if not self.minimum <= len(text) <= self.maximum:
            bounds = f"{self.minimum} to {self.maximum}" if self.minimum else f"at most {self.maximum}"
            raise colander.Invalid(node, f"Must have {bounds} characters.")
        if NUL in text:
            raise colander.Invalid(node, "Must not hold NUL.")
        return text

    def json_schema(self) -> JsonSchema:
        return {
            "type": "string",
            "maxLength": self.maximum,
            "pattern": NOT_BLANK if self.strip and self.minimum else NO_NUL,
        } | ({"minLength": self.minimum} if self.minimum else {})


class Slug(Type):
    """A slug (specification, "Common grammar")."""

    example = "shop"

    def read(self, node: SchemaNode, value: object) -> str:
        if not isinstance(value, str) or not is_slug(value):
            raise colander.Invalid(node, "Use a-z, 0-9 and single hyphens, such as shop-2.")
        return value

    def json_schema(self) -> JsonSchema:
        found = {"type": "string", "pattern": f"^{SLUG.pattern}$", "minLength": 1, "maxLength": SLUG_LENGTH}
        return NamedSchema("Slug", found)


class Identifier(Type):
    """An id: a UUID in its usual spelling."""

    example = "0190163d-8694-739b-aea5-966c26f8ad91"

    def read(self, node: SchemaNode, value: object) -> UUID:
        found = read_id(value)
        if found is None:
            raise colander.Invalid(node, "Must be an id.")
        return found

    def json_schema(self) -> JsonSchema:
        return ID


class Integer(Type):
    """A JSON integer within bounds; a boolean or a float is none."""

    example = 1

    def __init__(self, *, minimum: int = 0, maximum: int = MAX_INTEGER, nullable: bool = False) -> None:
        super().__init__(nullable=nullable)
        self.minimum, self.maximum = minimum, maximum

    def read(self, node: SchemaNode, value: object) -> int:
        if isinstance(value, bool) or not isinstance(value, int):
            raise colander.Invalid(node, "Must be an integer.")
        return self.bounded(node, value)

    def bounded(self, node: SchemaNode, value: int) -> int:
        """The value if it is within bounds."""
        if not self.minimum <= value <= self.maximum:
            raise colander.Invalid(node, f"Must be {self.minimum} to {self.maximum}.")
        return value

    def json_schema(self) -> JsonSchema:
        found: JsonSchema = {"type": "integer", "minimum": self.minimum, "maximum": self.maximum}
        return found | INTEGER_SCHEMA if self.maximum > MAX_INT32 else found


class IntegerText(Integer):
    """An integer of a query string: plain ASCII digits."""

    def read(self, node: SchemaNode, value: object) -> int:
        if not (isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= 16):
            raise colander.Invalid(node, "Must be an integer.")
        return self.bounded(node, int(value))


class Boolean(Type):
    """`true` or `false`."""

    example = False

    def read(self, node: SchemaNode, value: object) -> bool:
        if not isinstance(value, bool):
            raise colander.Invalid(node, "Must be true or false.")
        return value

    def json_schema(self) -> JsonSchema:
        return {"type": "boolean"}


class Choice(Type):
    """One of a few words; `name` is for the description."""

    def __init__(self, *choices: str, nullable: bool = False, name: str = "") -> None:
        super().__init__(nullable=nullable)
        self.choices: Collection[str] = choices
        self.name = name

    @classmethod
    def of(cls, choices: Collection[str]) -> Choice:
        """One of the words in a collection, to which packages may add as long as they are configured."""
        found = cls()
        found.choices = choices
        return found

    def read(self, node: SchemaNode, value: object) -> str:
        if not isinstance(value, str) or value not in self.choices:
            raise colander.Invalid(node, f"Must be one of {', '.join(self.choices)}.")
        return value

    def json_schema(self) -> JsonSchema:
        found: JsonSchema = {"type": "string", "enum": list(self.choices)}
        return NamedSchema(self.name, found) if self.name else found


class Anything(Type):
    """Any JSON; it stands in answers only."""

    def read(self, node: SchemaNode, value: object) -> object:
        return value

    def json_schema(self) -> JsonSchema:
        return {}


class Document(Type):
    """A JSON object of somebody else's schema; it stands in answers only."""

    def json_schema(self) -> JsonSchema:
        return {"type": "object"}
