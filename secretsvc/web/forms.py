"""Forms of pages: strict parsing in memory, the token that binds a form to its identity, what was typed."""

from __future__ import annotations

import hashlib
import hmac
import io
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import NamedTuple

from multipart import MultipartError, MultipartParser, MultipartPart, parse_options_header
from pyramid.request import Request

from secretsvc.kernel.actors import Actor
from secretsvc.kernel.crypto import KeyRing
from secretsvc.kernel.errors import (
    BadRequest,
    Forbidden,
    FormTooOld,
    Issue,
    PreconditionFailed,
    SecretsvcError,
    ValidationFailed,
)
from secretsvc.web.query import once, parse_urlencoded
from secretsvc.web.schema import Body, Values, Variants, validate

#: The field that carries the token.
CSRF_FIELD = "csrf"
DAY_MS = 86_400_000
#: So many days a token is known by: a page that was open for longer is one that nobody can vouch for.
KNOWN_DAYS = 31
# The editor of as many keys as an environment may have sends up to eight fields for each.
MAX_FIELDS = 100_000
#: Files come with a few fields beside them.
MAX_PARTS = 100


class Problem(NamedTuple):
    """What is wrong with a form, in words; `field` is the id of the field that it is about."""

    field: str | None
    text: str


class Form:
    """What a page's form holds: the text typed so far, and what was wrong with it."""

    def __init__(self, values: Mapping[str, str] | None = None) -> None:
        self.values = dict(values or {})
        self.error: SecretsvcError | None = None
        self._labels: dict[str, tuple[str, str]] = {}
        self._issues: dict[str, str] = {}

    def __getitem__(self, name: str) -> str:
        """The text of a field, empty where it was not sent."""
        return self.values.get(name, "")

    def issue(self, *names: str) -> str | None:
        """What is wrong with the first of these fields that has anything wrong."""
        return next((self._issues[name] for name in names if name in self._issues), None)

    def refuse(self, error: SecretsvcError) -> None:
        """Notes why the form was not carried out."""
        self.error = error
        self._issues = {issue.path: issue.message for issue in self.issues}

    def label(self, path: str, label: str, field: str | None = None) -> None:
        """Says what people know a field by, where its name does not; `field` is its id, else its name is."""
        self._labels[path] = label, field or path

    @property
    def issues(self) -> tuple[Issue, ...]:
        """Why the form was not carried out, where that is about something in it."""
        if self.error is None:
            return ()
        about = self.error.about
        return self.error.issues or ((Issue(about, self.error.message),) if about else ())

    @property
    def seen(self) -> str | None:
        """The fingerprint of what it was drawn from; None where a client's own form has none."""
        return self.values.get("seen")

    @property
    def is_stale(self) -> bool:
        """Whether it was refused because what it was drawn from has changed."""
        return isinstance(self.error, PreconditionFailed)

    @property
    def headline(self) -> str:
        """Why the form was not carried out."""
        if self.issues:
            return "Please correct the following:"
        return self.error.message if self.error is not None else ""

    @property
    def problems(self) -> list[Problem]:
        """What is wrong, each with the label of its field."""
        return [self._problem(issue) for issue in self.issues]

    def _problem(self, issue: Issue) -> Problem:
        named = issue.path in self._labels or issue.path in self.values
        usual = issue.path.replace("_", " ").capitalize(), issue.path
        label, field = self._labels.get(issue.path, usual)
        return Problem(field if named else None, f"{label}: {issue.message}" if label else issue.message)

    def under(self, prefix: str) -> Iterator[tuple[str, str]]:
        """The fields whose names start with a prefix, each without it."""
        for name, value in self.values.items():
            if name.startswith(prefix):
                yield name.removeprefix(prefix), value

    def confirm(self, slug: str) -> None:
        """Passes where the slug of what is to be deleted was typed. Raises `ValidationFailed`."""
        if self["confirm"].strip() != slug:
            raise ValidationFailed.at("confirm", f"Type {slug} to confirm.")

    def read(self, schema: Body | Variants, *fields: str, **known: object) -> Values:
        """The named fields as the API's schema has them; a field left blank is null where null is allowed.

        `known` are values that are no text. Raises `ValidationFailed`.
        """
        typed = {name: self._typed(schema, name) for name in fields if name in self.values}
        return validate(schema, typed | known)

    def _typed(self, schema: Body | Variants, name: str) -> str | None:
        text = unix_lines(self.values[name])
        with suppress(KeyError, AttributeError):
            if not text.strip() and isinstance(schema, Body) and schema[name].typ.nullable:
                return None
        return text


def unix_lines(text: str) -> str:
    """The text as it was typed: browsers send each line of it with CR and LF."""
    return text.replace("\r\n", "\n")


def parse_form(request: Request) -> Form:
    """The fields of a request, files as text. Raises `BadRequest`, or `ValidationFailed`."""
    media, options = parse_options_header(request.headers.get("Content-Type", ""))
    if media == "application/x-www-form-urlencoded":
        return Form(parse_urlencoded(request.body, MAX_FIELDS, "form"))
    if media == "multipart/form-data":
        return Form(once(list(_parts(request.body, options.get("boundary", "")))))
    raise BadRequest("The form is malformed.")


def _parts(body: bytes, boundary: str) -> Iterator[tuple[str, str]]:
    # With room for the whole body in memory: what would not fit there is written to disk, values and all.
    room = {"memory_limit": len(body) + 1, "spool_limit": len(body) + 1, "part_limit": MAX_PARTS}
    try:
        parser = MultipartParser(io.BytesIO(body), boundary, len(body), strict=True, **room)
        for part in parser:
            yield part.name, _text(part)
    except (MultipartError, ValueError):
        raise BadRequest("The form is malformed.") from None


def _text(part: MultipartPart) -> str:
    if not part.filename:
        return str(part.raw.decode())
    try:
        return str(part.raw.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise BadRequest("The file is no text in UTF-8.") from None


def form_token(ring: KeyRing, actor: Actor, now: int) -> str:
    """The token of an identity's forms on one day; `now` in epoch milliseconds."""
    message = f"{actor.kind}|{actor.subject}|{now // DAY_MS}".encode()
    return hmac.new(ring.subkey(b"csrf"), message, hashlib.sha256).hexdigest()


def check_token(ring: KeyRing, actor: Actor, now: int, offered: str) -> None:
    """Passes for a token of today or yesterday. Raises `FormTooOld` for an older one of the same identity,
    else `Forbidden`.
    """
    # Bytes are compared, since text that is not ASCII would be an error of its own.
    days = (form_token(ring, actor, now - days * DAY_MS).encode() for days in range(KNOWN_DAYS))
    matches = [hmac.compare_digest(one, offered.encode()) for one in days]
    if any(matches[:2]):
        return
    if any(matches):
        raise FormTooOld
    raise Forbidden(
        "This form is too old, or not yours.",
        hint=f"You are signed in as {actor.subject}. The form was opened by somebody else, more than a month"
        " ago, or before the master key was changed.",
    )
