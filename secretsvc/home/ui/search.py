"""The page of the search: keys with the environments that have them, projects, environments, people."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from html import escape
from typing import Any
from urllib.parse import urlencode

from secretsvc.home import schemas
from secretsvc.home.domain.finding import find_holders, find_scopes
from secretsvc.kernel.authorization import administered
from secretsvc.kernel.errors import ValidationFailed
from secretsvc.kernel.grammar import is_slug
from secretsvc.web.config import ServiceConfigurator
from secretsvc.web.error_codes import status_of
from secretsvc.web.forms import Form
from secretsvc.web.query import parse_query
from secretsvc.web.request import ServiceRequest
from secretsvc.web.schema import validate
from secretsvc.web.tree import Root
from secretsvc.web.views import ANY_IDENTITY

#: How many rows of each kind a search finds.
FOUND = 200
#: Words that narrow a search, each with a slug behind it.
IN_PROJECT, IN_ENVIRONMENT = NARROWING = ("in:", "env:")
KINDS = {
    "keys": "Keys",
    "projects": "Projects",
    "environments": "Environments",
    "people": "People and tokens",
}


def search_page(_context: Root, request: ServiceRequest) -> object:
    """What was found of what the URL asks for."""
    query = parse_query(request.environ)
    text, show = query.get("q", "").strip(), query.get("show", "all")
    request.form = Form({"q": text})
    sought, narrowed = split(text)
    shown: dict[str, Any] = {"text": text, "found": None, "show": show, "segments": []}
    shown["marked"] = partial(Marked, sought=sought)
    if not text:
        return shown
    try:
        validate(schemas.PageQuery(), {"text": text})
        if not sought:
            raise ValidationFailed.at("text", "Say what is to be found there, too.")
        found = _found(request, sought, narrowed)
    except ValidationFailed as error:
        request.form.label("text", "Search", "hero")
        request.form.refuse(error)
        request.response.status_int = status_of(request, error)
        return shown
    if show not in KINDS:
        shown["show"] = show = "all"
    return shown | {"found": found, "segments": _segments(found, text, show)}


def split(text: str) -> tuple[str, dict[str, str]]:
    """What is sought, and the slugs that words narrow it to, by their prefixes; the last of each counts."""
    words, narrowed = [], {}
    for word in text.split(" "):
        prefix = next((one for one in NARROWING if word.startswith(one)), "")
        if prefix and is_slug(word.removeprefix(prefix)):
            narrowed[prefix] = word.removeprefix(prefix)
        else:
            words.append(word)
    return " ".join(words).strip(), narrowed


def _found(request: ServiceRequest, text: str, narrowed: Mapping[str, str]) -> dict[str, Any]:
    at = {"in_project": narrowed.get(IN_PROJECT), "in_environment": narrowed.get(IN_ENVIRONMENT)}
    scopes = find_scopes(request.call, text, FOUND, **at)
    # People are in no scope.
    sees_people = not narrowed and next(administered(request.call.snapshot), None) is not None
    people = find_holders(request.call, text, FOUND) if sees_people else None
    return {
        "keys": scopes.keys,
        "projects": scopes.projects,
        "environments": scopes.environments,
        "people": people,
        "cut": scopes.cut,
    }


def _segments(found: dict[str, Any], text: str, show: str) -> list[tuple[str, str, int, bool, str]]:
    numbers = {kind: len(found[kind]) for kind in KINDS if found[kind] is not None}
    every = [("all", "All", sum(numbers.values())), *((one, KINDS[one], numbers[one]) for one in numbers)]
    return [
        (label, f"/search?{urlencode({'q': text, 'show': kind})}", number, kind == show, "")
        for kind, label, number in every
    ]


@dataclass(frozen=True, slots=True)
class Marked:
    """A text with marks where it has what was sought; letters of ASCII alone have no case."""

    text: str
    sought: str

    def __html__(self) -> str:
        pieces, low, wanted = [], _folded(self.text), _folded(self.sought)
        start = 0
        while wanted and (at := low.find(wanted, start)) >= 0:
            end = at + len(wanted)
            pieces += [escape(self.text[start:at]), f"<mark>{escape(self.text[at:end])}</mark>"]
            start = end
        return "".join([*pieces, escape(self.text[start:])])


def _folded(text: str) -> str:
    return "".join(one.lower() if one.isascii() else one for one in text)


def includeme(config: ServiceConfigurator) -> None:
    """Declares the page."""
    config.add_page(
        search_page,
        context=Root,
        name="search",
        template="secretsvc.home:templates/search.pt",
        role=ANY_IDENTITY,
    )
