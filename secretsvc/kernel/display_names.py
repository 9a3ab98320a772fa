"""Display names: what one can hold, and how a name is shown with its subject."""

from __future__ import annotations

import unicodedata
from typing import Protocol

# Control and format characters, all bidirectional ones among them, and separators of lines and paragraphs.
_UNSEEN = frozenset({"Cc", "Cf", "Zl", "Zp"})
SYSTEM_NAME = "system"


def is_visible(name: str) -> bool:
    """Return whether a name has only characters that can be seen, spaces aside."""
    return not any(unicodedata.category(char) in _UNSEEN for char in name)


def can_be_set(name: str) -> bool:
    """Return whether a display name is plain and without `@`, also a wide one."""
    return is_visible(name) and "@" not in unicodedata.normalize("NFKC", name)


def folded(name: str) -> str:
    """Return a name in the form in which it is compared with subjects."""
    return unicodedata.normalize("NFKC", name).casefold()


def short_name(display_name: str | None, subject: str) -> str:
    """Return the display name, or the subject where no name can be shown.

    Goes where the subject stands next to it. A name of an earlier release that is not plain is not shown: it
    could reorder the subject behind it.
    """
    is_shown = display_name is not None and is_visible(display_name)
    return display_name if display_name and is_shown else subject


def full_name(display_name: str | None, subject: str | None) -> str:
    """Return `Ada (ada@example.com)`, the subject alone where the name says no more, or `system`."""
    if subject is None:
        return SYSTEM_NAME
    name = short_name(display_name, subject)
    return subject if name.casefold() == subject.casefold() else f"{name} ({subject})"


class _Named(Protocol):
    @property
    def display_name(self) -> str | None: ...

    @property
    def subject(self) -> str: ...


class WithNames:
    """An identity's names for pages; its class has `display_name` and `subject`."""

    __slots__ = ()

    @property
    def short_name(self: _Named) -> str:
        """The name for where the subject stands next to it."""
        return short_name(self.display_name, self.subject)

    @property
    def full_name(self: _Named) -> str:
        """The name with the subject."""
        return full_name(self.display_name, self.subject)
