"""Keys that were ticked: a form has a field `key.KEY` for each, or as a URL all of them in one."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import urlencode

from secretsvc.kernel.identifiers import is_secret_key
from secretsvc.web.forms import Form

PREFIX = "key."
SELECT_ONE = "Select at least one key."
#: A URL that is longer would not pass every proxy.
MAX_LENGTH = 4000


def ticked(form: Form) -> list[str]:
    """The keys that a form names, sorted."""
    one_by_one = {key for key, mark in form.under(PREFIX) if mark and is_secret_key(key)}
    return sorted(one_by_one | named_keys(form["keys"]))


def named_keys(text: str) -> set[str]:
    """The keys that a URL's parameter names, or a field."""
    return set(filter(is_secret_key, text.split(",")))


def compare_path(base: str, keys: Iterable[str], **sides: str | None) -> str:
    """The page that compares, with keys ticked; of more than a URL holds, with none."""
    text = ",".join(keys)
    query = {**sides, "keys": text if len(text) <= MAX_LENGTH else None}
    return f"{base}/compare?{urlencode({name: value for name, value in query.items() if value}, safe=',')}"
