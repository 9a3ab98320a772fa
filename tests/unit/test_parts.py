"""Names and numbers as pages say them."""

from __future__ import annotations

import pytest

from secretsvc.web.pages.html_helpers import BreakableText, enumeration


@pytest.mark.parametrize(
    ("names", "total", "text"),
    [
        (["a"], None, "a"),
        (["a", "b"], None, "a and b"),
        (["a", "b", "c"], None, "a, b and c"),
        (["a", "b", "c"], 3, "a, b and c"),
        (["a", "b"], 14, "a, b and 12 more"),
        (["a"], 2001, "a and 2,000 more"),
    ],
)
def test_names_are_joined_and_those_left_out_are_counted(names, total, text):
    assert enumeration(names, total) == text


def test_an_address_breaks_before_its_sign_and_is_still_escaped():
    assert BreakableText("a<b@example.com").__html__() == "a&lt;b<wbr>@example.com"
