"""The page of one secret: its value, its versions, its like elsewhere, who reads it, and what can be done."""

from __future__ import annotations

from urllib.parse import urlencode

from pyramid.renderers import get_renderer

from secretsvc.access.domain.readers import readers
from secretsvc.kernel.authorization import Role, decide
from secretsvc.kernel.errors import PreconditionFailed
from secretsvc.secrets.domain import editor, key_history, related, writes
from secretsvc.secrets.domain.editor import Edits
from secretsvc.secrets.domain.history import reveal_version
from secretsvc.secrets.domain.key_history import KeyHistory
from secretsvc.secrets.domain.reads import reveal_secret
from secretsvc.secrets.queries.plan import CHANGED
from secretsvc.secrets.resources import Secret
from secretsvc.secrets.schemas import secrets as schemas
from secretsvc.secrets.ui import history_text
from secretsvc.secrets.ui.changes import ChangeRow, Side
from secretsvc.secrets.ui.editor import environment_of, revision_of
from secretsvc.secrets.ui.notices import saved
from secretsvc.secrets.ui.review import highlight_differences
from secretsvc.web.config import ServiceConfigurator
from secretsvc.web.forms import Form, unix_lines
from secretsvc.web.pages.directives import PageOptions, redirect_after_form
from secretsvc.web.query import parse_query
from secretsvc.web.request import ServiceRequest
from secretsvc.web.responses import RelativeResponse
from secretsvc.web.schema import validate
from secretsvc.web.tree import PAGES

TEMPLATES = "secretsvc.secrets:templates"
#: After so many seconds a page that shows a value gives way to one that does not.
SHOWN_SECONDS = 30
#: What has a panel of its own, by the name of the panel and of the form in it.
PANELS = ("describe", "rename", "rollback", "delete")
#: So many of those who can read it stand on the page.
READERS = 5
ROLLBACK = "secret.rollback"


def secret(context: Secret, request: ServiceRequest) -> object:
    """A secret's versions, what can be done with it, and, for administrators, who can read it and who did."""
    call, at, form = request.call, context.address, request.form
    query = parse_query(request.environ)
    asked = validate(schemas.SecretPageQuery(), {name: query[name] for name in ASKED if name in query})
    rolled_back = asked.pop("rollback", None)
    notice = {name: asked.pop(name, None) for name in NOTICES}
    history = key_history.key_history(call, at, context.__name__, **asked)
    # What was typed still belongs to the revision that it was typed at, unless this page says what is new.
    told = isinstance(form.error, PreconditionFailed)
    if told and (done := so_already(context, request, history)):
        return redirect_after_form(done, "unchanged")
    others = related.same_key_elsewhere(call, at, history)
    within = history.project_id, history.environment_id
    administers = decide(call.snapshot, at) is Role.ADMIN
    name_value_fields(form)
    refused = request.view_name if form.error else None
    return {
        "history": history,
        "others": history_text.elsewhere(others, f"/projects/{at.project}", context.__name__),
        "sources": {one.id: one.name for one in others},
        "readers": readers(call, at, within) if administers else None,
        "most_readers": READERS,
        "reads": related.recent_readers(call, at, history) if administers else None,
        "rev": history.rev if told else form.values.get("rev", history.rev),
        "open_panel": next((one for one in PANELS if one == refused or one in query), None),
        "to_version": form["to_version"] or rolled_back,
        "done": history_text.done(history, notice),
        "telling": history_text,
        "limit": call.settings.body_max_bytes,
        "own": get_renderer(f"{TEMPLATES}/secret-parts.pt").implementation().macros,
        "base": environment_of(context).path(PAGES),
        "copy_path": copy_key_path(context),
        "audit": audit_of(context),
    }


def so_already(context: Secret, request: ServiceRequest, history: KeyHistory) -> str | None:
    """Where a form leads after which all is as it asks for: it was sent twice, or somebody did the same."""
    form, newest, base = request.form, history.current, environment_of(context).path(PAGES)
    match request.view_name:
        case "delete" if history.deleted:
            return base
        case "describe" if unix_lines(form["description"]) == (history.description or ""):
            return context.path(PAGES)
        case "rename" if newest and history.deleted and newest.other_key == form["to"]:
            return f"{base}/secrets/{newest.other_key}"
        case "rollback" if newest and newest.action == ROLLBACK and str(newest.back_to) == form["to_version"]:
            return context.path(PAGES)
    return None


#: The parameters of the page that are numbers.
ASKED = ("left", "right", "before", "rollback", "rolled_back", "to", "renamed")
NOTICES = ("rolled_back", "to", "renamed")


def name_value_fields(form: Form) -> None:
    """Says what people know the fields of a new value by."""
    for issue in form.issues:
        if issue.path.partition(".")[0] in ("value", "empty", "set"):
            form.label(issue.path, "New value", "nv")


