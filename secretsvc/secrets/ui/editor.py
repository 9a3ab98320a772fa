"""The editor of an environment: its keys without their values, with room for changes and for new ones."""

from __future__ import annotations

from secretsvc.kernel.authorization import Role
from secretsvc.projects.resources import Environment
from secretsvc.secrets.directives import sent
from secretsvc.secrets.domain import editing as editing_domain
from secretsvc.secrets.domain import exports
from secretsvc.secrets.resources import Secrets
from secretsvc.secrets.schemas import secrets as schemas
from secretsvc.web.config import ServiceConfigurator
from secretsvc.web.forms import Form
from secretsvc.web.pages import see_other
from secretsvc.web.request import ServiceRequest
from secretsvc.web.tree import PAGES, Node

#: How many rows for new secrets the editor offers where nothing adds more.
NEW_ROWS = 3


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
    return see_other(environment_of(context).path(PAGES))


def export(context: Environment, request: ServiceRequest) -> object:
    """Every value as a file."""
    query = request.form.read(schemas.ExportQuery(request.registry.formats.writers), "format")
    write = request.registry.formats.writers[query["format"]].writer(None, context.__name__)
    file = exports.export_file(request.call, context.address, write, query["reason"])
    response = sent(request, query["format"], file.content)
    name = "-".join(filter(None, (context.address.project, context.__name__)))
    response.headers["Content-Disposition"] = f'attachment; filename="{name}.{query["format"]}"'
    return response


def environment_of(context: Node) -> Environment:
    """The environment that a node lies in."""
    return next(node for node in context.lineage() if isinstance(node, Environment))


def includeme(config: ServiceConfigurator) -> None:
    """Declares the page, and the download of every value."""
    config.add_assets("secretsvc.secrets")
    template = "secretsvc.secrets:templates/editor.pt"
    config.add_page(editor, context=Environment, role=Role.READER, template=template)
    config.add_tab("Secrets", context=Environment, role=Role.READER, order=10)
    config.add_page(editor_of, context=Secrets, role=Role.READER)
    config.add_form(export, context=Environment, name="export", role=Role.READER)
