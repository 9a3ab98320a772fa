"""Text that shows nothing: white space and characters without a glyph (contract 17.4)."""

from __future__ import annotations

import unicodedata

#: Characters of other categories that no font draws: those with Unicode's property
#: Default_Ignorable_Code_Point, such as variation selectors and Hangul fillers, and two blank glyphs: U+2800,
#: the empty pattern of Braille, and U+1D159, the null notehead.
INVISIBLE = frozenset(
    [
        0x034F,
        0x115F,
        0x1160,
        0x17B4,
        0x17B5,
        *range(0x180B, 0x1810),
        0x2800,
        0x3164,
        *range(0xFE00, 0xFE10),
        0xFFA0,
        0x1D159,
        *range(0xE0100, 0xE01F0),
    ]
)


def is_blank(text: str) -> bool:
    """Whether a text has no character that can be seen.

    Separators and control, format, private and unassigned characters cannot be. Which ones are assigned is
    Python's to know: it refuses a text of nothing but characters that are newer.
    """
    return all(unicodedata.category(one)[0] in "ZC" or ord(one) in INVISIBLE for one in text)
