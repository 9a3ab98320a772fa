"""JSON Schemas of answers, from type hints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, Generic, Literal, NotRequired, TypedDict, TypeVar
from uuid import UUID

import pytest
from pyramid.exceptions import ConfigurationError

from secretsvc.kernel.actors import Maker
from secretsvc.kernel.schema_annotations import Items, SchemaKeywords, Slug, Time, schema_name
from secretsvc.web.response_schemas import response_schema, response_type
from secretsvc.web.schema import Body, Integer, required
from secretsvc.web.types import UUID_SCHEMA

T = TypeVar("T")


class Colour(StrEnum):
    RED = "red"
    GREEN = "green"


@dataclass(frozen=True)
class Gate:
    id: UUID
    slug: Slug
    colour: Colour | None
    _lock: str = field(default="", repr=False)

    @property
    def title(self) -> str:
        return self.slug.capitalize()


@dataclass
class Sized(Generic[T]):
    items: list[T]
    by_name: Mapping[Slug, T]
    first: T | None


class Key(TypedDict):
    opens: Slug
    bent: NotRequired[Annotated[bool, SchemaKeywords(description="worn")]]


@schema_name("Pane")
@dataclass
class Window:
    wide: bool


@dataclass
class Unread:
    gate: Absent  # noqa: F821 - that is the mistake


class Painted(Body):
    colour = required(Integer())


SLUG = {"type": "string", "pattern": "^[a-z0-9]+(?:-[a-z0-9]+)*$", "minLength": 1, "maxLength": 64}
MAKER = {"type": "string", "pattern": f"{UUID_SCHEMA['pattern']}|^(system)$"}
GATE = {
    "type": "object",
    "properties": {
        "id": UUID_SCHEMA,
        "slug": SLUG,
        "colour": {"anyOf": [{"type": "string", "enum": ["red", "green"]}, {"type": "null"}]},
    },
    "required": ["id", "slug", "colour"],
}


@pytest.mark.parametrize(
    ("hint", "schema"),
    [
        (str, {"type": "string"}),
        (int | None, {"type": ["integer", "null"], "format": "int64"}),
        (
            Time | None,
            {"type": ["integer", "null"], "format": "int64", "minimum": 0, "maximum": 2**53 - 1},
        ),
        (Annotated[str, "of no kind", SchemaKeywords(maxLength=4)], {"type": "string", "maxLength": 4}),
        (Sequence[bool], {"type": "array", "items": {"type": "boolean"}}),
        (
            dict[str, float],
            {
                "type": "object",
                "propertyNames": {"type": "string"},
                "additionalProperties": {"type": "number"},
            },
        ),
        (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}),
        (object, {}),
        (Maker, MAKER),
        (Maker | None, MAKER | {"type": ["string", "null"]}),
        (Slug | int, {"anyOf": [SLUG, {"type": "integer", "format": "int64"}]}),
        (UUID | str, {"anyOf": [UUID_SCHEMA, {"type": "string"}]}),
        (Gate | None, {"anyOf": [GATE, {"type": "null"}]}),
        (Colour, {"type": "string", "enum": ["red", "green"]}),
    ],
)
def test_a_type_hint_is_described(hint, schema):
    assert response_schema(hint) == schema


def test_a_dataclass_is_an_object_of_what_the_renderer_writes_of_it():
    assert response_schema(Gate) == GATE


@pytest.mark.parametrize(
    ("hint", "name"),
    [
        (Gate, "Gate"),
        (Colour, "Colour"),
        (UUID, "Id"),
        (Slug, "Slug"),
        (Window, "Pane"),
        (Items[Gate], "GateItems"),
        (Items[Items[Window]], "PaneItemsItems"),
        (Items[Slug], "SlugItems"),
        (Items[Annotated[str, SchemaKeywords(maxLength=4)]], "strItems"),
    ],
)
def test_a_schema_has_the_name_of_its_class_or_the_one_that_it_is_called_by(hint, name):
    assert response_schema(hint).name == name


def test_what_is_said_of_one_field_is_said_beside_its_type():
    found = response_schema(Annotated[Gate, SchemaKeywords(description="The front one.")])
    assert (found.name, found.keywords) == ("Gate", {"description": "The front one."})
    assert found == GATE
    assert response_schema(Gate).keywords == {}


def test_a_type_parameter_stands_for_what_it_was_given():
    found = response_schema(Sized[Items[Gate]])["properties"]
    items = response_schema(Items[Gate])
    assert items["properties"]["items"] == {"type": "array", "items": GATE}
    assert found["items"] == {"type": "array", "items": items}
    assert found["by_name"] == {"type": "object", "propertyNames": SLUG, "additionalProperties": items}
    assert found["first"] == {"anyOf": [items, {"type": "null"}]}


def test_a_mapping_of_known_names_is_an_object_whose_members_may_be_left_out():
    assert response_schema(Key) == {
        "type": "object",
        "properties": {"opens": SLUG, "bent": {"type": "boolean", "description": "worn"}},
        "required": ["opens"],
    }


def test_a_schema_tells_itself():
    assert response_schema(Painted())["properties"]["colour"]["type"] == "integer"


@pytest.mark.parametrize(
    ("hint", "told"),
    [
        (bytes, "builtins.bytes"),
        (Painted, "Painted"),
        (list, "builtins.list"),
        (Items[set[int]], "builtins.set"),
        (Items[Unread], "Unread: name 'Absent' is not defined"),
    ],
)
def test_a_type_that_json_does_not_have_is_refused_by_its_name(hint, told):
    with pytest.raises(ConfigurationError, match=told):
        response_schema(hint)


def test_a_view_says_by_its_annotation_what_it_answers():
    def find(context: object, request: object) -> Items[Slug]: ...

    def remove(context: object, request: object) -> None: ...

    assert response_type(find) == Items[Slug]
    assert response_type(remove) is None


def test_a_view_without_an_annotation_of_use_says_so():
    def bare(context, request): ...

    def anything(context: object, request: object) -> object: ...

    def unread(context: object, request: object) -> Absent: ...  # noqa: F821 - that is the mistake

    for view, told in ((bare, "does not say"), (anything, "does not say"), (unread, "name 'Absent'")):
        with pytest.raises(ConfigurationError, match=told):
            response_type(view)
