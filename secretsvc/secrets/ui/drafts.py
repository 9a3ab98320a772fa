"""Kinds of change that people draft: how each is read from its form, written, and carried by its review.

There is no session to keep what was typed: the pages hand it on to each other.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Unpack

from secretsvc.kernel.authorization import ScopePath
from secretsvc.kernel.errors import ValidationFailed
from secretsvc.kernel.text_areas import Restore, exactly, line_feeds, with_line_ends, with_nul
from secretsvc.projects.resources import Environment
from secretsvc.secrets.domain import editor as editing_domain
from secretsvc.secrets.domain import exports
from secretsvc.secrets.formats.exports import write_env
from secretsvc.secrets.formats.imports import read_env
from secretsvc.secrets.schemas import secrets as schemas
from secretsvc.secrets.ui import line_ends
from secretsvc.secrets.ui.editor import editor
from secretsvc.secrets.ui.editor_fields import (
    carried_edits,
    check_rows,
    drop_shown,
    name_editor_fields,
    read_edits,
)
from secretsvc.secrets.ui.secret import secret
from secretsvc.secrets.write.write import WriteOptions, WriteOutcome
from secretsvc.web.forms import Form
from secretsvc.web.request import ServiceRequest
from secretsvc.web.schema import Values, validate


@dataclass(frozen=True, slots=True)
class Draft:
    """A kind of change: its page, what writes it, what it gives, and which of its fields hold what was typed.

    `by_key` says that each key was typed by itself: one whose value is as it was is told of, and in a
    conflict each can be given up. `restore` makes the value that was meant of what a page sent, except for
    `exact_keys`, whose values are meant as they are. `tab` is the name of its page's view;
    `enctype` is how its forms are sent: urlencoded, a file's text would be longer than a form may be.
    """

    name: str
    tab: str
    template: str
    page: Callable[..., object]
    write: Callable[..., WriteOutcome]
    values: Callable[[ServiceRequest, Form], Mapping[str, str]]
    carried_fields: Callable[[Form], dict[str, str]]
    by_key: bool
    restore: Restore = exactly
    exact_keys: Callable[[Form], Collection[str]] = lambda _form: ()
    enctype: str | None = None


def import_page(_context: Environment, request: ServiceRequest) -> object:
    """Room for a file's text."""
    labels, form = request.registry.formats.labels, request.form
    formats = [(name, labels[name]) for name in request.registry.formats.readers]
    accepted = [*(f".{name}" for name, _ in formats), "text/plain", "application/json"]
    name_editor_fields(form)
    limit = request.call.settings.body_max_bytes
    beside = line_ends.text_fields("content", text_of_file(form)).get(f"{line_ends.PREFIX}content")
    return {"formats": formats, "accepted": ",".join(accepted), "limit": limit, "exact": beside}


def text_page(_context: Environment, request: ServiceRequest) -> object:
    """The environment as dotenv text; empty until it is asked for."""
    form = request.form
    name_editor_fields(form)
    known = {"content": form["content"], "rev": form["rev"], "loaded": bool(form["rev"])}
    return known | {"limit": request.call.settings.body_max_bytes, "shown": ""}


def load_text(context: Environment, request: ServiceRequest) -> object:
    """Every value, to be edited."""
    exported = exports.export_secrets(request.call, context.address, "reveal")
    limit = request.call.settings.body_max_bytes
    content = write_env(exported.secrets)
    return {"content": content, "rev": exported.rev, "loaded": True, "limit": limit, "shown": "shown"}


def write_edits(
    request: ServiceRequest, at: ScopePath, form: Form, **options: Unpack[WriteOptions]
) -> WriteOutcome:
    """The editor's rows. Raises `PayloadTooLarge` for more new ones than an environment holds."""
    check_rows(form, request.call.settings.env_max_secrets)
    drop_shown(request.call, form)
    return editing_domain.edit_secrets(request.call, at, read_edits(form), **options)


def values_of_edits(_request: ServiceRequest, form: Form) -> Mapping[str, str]:
    """The values that were typed."""
    edits = read_edits(form)
    return {**dict.fromkeys(edits.blank, ""), **edits.values}


def write_import(
    request: ServiceRequest, at: ScopePath, form: Form, **options: Unpack[WriteOptions]
) -> WriteOutcome:
    """A file's text."""
    return editing_domain.rewrite(request.call, at, **_import(request, form), **options)


def values_of_import(request: ServiceRequest, form: Form) -> Mapping[str, str]:
    """The values that the file holds."""
    body = _import(request, form)
    found: Mapping[str, str] = body["read"](body["content"], request.call.settings.env_max_secrets)
    return found


def _import(request: ServiceRequest, form: Form) -> Values:
    formats = request.registry.formats
    if form["file"] and form["content"]:
        raise ValidationFailed.at("file", "Give either a file or text: here are both, and nothing was read.")
    body = {"format": form["format"], "mode": form["mode"], "content": text_of_file(form)}
    read = formats.take(validate(schemas.ImportBody(formats.readers), body))
    return {name: read[name] for name in ("read", "mode", "content")}


def write_text(
    request: ServiceRequest, at: ScopePath, form: Form, **options: Unpack[WriteOptions]
) -> WriteOutcome:
    """The environment's own text."""
    content = line_feeds(form["content"])
    return editing_domain.rewrite(request.call, at, content, restore=with_nul, **options)


def values_of_text(request: ServiceRequest, form: Form) -> Mapping[str, str]:
    """The values that the text holds."""
    return read_env(line_feeds(form["content"]), request.call.settings.env_max_secrets)


def text_of_file(form: Form) -> str:
    """The text of an import, the same whether a script has read the file or the browser has sent it."""
    return line_ends.text_of(form, "file" if form["file"] else "content", line_feeds)


def carried_text(form: Form) -> dict[str, str]:
    """The environment's own text."""
    return {"content": form["content"]} if form["content"] else {}


def carried_file(form: Form) -> dict[str, str]:
    """The text of an import, and how it is read."""
    fields = line_ends.text_fields("content", text_of_file(form))
    fields |= {name: form[name] for name in ("format", "mode")}
    return {name: text for name, text in fields.items() if text}


EDIT = Draft(
    "edit",
    "",
    "editor",
    editor,
    write_edits,
    values_of_edits,
    carried_edits,
    by_key=True,
    restore=with_line_ends,
    exact_keys=lambda form: read_edits(form).exact,
)
WRITE = replace(EDIT, name="write", template="secret", page=secret)
IMPORT = Draft(
    "import",
    "import",
    "import",
    import_page,
    write_import,
    values_of_import,
    carried_file,
    by_key=False,
    enctype="multipart/form-data",
)
TEXT = Draft(
    "text",
    "text",
    "text",
    text_page,
    write_text,
    values_of_text,
    carried_text,
    by_key=False,
    restore=with_nul,
)
