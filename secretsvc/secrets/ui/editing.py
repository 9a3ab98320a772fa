"""Forms that change an environment: each is reviewed as a dry run, named key by key, before it is applied.

There is no session to keep what was typed: the pages hand it on to each other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypedDict, Unpack

from secretsvc.kernel.authorization import Address, Role
from secretsvc.kernel.errors import Issue, PayloadTooLarge, PreconditionFailed, ValidationFailed
from secretsvc.kernel.grammar import is_secret_key
from secretsvc.projects.resources import Environment
from secretsvc.secrets.domain import editing as editing_domain
from secretsvc.secrets.domain import exports, writing
from secretsvc.secrets.domain.editing import Edits
from secretsvc.secrets.resources import Secret
from secretsvc.secrets.rules.exporting import write_env
from secretsvc.secrets.rules.writing import Written
from secretsvc.secrets.schemas import secrets as schemas
from secretsvc.secrets.ui.editor import changed_descriptions, editor, revision_of, rows_of
from secretsvc.secrets.ui.secret import secret
from secretsvc.web.config import ServiceConfigurator
from secretsvc.web.forms import Form, unix_lines
from secretsvc.web.pages import REFUSALS, Drawn, see_other
from secretsvc.web.request import ServiceRequest, View
from secretsvc.web.schema import validate
from secretsvc.web.tree import PAGES, Node

TEMPLATES = "secretsvc.secrets:templates"


class Options(TypedDict, total=False):
    """How a draft is written, as the use cases take it."""

    dry_run: bool
    expected_rev: int | None
    reason: str | None


@dataclass(frozen=True, slots=True)
class Draft:
    """A kind of change: its page, what writes it, and which of its fields hold what was typed."""

    name: str
    template: str
    page: Callable[..., object]
    write: Callable[..., Written]
    carried_fields: Callable[[Form], dict[str, str]]


def import_page(_context: Environment, request: ServiceRequest) -> object:
    """Room for a file's text."""
    labels = request.registry.formats.labels
    formats = [(name, labels[name]) for name in request.registry.formats.readers]
    accepted = [*(f".{name}" for name, _ in formats), "text/plain", "application/json"]
    return {"formats": formats, "accepted": ",".join(accepted)}


def text_page(_context: Environment, request: ServiceRequest) -> object:
    """The environment as dotenv text; empty until it is asked for."""
    return {
        "content": request.form["content"],
        "rev": request.form["rev"],
        "loaded": bool(request.form["rev"]),
    }


def load_text(context: Environment, request: ServiceRequest) -> object:
    """Every value, to be edited."""
    exported = exports.export_secrets(request.call, context.address, "reveal")
    return {"content": write_env(exported.secrets), "rev": exported.rev, "loaded": True}


def write_edits(request: ServiceRequest, at: Address, form: Form, **options: Unpack[Options]) -> Written:
    """The editor's rows. Raises `PayloadTooLarge` for more new ones than an environment holds."""
    limit = request.call.settings.env_max_secrets
    if len(rows_of(form)) > limit:
        raise PayloadTooLarge(
            f"An environment holds at most {limit} secrets.",
            hint=f"Of the rows for new ones this page has kept the first {limit}.",
        )
    return editing_domain.edit_secrets(request.call, at, read_edits(form), **options)


def write_import(request: ServiceRequest, at: Address, form: Form, **options: Unpack[Options]) -> Written:
    """A file's text."""
    body = {
        "format": form["format"],
        "mode": form["mode"],
        "content": unix_lines(form["file"] or form["content"]),
    }
    formats = request.registry.formats
    read = formats.take(validate(schemas.ImportBody(formats.readers), body))
    return writing.import_secrets(request.call, at, **read | dict(options))


def write_text(request: ServiceRequest, at: Address, form: Form, **options: Unpack[Options]) -> Written:
    """The environment's own text."""
    return editing_domain.rewrite_as_text(request.call, at, unix_lines(form["content"]), **options)


def read_edits(form: Form) -> Edits:
    """What the rows of the editor ask for. Raises `ValidationFailed` with an issue for each field at fault.

    A value left blank stays, be it in a row for a new secret whose key is there already; an empty one is
    asked for by itself. A description counts where it is another than it was.
    """
    values = {key: unix_lines(text) for key, text in form.under("value.") if text}
    described = changed_descriptions(form)
    issues = []
    for key in _marked(form, "empty."):
        if key in values:
            issues.append(Issue(f"empty.{key}", "A value was typed as well: take out one of the two."))
        values[key] = ""
    blank = set()
    for row, key in _new_keys(form):
        if not is_secret_key(key):
            issues.append(Issue(f"new.{row}.key", schemas.KEY_GRAMMAR))
        elif key in values:
            issues.append(Issue(f"new.{row}.key", "Given twice."))
        else:
            values[key] = unix_lines(form[f"new.{row}.value"])
            described |= _new_description(form, row, key)
            blank |= set() if values[key] else {key}
    if issues:
        raise ValidationFailed(issues=tuple(issues))
    body = {"mode": "merge", "set": values, "descriptions": described, "delete": _marked(form, "delete.")}
    read = validate(schemas.BatchBody(), body)
    typed = {key: value for key, value in read["set"].items() if key not in blank}
    return Edits(typed, read["descriptions"], read["delete"], blank)


def _new_keys(form: Form) -> list[tuple[str, str]]:
    """The rows for new secrets that are not blank, by their number."""
    rows = {name.partition(".")[0] for name, text in form.under("new.") if text.strip()}
    return [(row, form[f"new.{row}.key"].strip()) for row in sorted(rows)]


