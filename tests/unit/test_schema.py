"""What schemas tell of input that they refuse, and of themselves."""

from __future__ import annotations

from typing import Any

import colander
import pytest
from pyramid.exceptions import ConfigurationError

from secretsvc.kernel.errors import ValidationFailed
from secretsvc.secrets.schemas.history import RevisionQuery
from secretsvc.web.container_types import ListOf, MapOf
from secretsvc.web.schema import Body, Variants, example_of, field_schema, optional, required, validate
from secretsvc.web.types import Boolean, Choice, Integer, Slug, Text, Type, json_schema_of


class Inner(Body):
    count = required(Integer())
    word = optional(Text(maximum=3))


class Outer(Body):
    slug = required(Slug())
    inner = Inner(missing=colander.drop)
    name = required(Text(maximum=9))
    numbers = optional(ListOf(ListOf(Integer())))
    values = optional(MapOf(Slug(), Integer()))


CHOOSE = Variants("kind", {"one": Inner(), "other": Outer()})


def issues(schema: Any, values: dict[str, Any]) -> list[tuple[str, str]]:
    with pytest.raises(ValidationFailed) as caught:
        validate(schema, values)
    return [tuple(issue) for issue in caught.value.issues]


@pytest.mark.parametrize(
    ("values", "paths"),
    [
        ({"nome": 1, "slug": "A B"}, ["slug", "name", "nome"]),
        ({"z": 1, "slug": "a", "a": 1, "name": "n"}, ["z", "a"]),
        (
            {"inner": {"x": 1, "word": 5}, "y": 1},
            ["slug", "inner.count", "inner.word", "inner.x", "name", "y"],
        ),
        ({"inner": {"x": 1, "count": 1}, "slug": "a", "name": "n"}, ["inner.x"]),
        ({"inner": {}, "slug": "a", "name": 5}, ["inner.count", "name"]),
        (
            {"slug": "a", "name": "n", "numbers": [[1], ["x", 2, None], 5]},
            ["numbers.1.0", "numbers.1.2", "numbers.2"],
        ),
        (
            {"slug": "a", "name": "n", "values": {"a": "x", "B": 5, "c": 1, "d": None}},
            ["values.a", "values.B", "values.d"],
        ),
    ],
)
def test_every_issue_is_told_known_fields_first_in_the_schema_s_order(
    values: dict[str, Any], paths: list[str]
) -> None:
    found = issues(Outer(), values)
    assert [path for path, _ in found] == paths
    assert all(message and message != "None" for _, message in found)


@pytest.mark.parametrize(
    ("values", "first", "last"),
    [
        ({"numbers": [None] * 5_000}, "numbers.0", "numbers.99"),
        ({"values": {f"{number}": None for number in range(5_000)}}, "values.0", "values.99"),
        ({f"field-{number}": 1 for number in range(5_000)}, "field-0", "field-99"),
        (
            {"numbers": [None] * 2_600, "values": {"a": None}, "b": 1} | {f"{n}": 1 for n in range(2_398)},
            "numbers.0",
            "numbers.99",
        ),
        ({"numbers": [None] * 60, "values": {f"{n}": None for n in range(4_940)}}, "numbers.0", "values.39"),
    ],
    ids=["an array", "an object", "unknown fields", "all three", "two in part"],
)
def test_a_hundred_issues_are_named_and_the_others_counted(values, first, last):
    """A body of one megabyte would be answered with forty, which takes ten seconds to make."""
    found = issues(Outer(), {"slug": "a", "name": "n", **values})
    assert (len(found), found[0][0], found[99][0]) == (101, first, last)
    assert found[100] == ("", "4,900 more are left out.")


def test_exactly_a_hundred_issues_are_all_named() -> None:
    assert len(issues(Outer(), {"slug": "a", "name": "n", "numbers": [None] * 100})) == 100
    found = issues(Outer(), {"slug": "a", "name": "n", "numbers": [None] * 101})
    assert found[100:] == [("", "1 more is left out.")]


@pytest.mark.parametrize(
    ("values", "counted"),
    [
        ({"numbers": [None] * 20_000}, "9,900"),
        ({"numbers": [[None] * 20_000]}, "9,900"),
        ({"numbers": [[None] * 150] * 20_000}, "9,950"),
        ({"values": {f"{number}": None for number in range(20_000)}}, "9,900"),
        ({"numbers": [None] * 20_000, "values": {"a": None}, "b": 1}, "9,902"),
    ],
    ids=["an array", "an array in an array", "many arrays", "an object", "and others"],
)
def test_reading_stops_after_ten_thousand_issues(values: dict[str, Any], counted: str) -> None:
    found = issues(Outer(), {"slug": "a", "name": "n", **values})
    assert found[100:] == [("", f"At least {counted} more are left out.")]


