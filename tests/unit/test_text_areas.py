"""What a text area makes of a value, and how the value is known again."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from secretsvc.kernel.text_areas import as_sent, is_exact, survives_text_area, with_line_ends, with_nul

values = st.text(st.sampled_from("ab\r\n\0\ufffd é"), max_size=12) | st.text(max_size=12)


@given(values)
@example("a\r\nb\r\n")
@example("\r")
@example("\n\r")
@example("\r\r\n")
@example("\0\ufffd")
def test_a_value_that_was_only_shown_is_unchanged(value):
    assert with_line_ends(as_sent(value), value) == value


@given(values)
def test_a_value_in_text_with_escapes_is_unchanged(value):
    assert with_nul(value.replace("\0", "\ufffd"), value) == value


@given(values, values)
def test_what_was_typed_differs_at_most_in_what_a_text_area_rewrites(typed, stored):
    restored = with_line_ends(as_sent(typed), stored)
    assert as_sent(restored) == as_sent(typed)


@given(values.filter(lambda one: not is_exact(one)), values)
def test_a_text_that_no_text_area_sends_is_meant_as_it_is(typed, stored):
    assert with_line_ends(typed, stored) == typed


@given(values.filter(survives_text_area), values)
def test_a_plain_text_is_meant_as_it_is(typed, stored):
    assert is_exact(typed)
    assert with_line_ends(typed, stored) == typed


@pytest.mark.parametrize(
    ("typed", "stored", "restored"),
    [
        ("a\nB\n", "a\r\nb\r\n", "a\r\nB\r\n"),
        ("a\nB", "a\rb", "a\rB"),
        ("a\nB\nc", "a\r\nb\nc", "a\nB\nc"),
        ("a\nB\n", "a\nb\n", "a\nB\n"),
        ("a\nb", "ab", "a\nb"),
        ("A\ufffd\n", "a\0\r\n", "A\0\r\n"),
        ("A\ufffd\ufffd", "a\0\ufffd", "A\ufffd\ufffd"),
    ],
)
def test_an_edited_value_keeps_line_ends_of_one_kind_and_nul(typed, stored, restored):
    assert with_line_ends(typed, stored) == restored
