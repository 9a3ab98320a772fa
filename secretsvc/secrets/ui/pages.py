"""The pages of secrets: the matrix of a project, the editor of an environment, and a single secret."""

from __future__ import annotations

from secretsvc.access.domain.readers import readers
from secretsvc.kernel.authorization import Role, decide
from secretsvc.kernel.errors import PreconditionFailed
from secretsvc.projects.resources import Environment, Project
from secretsvc.secrets.directives import sent
from secretsvc.secrets.domain import editing as editing_domain
from secretsvc.secrets.domain import exports, reading, writing
from secretsvc.secrets.domain import matrix as matrix_domain
from secretsvc.secrets.domain.place import find_place
from secretsvc.secrets.resources import Secret, Secrets
from secretsvc.secrets.schemas import secrets as schemas
from secretsvc.web.config import ServiceConfigurator
from secretsvc.web.forms import Form
from secretsvc.web.pages import Drawn, see_other
from secretsvc.web.query import parse_query
from secretsvc.web.request import ServiceRequest
from secretsvc.web.tree import PAGES, Node
from secretsvc.web.views import VISIBLE

#: How many rows for new secrets the editor offers where nothing adds more.
NEW_ROWS = 3
#: After so many seconds a page that shows a value gives way to one that does not.
SHOWN_SECONDS = 30


def matrix(context: Project, request: ServiceRequest) -> object:
    """Keys against environments, filtered by `q` and by `missing`."""
    query = parse_query(request.environ)
    text, missing_only = query.get("q", ""), "missing" in query
    found = matrix_domain.key_matrix(request.call, context.address, text, missing_only=missing_only)
    return {"matrix": found, "text": text, "missing_only": missing_only}


def editor(context: Environment, request: ServiceRequest) -> object:
    """The secrets of an environment without their values, with room for changes and for new ones.

    What was typed for a key that is gone since stands in a row for a new one.
    """
    state, form = editing_domain.editor_state(request.call, context.address), request.form
    for key in sorted(typed_keys(form) - {item.key for item in state.items}):
        for name, text in (("key", key), ("value", form[f"value.{key}"])):
            form.values[f"new.of-{key}.{name}"] = text
        form.values[f"new.of-{key}.description"] = form[f"description.{key}"]
    rows = rows_of(form)[: request.call.settings.env_max_secrets]
    labels = request.registry.formats.labels
    formats = [(name, labels[name]) for name in request.registry.formats.writers]
    return {"state": state, "new_rows": rows or [str(row) for row in range(NEW_ROWS)], "formats": formats}


def rows_of(form: Form) -> list[str]:
    """The names of the rows for new secrets that the editor's form has, in their order."""
    typed = {name.partition(".")[0] for name, _ in form.under("new.")}
    return sorted(typed, key=lambda name: (len(name), name))


def typed_keys(form: Form) -> set[str]:
    """The keys for which something else was typed than there was."""
    return {key for key, text in form.under("value.") if text} | changed_descriptions(form).keys()


def changed_descriptions(form: Form) -> dict[str, str | None]:
    """The descriptions that are others than they were, by key; None for a blank one.

    Browsers take the line breaks out of what they show on one line.
    """
    return {
        key: text.strip() or None
        for key, text in form.under("description.")
        if _on_one_line(text) != _on_one_line(form[f"was.{key}"])
    }


def _on_one_line(text: str) -> str:
    return text.translate({ord("\r"): None, ord("\n"): None}).strip()


def revision_of(form: Form) -> int | None:
    """The revision that a form was drawn from, None for one that takes any. Raises `ValidationFailed`."""
    rev: int | None = form.read(schemas.ApplyForm(), "rev")["rev"]
    return rev


def editor_of(context: Secrets, _request: ServiceRequest) -> object:
    """The address of the secrets themselves leads to their environment's editor."""
    return see_other(_environment(context).path(PAGES))