def copy_key_path(context: Secret) -> str:
    """Where the key is copied to other environments of its project."""
    at = context.address
    return f"/projects/{at.project}/compare?{urlencode({'from': at.environment, 'keys': context.__name__})}"


def audit_of(context: Secret) -> str:
    """Where the audit log tells of all that concerns the key."""
    at = context.address
    return (
        f"/audit?{urlencode({'project': at.project, 'environment': at.environment, 'key': context.__name__})}"
    )


def reveal(context: Secret, request: ServiceRequest) -> object:
    """Values on a page of their own: the current one, an older one, or two versions beside each other.

    Each is recorded. Nothing can be typed there that would go with it when it gives way.
    """
    call, at, key = request.call, context.address, context.__name__
    read = request.form.read(schemas.RevealForm(), "reason", "version", "left", "right")
    shown: dict[str, object] = {
        "key": key,
        "seconds": SHOWN_SECONDS,
        "row": None,
        "version": read.get("version"),
    }
    if read.get("left") and read.get("right"):
        two = read["left"], read["right"]
        first, second = (reveal_version(call, at, key, one, reason=read["reason"]).value for one in two)
        labels = Side(f"Version {two[0]}"), Side(f"Version {two[1]}")
        shown["row"] = ChangeRow(key, CHANGED, values=highlight_differences(labels, (first, second)))
    elif read.get("version"):
        shown["version"] = read["version"]
        shown["value"] = reveal_version(call, at, key, read["version"], reason=read["reason"]).value
    else:
        shown["value"] = reveal_secret(call, at, key, reason=read["reason"]).value
    request.response.headers["Refresh"] = f"{SHOWN_SECONDS};url={context.path(PAGES)}"
    return shown


def describe(context: Secret, request: ServiceRequest) -> object:
    """Changes the description alone, which writes no version."""
    form, key = request.form, context.__name__
    form.label("reason", "Reason")
    body = form.read(schemas.DescribeForm(), "description", "reason")
    edits = Edits({}, {key: body["description"]}, ())
    editor.edit_secrets(
        request.call, context.address, edits, expected_rev=revision_of(form), reason=body.get("reason")
    )
    return redirect_after_form(context.path(PAGES))


def rename(context: Secret, request: ServiceRequest) -> object:
    """Moves the secret to another key and leads on to it."""
    form = request.form
    form.label("to", "New key")
    body = form.read(schemas.RenameBody(), "to", "reason", **{"from": context.__name__})
    source, target, reason = body["from"], body["to"], body.get("reason")
    written = writes.rename_secret(
        request.call,
        context.address,
        source=source,
        target=target,
        reason=reason,
        expected_rev=revision_of(form),
    )
    version = next(one.version for one in written.changes if one.key == target)
    return _to(f"{environment_of(context).path(PAGES)}/secrets/{target}", renamed=version)


def rollback(context: Secret, request: ServiceRequest) -> object:
    """Writes an older version again, also of a deleted key, which brings it back.

    Whoever has done it, comes back and sends the form again has the present revision, and what it asks for.
    """
    form, call, key = request.form, request.call, context.__name__
    body = form.read(schemas.RollbackForm(), "to_version", "reason", key=key)
    if done := so_already(context, request, key_history.key_history(call, context.address, key)):
        return redirect_after_form(done, "unchanged")
    written = writes.rollback_secret(call, context.address, **body, expected_rev=revision_of(form))
    (change,) = written.changes
    return _to(context.path(PAGES), rolled_back=change.version, to=body["to_version"])


def delete(context: Secret, request: ServiceRequest) -> object:
    """Leaves a tombstone, and leads back to the environment, which says so and how to undo it."""
    key, read = context.__name__, request.form.read(schemas.ApplyForm(), "rev", "reason")
    rev, reason = read["rev"], read.get("reason")
    written = writes.batch_secrets(
        request.call, context.address, mode="merge", delete=[key], expected_rev=rev, reason=reason
    )
    return redirect_after_form(saved(environment_of(context).path(PAGES), written.rev, 1, deleted=key))


def _to(path: str, **told: int) -> RelativeResponse:
    """On to a page that says what was done, as long as what it shows bears it out."""
    return redirect_after_form(f"{path}?{urlencode(told)}")


def includeme(config: ServiceConfigurator) -> None:
    page: PageOptions[Secret] = {"context": Secret, "template": f"{TEMPLATES}/secret.pt"}
    config.add_page(secret, role=Role.READER, **page)
    revealed = f"{TEMPLATES}/revealed.pt"
    config.add_form(reveal, name="reveal", role=Role.READER, context=Secret, template=revealed)
    for name, form in (
        ("describe", describe),
        ("rename", rename),
        ("rollback", rollback),
        ("delete", delete),
    ):
        config.add_form(form, name=name, role=Role.WRITER, rerender=secret, **page)