def _new_description(form: Form, row: str, key: str) -> dict[str, str | None]:
    typed = form[f"new.{row}.description"].strip()
    return {key: typed} if typed else {}


def _marked(form: Form, prefix: str) -> list[str]:
    return [key for key, mark in form.under(prefix) if mark]


def carried_edits(form: Form) -> dict[str, str]:
    """The editor's fields of the rows that change; the others are drawn as they are."""
    edits = read_edits(form)
    keys = {*edits.values, *edits.descriptions, *edits.removals}
    return {
        name: text
        for name, text in form.values.items()
        if name.startswith("new.") or (name.startswith(_ROW_FIELDS) and name.partition(".")[2] in keys)
    }


def named_fields(*names: str) -> Callable[[Form], dict[str, str]]:
    """Those of a form that has no rows."""
    return lambda form: {name: form[name] for name in names if form[name]}


_ROW_FIELDS = ("value.", "empty.", "was.", "description.", "delete.")
EDIT = Draft("edit", "editor", editor, write_edits, carried_edits)
IMPORT = Draft(
    "import", "import", import_page, write_import, named_fields("content", "file", "format", "mode")
)
WRITE = Draft("write", "secret", secret, write_edits, carried_edits)
TEXT = Draft("text", "text", text_page, write_text, named_fields("content"))


def review(draft: Draft, context: Node, request: ServiceRequest) -> object:
    """What a draft would do, if it were applied at the revision that it was drawn from."""
    form = request.form
    rev = revision_of(form)
    planned = draft.write(request, context.address, form, dry_run=True, expected_rev=rev)
    own = _kinds(planned)
    return _reviewed(draft, form, planned.rev, own) if own else see_other(context.path(PAGES), "unchanged")


def apply(draft: Draft, context: Node, request: ServiceRequest) -> object:
    """Writes a reviewed draft, or nothing where the environment has moved on."""
    form = request.form
    read = form.read(schemas.ApplyForm(), "rev", "reason")
    expected, reason = read["rev"], read.get("reason")
    written = draft.write(request, context.address, form, expected_rev=expected, reason=reason)
    return see_other(context.path(PAGES), "written" if _kinds(written) else "unchanged")


def redrawn(draft: Draft, context: Node, request: ServiceRequest) -> object:
    """After a refusal: own and concurrent changes if the revision is stale, else the draft's page.

    Where only the reason is missing, it is the review, which asks for it.
    """
    form = request.form
    issues = form.error.issues if form.error else ()
    if [issue.path for issue in issues] == ["reason"]:
        try:
            return review(draft, context, request)
        except REFUSALS as error:
            form.refuse(error)
    if not isinstance(form.error, PreconditionFailed):
        return back_to_edit(draft, context, request)
    rev, concurrent = editing_domain.written_since(request.call, context.address, revision_of(form) or 0)
    try:
        # Against the present state, so that what applying it again would do is known.
        planned = draft.write(request, context.address, form, dry_run=True)
    except REFUSALS as error:
        # It conflicts with the concurrent changes, and can only be typed anew.
        form.refuse(error)
        return back_to_edit(draft, context, request)
    return _reviewed(draft, form, rev, _kinds(planned)) | {"concurrent": concurrent}


def back_to_edit(draft: Draft, context: Node, request: ServiceRequest) -> object:
    """The draft's page with what was typed."""
    request.override_renderer = f"{TEMPLATES}/{draft.template}.pt"
    return draft.page(context, request)


def _kinds(written: Written) -> dict[str, str]:
    """What happens to each key, sorted by them."""
    kinds = {change.key: change.kind for change in written.changes} | dict.fromkeys(
        written.described, "described"
    )
    return dict(sorted(kinds.items()))


def _reviewed(draft: Draft, form: Form, rev: int, own: Mapping[str, str]) -> dict[str, object]:
    stale = isinstance(form.error, PreconditionFailed)
    known = {"draft": draft, "own": own, "concurrent": [], "rev": rev, "stale": stale}
    return known | {"carried_fields": draft.carried_fields(form)}


def _bound(act: Callable[[Draft, Node, ServiceRequest], object], draft: Draft) -> View:
    return lambda context, request: act(draft, context, request)


def includeme(config: ServiceConfigurator) -> None:
    """Declares the pages and the forms; those who only read see neither."""
    role = Role.WRITER
    config.add_page(
        import_page, context=Environment, name="import", template=f"{TEMPLATES}/import.pt", role=role
    )
    text: Drawn[Environment] = {"context": Environment, "template": f"{TEMPLATES}/text.pt"}
    config.add_page(text_page, name="text", role=role, **text)
    config.add_form(load_text, name="text", role=role, **text)
    config.add_tab("Import", context=Environment, name="import", role=Role.WRITER, order=20)
    config.add_tab("Edit as text", context=Environment, name="text", role=Role.WRITER, order=30)
    config.add_done("written", "Written.")
    written: Drawn[Secret] = {"context": Secret, "template": f"{TEMPLATES}/review.pt"}
    for name, act in (("review", review), ("apply", apply), ("again", back_to_edit)):
        redraw, name = _bound(redrawn, WRITE), f"{WRITE.name}-{name}"
        config.add_form(_bound(act, WRITE), name=name, role=role, redraw=redraw, **written)
    reviewed: Drawn[Environment] = {"context": Environment, "template": f"{TEMPLATES}/review.pt"}
    for draft in (EDIT, IMPORT, TEXT):
        redraw = _bound(redrawn, draft)
        for name, act in (("review", review), ("apply", apply), ("again", back_to_edit)):
            name = f"{draft.name}-{name}"
            config.add_form(_bound(act, draft), name=name, role=role, redraw=redraw, **reviewed)
