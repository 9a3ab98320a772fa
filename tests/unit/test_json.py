"""The one parser of JSON: what bodies, assertions, key sets and imports are all read with."""

from __future__ import annotations

import base64
from json import JSONDecodeError

import pytest

from secretsvc.authentication.jose import segment_object, strict_object
from secretsvc.kernel.errors import BadRequest, ValidationFailed
from secretsvc.kernel.json import parse_json
from secretsvc.secrets.formats.imports import read_json
from secretsvc.web.body import parse_object

REFUSED = [
    pytest.param('{"A": "1", "A": "1"}', id="a member twice"),
    pytest.param('{"A": "1", "\\u0041": "2"}', id="a member twice, spelled otherwise"),
    pytest.param('{"A": NaN}', id="NaN"),
    pytest.param('{"A": Infinity}', id="Infinity"),
    pytest.param('{"A": -Infinity}', id="minus Infinity"),
    pytest.param('\ufeff{"A": "1"}', id="a byte order mark"),
    pytest.param('{"A": "1"} {}', id="more after it"),
    pytest.param("{'A': 1}", id="another quote"),
    pytest.param('{"A": "1",}', id="a comma after the last"),
    pytest.param('{"A": "\n"}', id="a bare control character"),
    pytest.param("", id="nothing"),
    pytest.param('{"A": ' + "[" * 100_000, id="deeper than the stack"),
]


def read_body(text: str) -> object:
    return parse_object(text.encode("utf-8", "surrogatepass"), "application/json", "")


def read_segment(text: str) -> object:
    return segment_object(base64.urlsafe_b64encode(text.encode()).decode().rstrip("="))


@pytest.mark.parametrize("text", REFUSED)
@pytest.mark.parametrize(
    ("read", "refusals"),
    [
        (parse_json, (ValueError, RecursionError)),
        (lambda text: strict_object(text.encode()), (ValueError, RecursionError)),
        (read_segment, (ValueError, RecursionError)),
        (read_body, BadRequest),
        (read_json, ValidationFailed),
    ],
    ids=["the parser", "key set", "assertion", "body", "import"],
)
def test_what_two_readers_may_understand_differently_is_refused_by_each(read, refusals, text):
    with pytest.raises(refusals):
        read(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("null", None),
        (' [1, 1.5, true, "\\u00e9"] ', [1, 1.5, True, "é"]),
        ('{"A": {"A": {}}}', {"A": {"A": {}}}),
        ('["\\ud800"]', ["\ud800"]),
        ("1e999", float("inf")),
    ],
)
def test_any_document_is_read_and_what_a_store_cannot_hold_is_left_to_whoever_asks(text, value):
    assert parse_json(text) == value


def test_the_line_of_what_is_not_json_is_known():
    with pytest.raises(JSONDecodeError) as raised:
        parse_json('{\n"A": x}')
    assert raised.value.lineno == 2


def test_members_can_be_had_as_they_were_written_and_no_number_is_computed():
    assert parse_json('{"A": 10, "A": -1.5e9}', members=tuple, number=str) == (("A", "10"), ("A", "-1.5e9"))
