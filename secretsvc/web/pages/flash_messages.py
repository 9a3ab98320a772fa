"""Flash messages: what a page says after a form led on to it with `?done=word`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias

from pyramid.config import Configurator

from secretsvc.kernel.identifiers import is_slug
from secretsvc.web.pages.layout import PageLayout
from secretsvc.web.registration import check_function, declare

#: The text, or the function that makes it of the page's `ui` and of details in the URL.
FlashText: TypeAlias = "str | Callable[[PageLayout, Sequence[str]], str | None]"


def _with_slug(done: str) -> Callable[[object, Sequence[str]], str | None]:
    """Return the function for "Created shop.", or "Created." where the URL has no slug."""

    def text(_ui: object, details: Sequence[str]) -> str | None:
        if not details:
            return f"{done}."
        return f"{done} {details[0]}." if len(details) == 1 and is_slug(details[0]) else None

    return text


#: Flash messages of every package, by the word in the URL.
COMMON = {
    "created": _with_slug("Created"),
    "saved": "Saved.",
    "deleted": _with_slug("Deleted"),
    "unchanged": "No changes to save.",
    "nothing-to-remove": "Nothing was removed: it is gone already, or is nothing that you may see.",
}


def add_flash_message(config: Configurator, word: str, text: FlashText) -> None:
    """Directive: what a page says where a form led on to it with `?done=word`. Two of one word conflict.

    A function gets `ui` and what follows the word, `?done=word.one.two`, and returns the text, or None for
    details that no form of ours leads on with.
    """
    if not isinstance(text, str):
        check_function(f"done {word}", text)
    declare(config, "done", word, partial(config.registry.done.__setitem__, word, text))


def includeme(config: Configurator) -> None:
    """Register the directive, and the messages of every package."""
    config.registry.done = {}
    config.add_directive("add_flash_message", add_flash_message)
    for word, text in COMMON.items():
        config.add_flash_message(word, text)
