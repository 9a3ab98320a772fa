"""Strict colander schemas: no coercion, no unknown field, every issue reported.

The types that they are made of can be imported from here too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import colander
from colander import SchemaNode

from secretsvc.kernel.errors import MAX_ISSUES, Issue, ValidationFailed
from secretsvc.web.container_types import ListOf, MapOf, Rejected, invalid, is_at_least, number_of_issues
from secretsvc.web.types import (
    Anything,
    Boolean,
    Choice,
    Document,
    Identifier,
    Integer,
    IntegerText,
    JsonSchema,
    NamedSchema,
    Slug,
    Text,
    Type,
    json_schema_of,
    with_keywords,
)

__all__ = [
    "DESCRIPTION",
    "NAME",
    "NOTHING",
    "ROLE",
    "Anything",
    "Body",
    "Boolean",
    "Choice",
    "Document",
    "Identifier",
    "Integer",
    "IntegerText",
    "JsonSchema",
    "ListOf",
    "ListQuery",
    "MapOf",
    "NamedSchema",
    "Slug",
    "Text",
    "Type",
    "Variants",
    "example_of",
    "field_schema",
    "optional",
    "required",
    "validate",
]

#: What was read, by the names of the fields: each is of the type that its schema says.
Values = dict[str, Any]
REQUIRED = "Required."


class Object(colander.Mapping):  # type: ignore[misc]  # it has no types of its own
    """A mapping of known names. Colander's own reports the unknown ones and then nothing else."""

    def deserialize(self, node: SchemaNode, cstruct: object) -> object:
        """The fields that were read. Raises `colander.Invalid`."""
        if cstruct is colander.null:
            return colander.null
        if not isinstance(cstruct, Mapping):
            raise colander.Invalid(node, "Must be an object.")
        names = {child.name for child in node.children}
        unknown = [name for name in cstruct if name not in names]
        try:
            found = super().deserialize(node, {name: cstruct[name] for name in cstruct if name in names})
        except colander.Invalid as error:
            raise _with_unknown(unknown, node, error.children) from None
        if unknown:
            raise _with_unknown(unknown, node)
        return found


def _with_unknown(
    unknown: Sequence[str], node: SchemaNode, known: Sequence[colander.Invalid] = ()
) -> Rejected:
    """The problems of known fields, then the unknown fields, up to a bound."""
    named = dict.fromkeys(unknown[:MAX_ISSUES], "Unknown field.")
    found = invalid(node, named, len(unknown) - len(named))
    found.children = [*known, *found.children]
    return found


class Body(colander.MappingSchema):  # type: ignore[misc]  # it has no types of its own
    """A JSON object or a query string; an unknown field is an issue."""

    def schema_type(self) -> Object:
        return Object()

    @cached_property
    def of_nothing(self) -> Values:
        """What it reads from nothing, which is what most requests say. Raises `colander.Invalid`."""
        found: Values = self.deserialize({})
        return found

    def json_schema(self) -> NamedSchema:
        """Closed against unknown members, and named as its class."""
        found = {
            "type": "object",
            "properties": {
                node.name: with_keywords(field_schema(node), own_description(node)) for node in self.children
            },
            "required": [node.name for node in self.children if node.required],
            "additionalProperties": False,
        }
        return NamedSchema(type(self).__name__, found)


def field_schema(node: SchemaNode) -> JsonSchema:
    """The JSON Schema of one field, with its default. Raises as `json_schema_of`."""
    found = json_schema_of(node if isinstance(node, Body) else node.typ)
    # What is left out is null is nothing that a client could send.
    if node.missing not in (colander.required, colander.drop, None):
        found = with_keywords(found, {"default": node.missing})
    return found


def own_description(node: SchemaNode) -> JsonSchema:
    """The description that a field or parameter declares itself, if any."""
    return {"description": node.description} if node.description else {}


