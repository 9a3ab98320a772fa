"""Texts whose line ends a text area cannot name: a hidden field next to it carries each of them as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable

from secretsvc.kernel.text_areas import as_sent, is_exact, survives_text_area
from secretsvc.web.forms import Form

#: The field beside another one begins with this.
PREFIX = "exact."


def text_of(form: Form, name: str, read: Callable[[str], str] = as_sent) -> str:
    """Return the text of a field: the exact one until it is edited, then what `read` makes of it."""
    text = exact_of(form, name)
    return read(form[name]) if text is None else text


def exact_of(form: Form, name: str) -> str | None:
    """Return the exact text of a field, None for a field that has none or was edited."""
    exact = form[PREFIX + name]
    if not exact.startswith('"'):
        return None
    try:
        text = json.loads(exact)
    except ValueError:
        return None
    return text if isinstance(text, str) and as_sent(text) == as_sent(form[name]) else None


def put(form: Form, name: str, text: str) -> None:
    """Put an exact text into a field; a plain one needs no hidden field, which would double the form."""
    drop(form, name)
    form.values |= {name: text} if survives_text_area(text) else {name: text, PREFIX + name: json.dumps(text)}


def copy(form: Form, source: str, target: str) -> None:
    """Copy the text of a field to another field, where it is exact only if it was before."""
    text = exact_of(form, source)
    if text is not None:
        put(form, target, text)
    else:
        drop(form, target)
        form.values[target] = as_sent(form[source])


def drop(form: Form, name: str) -> None:
    """Take out the exact text of a field."""
    form.values.pop(PREFIX + name, None)


def text_fields(name: str, text: str) -> dict[str, str]:
    """Return the fields that carry a text through a page, the exact one if a text area would change it."""
    return {name: text} if is_exact(text) else {name: text, PREFIX + name: json.dumps(text)}


def fields_beside(form: Form) -> dict[str, str]:
    """Return the hidden fields whose text areas the form has."""
    return {PREFIX + name: text for name, text in form.under(PREFIX) if name in form.values}
