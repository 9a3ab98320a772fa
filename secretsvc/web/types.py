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
    """A JSON Schema that becomes a component; `keywords` stand next to one reference to it."""

    def __init__(self, name: str, schema: JsonSchema, keywords: JsonSchema | None = None) -> None:
        super().__init__(schema)
        self.name, self.keywords = name, keywords or {}

    @property
    def reference(self) -> str:
        """The `$ref` to the component."""
        return SCHEMAS + self.name


def with_keywords(schema: JsonSchema, keywords: JsonSchema) -> JsonSchema:
    """Add keywords to a schema; to a named one at this place only."""
    if isinstance(schema, NamedSchema):
        return NamedSchema(schema.name, schema, {**schema.keywords, **keywords})
    return schema | keywords


def json_schema_of(schema: object) -> JsonSchema:
    """Return what `json_schema()` of a type or schema returns, or null if it is nullable.

    Raises `ConfigurationError` with the name of one that has no method `json_schema`.
    """
    if isinstance(schema, type) or not hasattr(schema, "json_schema"):
        kind = schema if isinstance(schema, type) else type(schema)
        raise ConfigurationError(
            f"{kind.__module__}.{kind.__qualname__} has no json_schema(): derive it from"
            " secretsvc.web.schema.Type and return its JSON Schema there"
        )
    found: JsonSchema = schema.json_schema()
    return or_null(found) if getattr(schema, "nullable", False) else found


def or_null(schema: JsonSchema) -> JsonSchema:
    """Return the schema of the same values and null."""
    if "anyOf" in schema:
        return {"anyOf": [*(one for one in schema["anyOf"] if one != NULL), NULL]}
    if (
        "type" not in schema
        or "properties" in schema
        or (isinstance(schema, NamedSchema) and "enum" in schema)
    ):
        return {"anyOf": [schema, NULL]}
    if "enum" in schema:
        schema = schema | {"enum": [*schema["enum"], None]}
    return schema | {"type": [schema["type"], "null"]}


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
