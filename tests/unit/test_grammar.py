from __future__ import annotations

import re
import string
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from waiting import least_seconds

from secretsvc.kernel.identifiers import SECRET_KEY, SLUG, is_secret_key, is_slug


@pytest.mark.parametrize("text", ["a", "0", "my-project", "a-b-c", "2024", "a" * 64, "a-" * 31 + "aa"])
def test_lower_case_alphanumerics_with_single_interior_hyphens_are_a_slug(text: str) -> None:
    assert is_slug(text)


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            "-",
            "-a",
            "a-",
            "a--b",
            "A",
            "a_b",
            "a b",
            "a/b",
            "a:b",
            "a.b",
            "a\n",
            "\na",
            "a\0",
            "%2F",
            "..",
        ),
        *("é", "ſ", "\u212a", "１", "٣", "a１", "²", "a" * 65),
    ],
)
def test_anything_else_is_no_slug(text: str) -> None:
    assert not is_slug(text)


@pytest.mark.parametrize("text", ["A", "_", "a", "API_KEY", "_1", "lower", "__", "A" * 256])
def test_posix_variable_names_are_secret_keys(text: str) -> None:
    assert is_secret_key(text)


@pytest.mark.parametrize(
    "text",
    ["", "1", "1A", "A-B", "A.B", "A:B", "A B", "A\n", "\nA", "A=", "É", "A１", "A٣", "A\0", "ªA", "A" * 257],
)
def test_anything_else_is_no_secret_key(text: str) -> None:
    assert not is_secret_key(text)


@given(st.text(max_size=6))
def test_both_grammars_are_ascii_only(text: str) -> None:
    slug, key = (
        set(string.ascii_lowercase + string.digits + "-"),
        set(string.ascii_letters + string.digits + "_"),
    )
    assert not is_slug(text) or set(text) <= slug
    assert not is_secret_key(text) or set(text) <= key


@pytest.mark.parametrize("pattern", [SLUG, SECRET_KEY])
@pytest.mark.parametrize("unit", ["a", "a-", "-", "_", "a_", "0"])
def test_no_long_text_makes_a_pattern_slow(pattern: re.Pattern[str], unit: str) -> None:
    # The short one first: an exponential pattern would never come back from the long one.
    for length in (28, 100_000):
        text = (unit * length)[:length] + "!"
        assert pattern.fullmatch(text) is None
        assert least_seconds(lambda text=text: pattern.fullmatch(text), 0.5, time.thread_time) < 0.5