def secret(context: Secret, request: ServiceRequest) -> object:
    """A secret's versions, what can be done with it, and, for administrators, who can read it."""
    call, at, form = request.call, context.address, request.form
    history = editing_domain.key_history(call, at, context.__name__)
    who = readers(call, at) if decide(call.snapshot, at) is Role.ADMIN else None
    # What was typed still belongs to the revision that it was typed at, unless this page says what is new.
    told = isinstance(form.error, PreconditionFailed)
    rev = history.rev if told else form.values.get("rev", history.rev)
    return {"history": history, "rev": rev, "readers": who}


def reveal(context: Secret, request: ServiceRequest) -> object:
    """The value on a page of its own, for a while: nothing can be typed there that would go with it."""
    read = schemas.RevealQuery()
    reason = request.form.read(read, "reason")["reason"]
    shown = reading.reveal_secret(request.call, context.address, context.__name__, reason)
    request.response.headers["Refresh"] = f"{SHOWN_SECONDS};url={context.path(PAGES)}"
    return {"shown": shown, "seconds": SHOWN_SECONDS}


def rename(context: Secret, request: ServiceRequest) -> object:
    """Moves the secret to another key and leads on to it."""
    form = request.form
    body = form.read(schemas.RenameBody(), "to", "reason", **{"from": context.__name__})
    source, target, reason = body["from"], body["to"], body.get("reason")
    writing.rename_secret(
        request.call, context.address, source, target, reason, expected_rev=revision_of(form)
    )
    return see_other(f"{_environment(context).path(PAGES)}/secrets/{target}", "renamed")


def rollback(context: Secret, request: ServiceRequest) -> object:
    """Writes an older version again."""
    form = request.form
    body = form.read(schemas.RollbackForm(), "to_version", "reason", key=context.__name__)
    writing.rollback_secret(request.call, context.address, **body, expected_rev=revision_of(form))
    return see_other(context.path(PAGES), "rolled-back")


def delete(context: Secret, request: ServiceRequest) -> object:
    """Leaves a tombstone, and leads back to the environment."""
    gone, read = [context.__name__], request.form.read(schemas.ApplyForm(), "rev", "reason")
    rev, reason = read["rev"], read.get("reason")
    writing.batch_secrets(
        request.call, context.address, mode="merge", delete=gone, expected_rev=rev, reason=reason
    )
    return see_other(_environment(context).path(PAGES), "deleted")


def export(context: Environment, request: ServiceRequest) -> object:
    """Every value as a file."""
    query = request.form.read(schemas.ExportQuery(request.registry.formats.writers), "format")
    write = request.registry.formats.writers[query["format"]].writer(None, context.__name__)
    file = exports.export_file(request.call, context.address, write, query["reason"])
    response = sent(request, query["format"], file.content)
    name = "-".join(filter(None, (context.address.project, context.__name__)))
    response.headers["Content-Disposition"] = f'attachment; filename="{name}.{query["format"]}"'
    return response


def _environment(context: Node) -> Environment:
    return next(node for node in context.lineage() if isinstance(node, Environment))


def includeme(config: ServiceConfigurator) -> None:
    """Declares the pages."""
    config.add_assets("secretsvc.secrets")
    config.set_place(find_place)
    templates = "secretsvc.secrets:templates"
    config.add_page(matrix, context=Project, role=VISIBLE, template=f"{templates}/matrix.pt")
    config.add_tab("All keys", context=Project, role=VISIBLE, order=10, icon="grid-3x3")
    config.add_page(editor, context=Environment, role=Role.READER, template=f"{templates}/editor.pt")
    config.add_tab("Secrets", context=Environment, role=Role.READER, order=10)
    config.add_page(editor_of, context=Secrets, role=Role.READER)
    config.add_form(export, context=Environment, name="export", role=Role.READER)
    config.add_done("renamed", "Renamed.")
    config.add_done("rolled-back", "Written again as a new version.")
    page: Drawn[Secret] = {"context": Secret, "template": f"{templates}/secret.pt"}
    config.add_page(secret, role=Role.READER, **page)
    revealed = f"{templates}/revealed.pt"
    config.add_form(reveal, name="reveal", role=Role.READER, context=Secret, template=revealed)
    for name, form in (
        ("rename", rename),
        ("rollback", rollback),
        ("delete", delete),
    ):
        config.add_form(form, name=name, role=Role.WRITER, redraw=secret, **page)