def test_members_after_ten_thousand_issues_are_not_read() -> None:
    read: list[object] = []

    class Unusable(Integer):
        def read(self, node: colander.SchemaNode, value: object) -> int:
            read.append(value)
            raise colander.Invalid(node, "Unusable.")

    with pytest.raises(colander.Invalid):
        colander.SchemaNode(ListOf(Unusable())).deserialize([*range(20_000)])
    assert len(read) == 10_000


def test_an_unknown_field_is_named_and_nothing_is_told_of_what_is_in_it() -> None:
    found = issues(Inner(), {"count": 1, "marker": {"secret": "value"}})
    assert found == [("marker", "Unknown field.")]


@pytest.mark.parametrize("value", [None, 5, "marker", [], True])
def test_what_is_no_object_is_told_without_repeating_it(value: Any) -> None:
    found = issues(Outer(), {"slug": "a", "name": "n", "inner": value})
    assert found == [("inner", "Must be an object.")]


@pytest.mark.parametrize(
    ("given", "message"), [({}, "Required."), ({"kind": 5}, "Must be one of one, other.")]
)
def test_while_it_is_open_which_schema_counts_what_is_in_none_is_told(
    given: dict[str, Any], message: str
) -> None:
    found = issues(CHOOSE, {**given, "slug": 5, "word": 5, "x": 1})
    assert found == [("kind", message), ("x", "Unknown field.")]


def test_what_is_read_from_nothing_is_each_reader_s_own() -> None:
    schema = RevisionQuery()
    validate(schema, {})["limit"] = 5
    assert validate(schema, {}) == {"limit": 50}


def test_what_is_right_is_read_as_before() -> None:
    values = {"slug": "a", "inner": {"count": 1}, "name": "n", "numbers": [[1], []], "values": {"a": 1}}
    assert validate(Outer(), values) == values


class Odd(Type):
    """A type that says nothing of itself."""


class Plain(colander.SchemaType):
    """A type of somebody else's, that does."""

    def json_schema(self) -> dict[str, Any]:
        return {"enum": ["a"]}


class PerhapsPlain(Plain):
    nullable = True


class WithOdd(Body):
    odd = required(Odd())


class WithPlain(Body):
    plain = required(Plain())
    perhaps = optional(PerhapsPlain(), missing=None)


class WithString(Body):
    text = colander.SchemaNode(colander.String())


class WithMapping(Body):
    inner = colander.MappingSchema()


@pytest.mark.parametrize(
    ("what", "name"),
    [
        (Odd(), r"\.Odd "),
        (ListOf(Odd()), r"\.Odd "),
        (MapOf(Slug(), Odd()), r"\.Odd "),
        (MapOf(Odd(), Slug()), r"\.Odd "),
        (WithOdd(), r"\.Odd "),
        (ListOf(WithOdd()), r"\.Odd "),
        (Variants("kind", {"odd": WithOdd()}), r"\.Odd "),
        (WithString(), r"^colander\.String "),
        (WithMapping(), r"^colander\.Mapping "),
        (colander.String(), r"^colander\.String "),
        (dict, r"^builtins\.dict "),
        (Inner, r"\.Inner "),
        (None, r"^builtins\.NoneType "),
    ],
)
def test_what_says_nothing_of_itself_is_refused_by_its_name(what: Any, name: str) -> None:
    with pytest.raises(ConfigurationError, match=name):
        json_schema_of(what)


def test_a_type_of_somebody_else_s_is_described_by_what_it_says() -> None:
    found = json_schema_of(WithPlain())
    assert found["properties"] == {
        "plain": {"enum": ["a"]},
        "perhaps": {"anyOf": [{"enum": ["a"]}, {"type": "null"}]},
    }
    assert example_of(WithPlain()) == {"plain": None}
    assert example_of(Outer()) == {"slug": "shop", "name": "Web shop"}


@pytest.mark.parametrize(
    ("type_", "expected"),
    [
        (
            Integer(minimum=1, maximum=2, nullable=True),
            {"type": ["integer", "null"], "minimum": 1, "maximum": 2},
        ),
        (Choice("a", nullable=True), {"type": ["string", "null"], "enum": ["a", None]}),
        (Choice("a"), {"type": "string", "enum": ["a"]}),
        (Boolean(nullable=True), {"type": ["boolean", "null"]}),
    ],
)
def test_null_is_described_where_it_is_taken(type_: Type, expected: dict[str, Any]) -> None:
    assert json_schema_of(type_) == expected
    assert field_schema(optional(type_)) == expected
