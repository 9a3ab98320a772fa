"""Texts that a text area would change: a hidden field beside it carries each of them as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable

from secretsvc.kernel.text_areas import as_sent, is_exact
from secretsvc.web.forms import Form

#: The field beside another one begins with this.
PREFIX = "exact."


def text_of(form: Form, name: str, read: Callable[[str], str] = as_sent) -> str:
    """Return the text of a field: the exact one until it is edited, then what `read` makes of it."""
    sent, exact = form[name], form[PREFIX + name]
    if exact.startswith('"'):
        try:
            text = json.loads(exact)
        except ValueError:
            return read(sent)
        if isinstance(text, str) and as_sent(text) == as_sent(sent):
            return text
    return read(sent)


def put(form: Form, name: str, text: str) -> None:
    """Put a text into a field, and the exact one beside it where a text area would change it."""
    form.values.pop(PREFIX + name, None)
    form.values |= fields_of(name, text)


def fields_of(name: str, text: str) -> dict[str, str]:
    """Return the fields that carry a text through a page."""
    return {name: text} if is_exact(text) else {name: text, PREFIX + name: json.dumps(text)}


def fields_beside(form: Form) -> dict[str, str]:
    """Return the hidden fields whose text areas the form has."""
    return {PREFIX + name: text for name, text in form.under(PREFIX) if name in form.values}