class Variants:
    """An object that takes one of several schemas, by one field; `name` is for the description."""

    def __init__(self, field: str, schemas: Mapping[str, Body], name: str = "") -> None:
        self.field, self.schemas, self.name = field, schemas, name

    def deserialize(self, values: Mapping[str, object]) -> dict[str, object]:
        """As a schema does. Raises `colander.Invalid`."""
        chosen = values.get(self.field)
        if isinstance(chosen, str) and chosen in self.schemas:
            found: dict[str, object] = self.schemas[chosen].deserialize(values)
            return found
        due = f"Must be one of {', '.join(self.schemas)}." if self.field in values else REQUIRED
        # Which fields are due is open then, but not which are in none of the schemas.
        known = {self.field, *(node.name for schema in self.schemas.values() for node in schema.children)}
        unknown = [name for name in values if name not in known]
        raise _with_unknown(unknown, Body(), invalid(Body(), {self.field: due}).children)

    def json_schema(self) -> JsonSchema:
        """One of its schemas, and which."""
        some = {value: schema.json_schema() for value, schema in self.schemas.items()}
        mapping = {value: one.reference for value, one in some.items()}
        found = {
            "oneOf": [*some.values()],
            "discriminator": {"propertyName": self.field, "mapping": mapping},
        }
        return NamedSchema(self.name, found) if self.name else found


def optional(type_: Type, **options: object) -> SchemaNode:
    """A field that may be left out; it is then absent from the result unless `missing` says otherwise."""
    options.setdefault("missing", colander.drop)
    return colander.SchemaNode(type_, **options)


def required(type_: Type, **options: object) -> SchemaNode:
    """A field that must be there; `example` is its own where that of its type would be refused."""
    return colander.SchemaNode(type_, missing_msg=REQUIRED, **options)


def example_of(schema: object) -> object:
    """A value that the schema takes, for the documentation."""
    if isinstance(schema, Variants):
        return example_of([*schema.schemas.values()][-1])
    if isinstance(schema, Choice):
        return next(iter(schema.choices))
    if isinstance(schema, ListOf):
        return [example_of(schema.item)]
    if isinstance(schema, MapOf):
        return {example_of(schema.name): example_of(schema.item)}
    if isinstance(schema, SchemaNode):
        return {node.name: _example_of_field(node) for node in schema.children if node.required}
    return getattr(schema, "example", None)


def _example_of_field(node: SchemaNode) -> object:
    own = getattr(node, "example", None)
    return own if own is not None else example_of(node if isinstance(node, Body) else node.typ)


def validate(schema: Body | Variants, values: Mapping[str, object]) -> Values:
    """The values in the schema's types.

    Raises `ValidationFailed` with every issue (contract 2): at each level those of known fields in the order
    of the schema, then unknown fields in the order in which they came. Reading of an array or object stops
    after `MAX_COUNTED_ISSUES`.
    """
    try:
        if not values and isinstance(schema, Body):
            return {**schema.of_nothing}
        found: Values = schema.deserialize(values)
    except colander.Invalid as error:
        issues = tuple(_issues(error, ""))
        left_out = number_of_issues(error) - len(issues)
        raise ValidationFailed(issues=issues, left_out=left_out, at_least=is_at_least(error)) from None
    return found


def _issues(error: colander.Invalid, path: str) -> Iterator[Issue]:
    # Frames of colander keep the error that they raise: with what they read, until garbage is collected.
    error.__traceback__ = None
    if error.children:
        for child in error.children:
            yield from _issues(child, f"{path}.{child.node.name}" if path else child.node.name)
    else:
        yield Issue(path, str(error.msg))


NOTHING = Body()


class Name(Text):
    """What people call a thing."""

    def json_schema(self) -> JsonSchema:
        return NamedSchema("Name", super().json_schema())


NAME = Name(minimum=1, maximum=256, strip=True)
DESCRIPTION = Text(maximum=1024, strip=True, nullable=True)
ROLE = Choice("reader", "writer", "admin", name="Role")


class NewNamed(Body):
    """A thing to be made, with its slug and its name."""

    slug = required(Slug())
    name = required(NAME)
    description = optional(DESCRIPTION)


class NamedChanges(Body):
    """What may be changed of every such thing."""

    name = optional(NAME)
    description = optional(DESCRIPTION)


class TextFilter(Body):
    """What picks rows of a page's list by a part of a name."""

    q = required(Text(maximum=320, strip=True))


class ListQuery(Body):
    """Lists that can be read in pages."""

    limit = optional(IntegerText(minimum=1, maximum=1000))
    cursor = optional(Identifier())
