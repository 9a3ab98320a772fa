"""The editor of an environment: its keys without their values, with room for changes and for new ones."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import replace
from types import SimpleNamespace

from pyramid.events import BeforeRender
from pyramid.renderers import get_renderer

from secretsvc.kernel.authorization import Role, decide
from secretsvc.kernel.errors import DecryptFailed, NotFound, UnknownKid
from secretsvc.kernel.identifiers import is_secret_key
from secretsvc.kernel.transaction_mode import Mode
from secretsvc.projects.resources import Environment
from secretsvc.secrets.directives import sent
from secretsvc.secrets.domain import editor as editing_domain
from secretsvc.secrets.domain import exports, reads
from secretsvc.secrets.domain.editor import EditorState
from secretsvc.secrets.queries.rows import SECRET_NOT_FOUND
from secretsvc.secrets.resources import Secrets
from secretsvc.secrets.schemas import secrets as schemas
from secretsvc.secrets.ui.editor_fields import (
    changed_descriptions,
    mark_shown,
    name_editor_fields,
    rows_of,
    shows_value,
    typed_keys,
)
from secretsvc.secrets.ui.line_ends import copy, fields_beside
from secretsvc.secrets.ui.notices import notice_of
from secretsvc.secrets.ui.rows import WITH_MENUS, Shown, rows_shown, segments
from secretsvc.web.config import ServiceConfigurator
from secretsvc.web.error_codes import status_of
from secretsvc.web.forms import Form
from secretsvc.web.pages.directives import redirect_after_form
from secretsvc.web.query import parse_query
from secretsvc.web.request import ServiceRequest
from secretsvc.web.tree import PAGES, Node

#: How many rows for new secrets the editor has; of the empty ones it shows the first.
NEW_ROWS = 8
TEMPLATE = "secretsvc.secrets:templates/editor.pt"
#: What the menu of a row is made of that a script fills in.
BLANK = SimpleNamespace(is_deleted=False, is_empty=False, error=None, version=0)


def editor(context: Node, request: ServiceRequest, shown: Shown | None = None) -> object:
    """The secrets of an environment without their values, with room for changes and for new ones.

    What was typed for a key that is gone since stands in a row for a new one.
    """
    call, form, query = request.call, request.form, parse_query(request.environ)
    state = editing_domain.editor_state(call, context.address)
    shown = shown or Shown(menu=query.get("menu", ""))
    shown = replace(shown, text=query.get("q", ""), segment=form["show"] or query.get("show", ""))
    keys, new = {item.key for item in state.items}, query.get("new", "")
    if new in keys:
        # It was added meanwhile: its own row takes the focus.
        shown = replace(shown, copied=new)
    elif is_secret_key(new) and not form.values:
        form.values["new.1.key"] = new
    _keep_for_gone(form, state)
    name_editor_fields(form)
    rows = rows_shown(state, form, shown, call.now)
    path, role = context.path(PAGES), decide(call.snapshot, context.address)
    return {
        "state": state,
        "author": _author(state),
        "rev": form.values.get("rev", state.environment.rev),
        "rows": rows,
        "few": len(rows) <= WITH_MENUS,
        "blank": BLANK,
        "matches": sum(not row.is_hidden for row in rows),
        "readable": sum(row.error is None for row in rows),
        "hidden": _hidden(form, keys),
        "typed": any(text for name, text in form.values.items() if name.startswith(TYPED)),
        "new_rows": _new_rows(form, call.settings.env_max_secrets),
        "focused": "1" if "new" in query and new not in keys else None,
        "keys": keys,
        "segments": segments(state.items, call.now, path, shown.segment),
        "shown": shown,
        "notice": notice_of(query, state.environment),
        "writes": role is not None and role.implies(Role.WRITER),
        "limit": call.settings.body_max_bytes,
        **_links(context, request),
    }


#: The fields whose text is lost where the page is left.
TYPED = ("value.", "new.", "empty.", "delete.", "paste")


def _links(context: Node, request: ServiceRequest) -> dict[str, object]:
    labels, project = request.registry.formats.labels, context.address.project
    formats = [(name, labels[name]) for name in request.registry.formats.writers]
    compare = f"/projects/{project}/compare?to={context.address.environment}"
    return {"formats": formats, "compare": compare, "copy": copy_keys_path(context)}


def copy_keys_path(context: Node) -> str:
    """Where keys of the environment are copied to another; `keys` is to be added."""
    return f"/projects/{context.address.project}/compare?from={context.address.environment}"


def _keep_for_gone(form: Form, state: EditorState) -> None:
    described = changed_descriptions(form)
    for key in sorted(typed_keys(form) - {item.key for item in state.items}):
        form.values[f"new.of-{key}.key"] = key
        copy(form, f"value.{key}", f"new.of-{key}.value")
        form.values[f"new.of-{key}.description"] = described.get(key) or ""


def _author(state: EditorState) -> str:
    """Who made the present revision, if it wrote a value."""
    newest = max(state.authors.values(), key=lambda one: one.created_at, default=None)
    return newest.author if newest and newest.created_at == state.environment.updated_at else ""


def _hidden(form: Form, keys: Set[str]) -> dict[str, str]:
    """Return the fields that stand in no row: exact texts, and descriptions that were typed elsewhere."""
    described = {f"{prefix}{key}" for prefix in ("description.", "was.") for key in keys}
    return fields_beside(form) | {name: form[name] for name in sorted(described & form.values.keys())}


def _new_rows(form: Form, limit: int) -> list[str]:
    rows = rows_of(form)[:limit]
    free = (str(number) for number in range(1, limit + NEW_ROWS + 1) if str(number) not in rows)
    blank = sum(not form[f"new.{row}.key"] for row in rows)
    while len(rows) < limit and (len(rows) < NEW_ROWS or not blank):
        rows.append(next(free))
        blank += 1
    return rows


def show(context: Node, request: ServiceRequest) -> object | None:
    """The editor with what one of its buttons asks for beside all that was typed; None for no such button."""
    form, given = request.form, frozenset[str]()
    act, key = next(((name, form[name]) for name in BUTTONS if form[name]), ("", ""))
    for name in BUTTONS:
        form.values.pop(name, None)
    beside: Mapping[str, str] = {}
    if act in REVEALING:
        try:
            beside = _values(request, context, act, key)
        except (NotFound, DecryptFailed, UnknownKid) as error:
            form.refuse(error)
            request.response.status_int = status_of(request, error)
    elif act == "mask":
        form.values.pop(f"value.{key}", None)
        form.values.pop(f"shown.{key}", None)
    elif not act:
        return None
    for one, value in beside.items():
        if not form[f"value.{one}"]:
            mark_shown(request.call, form, one, value)
    given = frozenset(one for one, mark in form.under("shown.") if shows_value(request.call, form, one, mark))
    beside = {one: value for one, value in beside.items() if one not in given}
    copied, menu = (key if act == name else "" for name in ("copy", "menu"))
    return editor(context, request, Shown(open=given, beside=beside, copied=copied, menu=menu))


#: The buttons that show values.
REVEALING = ("reveal", "copy", "reveal-all")
#: The buttons of rows; the value of each is a key.
BUTTONS = (*REVEALING, "mask", "menu")


def _values(request: ServiceRequest, context: Node, act: str, key: str) -> Mapping[str, str]:
    if act == "reveal-all":
        return reads.reveal_secrets(request.call, context.address, "reveal")
    if not is_secret_key(key):
        raise NotFound(SECRET_NOT_FOUND)
    return {key: reads.reveal_secret(request.call, context.address, key, reason=act).value}


def mode_of_reveal(request: ServiceRequest) -> Mode:
    """A form that reveals no value only reads."""
    return Mode.WRITE if any(request.form[name] for name in REVEALING) else Mode.SNAPSHOT


def read(context: Environment, request: ServiceRequest) -> object:
    """What who only reads may ask for: the page with values, or with the menu of a row."""
    request.view_name = ""
    return show(context, request) or redirect_after_form(context.path(PAGES))


def revision_of(form: Form) -> int | None:
    """The revision that a form was drawn from, None for one that takes any. Raises `ValidationFailed`."""
    rev: int | None = form.read(schemas.ApplyForm(), "rev")["rev"]
    return rev


def editor_of(context: Secrets, _request: ServiceRequest) -> object:
    """The address of the secrets themselves leads to their environment's editor."""
    return redirect_after_form(environment_of(context).path(PAGES))


def export_file(context: Environment, request: ServiceRequest) -> object:
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


def add_macros(event: BeforeRender) -> None:
    """Gives the editor's templates its macros, as `editing`."""
    if event["renderer_name"] == TEMPLATE:
        event["editing"] = get_renderer("secretsvc.secrets:templates/editing.pt").implementation().macros


def includeme(config: ServiceConfigurator) -> None:
    """Declares the page, and the download of every value."""
    config.add_assets("secretsvc.secrets")
    config.add_subscriber(add_macros, BeforeRender)
    config.add_page(editor, context=Environment, role=Role.READER, template=TEMPLATE)
    config.add_tab("Secrets", context=Environment, role=Role.READER, order=10)
    config.add_page(editor_of, context=Secrets, role=Role.READER)
    config.add_form(export_file, context=Environment, name="export", role=Role.READER, mode=Mode.AUTOCOMMIT)
    config.add_form(
        read, context=Environment, name="read", role=Role.READER, template=TEMPLATE, mode=mode_of_reveal
    )
