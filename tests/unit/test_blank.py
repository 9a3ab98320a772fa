"""Which texts are blank (contract 17.4)."""

from __future__ import annotations

import pytest

from secretsvc.kernel.blank import is_blank

BLANK = {
    "nothing": "",
    "white space": " \t\r\n\v\f\x1c\x85\xa0\u1680\u2003\u2028\u3000",
    "control": "\x01\x7f\x9f",
    "format": "\u00ad\u061c\u180e\u200b\u200d\u202e\u2060\u2066\ufeff\U0001d173\U000e0001\U000e0020",
    "unassigned": "\u0378\ufdd0\uffff\u2065\U000e0000\U000e0fff",
    "private": "\ue000\U0010ffff",
    "blank glyphs": "\u2800\U0001d159",
    "Hangul fillers": "\u115f\u1160\u3164\uffa0",
    "variation selectors": "\ufe00\ufe0f\u180b\u180f\U000e0100\U000e01ef",
    "combining, not drawn": "\u034f\u17b4\u17b5",
}


@pytest.mark.parametrize("name", BLANK)
def test_what_cannot_be_seen_is_blank(name: str) -> None:
    assert [one for one in BLANK[name] if not is_blank(one)] == []
    assert is_blank(BLANK[name])


@pytest.mark.parametrize(
    "text", ["x", ".", "0", "ü", "日", "🔑", "\u200bx\u200b", "\u0301", "\u2801", "\u3131"]
)
def test_what_can_be_seen_is_not(text: str) -> None:
    assert not is_blank(text)
