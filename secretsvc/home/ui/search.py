"""The page of the search: keys with the environments that have them, projects, environments, people."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from html import escape
from typing import Any
from urllib.parse import urlencode

from secretsvc.home import schemas
from secretsvc.home.domain.page_search import Narrowing, find_holders, find_scopes
from secretsvc.kernel.authorization import admin_grants
from secretsvc.kernel.errors import ValidationFailed
from secretsvc.kernel.identifiers import is_slug
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
#: Words that narrow a search, by what each begins with: the field of `Narrowing`, and what is behind it.
WORDS = {
    "in:": ("project", "the address of a project, as in:shop"),
    "env:": ("environment", "the address of an environment, as env:production"),
    "is:": ("missing", "missing: is:missing finds keys that are not set everywhere"),
    "by:": ("by", "a part of the name of whoever changed a key last, as by:wendy"),
}
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
    shown: dict[str, Any] = {"text": text, "found": None, "show": show, "segments": []}
    if not text:
        return shown
    try:
        validate(schemas.PageQuery(), {"text": text})
        sought, narrowing = split(text)
        if not sought and not narrowing.of_keys:
            raise ValidationFailed.at("text", "Say what is to be found there, too.")
        found = _found(request, sought, narrowing)
    except ValidationFailed as error:
        request.form.label("text", "Search", "hero")
        request.form.refuse(error)
        request.response.status_int = status_of(request, error)
        return shown
    if show not in KINDS:
        shown["show"] = show = "all"
    shown |= {"marked": partial(Marked, sought=sought), "asked": asked(sought, narrowing)}
    return shown | {"found": found, "segments": _segments(found, text, show)}


def split(text: str) -> tuple[str, Narrowing]:
    """What is sought, and what words narrow it to; the last of each kind counts.

    Raises `ValidationFailed` for a word that names nothing that could be.
    """
    words, narrowed = [], {}
    for word in text.split(" "):
        prefix = next((one for one in WORDS if word.startswith(one)), "")
        if not prefix:
            words.append(word)
            continue
        field, wanted = WORDS[prefix]
        value = word.removeprefix(prefix)
        if not _can_be(field, value):
            raise ValidationFailed.at("text", f"Behind {prefix} stands {wanted}.")
        narrowed[field] = value
    missing = narrowed.pop("missing", None) is not None
    return " ".join(words).strip(), Narrowing(missing=missing, **narrowed)


def _can_be(field: str, value: str) -> bool:
    if field in ("project", "environment"):
        return is_slug(value)
    return value == "missing" if field == "missing" else bool(value)


def asked(sought: str, narrowing: Narrowing) -> str:
    """What everything that is found has in common, to go on from "Nothing that you see"."""
    slug = f"“{narrowing.environment}”"
    said = [
        sought and f"has “{sought}” in its name or description",
        narrowing.project and f"is in a project “{narrowing.project}”",
        narrowing.environment and not narrowing.missing and f"is in an environment {slug}",
        narrowing.missing and f"is missing from {slug if narrowing.environment else 'an environment'}",
        narrowing.by and f"was last changed by “{narrowing.by}”",
    ]
    return " and ".join(one for one in said if one)


def _found(request: ServiceRequest, text: str, narrowing: Narrowing) -> dict[str, Any]:
    scopes = find_scopes(request.call, text, FOUND, narrowing)
    # People are in no scope, and in no state that a word asks for.
    sees_people = narrowing == Narrowing() and next(admin_grants(request.call.snapshot), None) is not None
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
    config.add_page(
        search_page,
        context=Root,
        name="search",
        template="secretsvc.home:templates/search.pt",
        role=ANY_IDENTITY,
    )
