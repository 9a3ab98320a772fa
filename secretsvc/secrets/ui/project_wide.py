"""A key is renamed or deleted in all environments of its project: the page that asks, and what it does."""

from __future__ import annotations

from collections.abc import Sequence

from secretsvc.kernel.errors import NotFound, PreconditionFailed
from secretsvc.projects.resources import Project
from secretsvc.secrets.domain import project_wide as domain
from secretsvc.secrets.schemas import secrets as schemas
from secretsvc.web.config import ServiceConfigurator
from secretsvc.web.pages.directives import PageOptions, redirect_after_form
from secretsvc.web.pages.html_helpers import enumeration
from secretsvc.web.pages.layout import PageLayout
from secretsvc.web.query import parse_query
from secretsvc.web.request import ServiceRequest
from secretsvc.web.schema import validate
from secretsvc.web.tree import PAGES
from secretsvc.web.views import VISIBLE

RENAME, DELETE = "rename-everywhere", "delete-everywhere"
#: Before the slug of each environment, in the names of the fields that hold the revisions that were seen.
REV = "rev."


def everywhere_page(context: Project, request: ServiceRequest) -> object:
    """The environments that have a key, and the form; without one the matrix, to choose it.

    After a refusal that comes of all being done already, the matrix too.
    """
    form, asked = request.form, parse_query(request.environ).get("key", "")
    if not asked and form.error is None:
        return redirect_after_form(context.path(PAGES))
    key = validate(schemas.KeyQuery(), {"key": form["key"] or asked})["key"]
    form.label("to", "New key")
    if isinstance(form.error, PreconditionFailed) and _is_done(context, request, key):
        return redirect_after_form(context.path(PAGES), "unchanged")
    found = domain.environments_with_key(request.call, context.address, key)
    return {
        "key": key,
        "renames": request.view_name == RENAME,
        "written": [one.environment for one in found if one.writes],
        "left": [one.environment for one in found if not one.writes],
        "joined": enumeration,
    }


def rename_everywhere(context: Project, request: ServiceRequest) -> object:
    """Renames the key in all of them and leads back to the matrix."""
    form = request.form
    form.label("to", "New key")
    body = form.read(schemas.RenameBody(), "to", "reason", **{"from": form["key"]})
    call, source, target, reason = request.call, body["from"], body["to"], body.get("reason")
    done = domain.rename_everywhere(
        call, context.address, _revs(request), source=source, target=target, reason=reason
    )
    return redirect_after_form(context.path(PAGES), "renamed", done)


def delete_everywhere(context: Project, request: ServiceRequest) -> object:
    """Deletes the key from all of them and leads back to the matrix."""
    body = request.form.read(schemas.EverywhereForm(), "key", "reason")
    call, key, reason = request.call, body["key"], body.get("reason")
    done = domain.delete_everywhere(call, context.address, key, _revs(request), reason)
    return redirect_after_form(context.path(PAGES), "deleted-key", done)


def _is_done(context: Project, request: ServiceRequest, key: str) -> bool:
    """Whether what was asked for is so: the form was sent twice, or somebody else did the same."""
    form = request.form
    asked = {slug for slug, _ in form.under(REV)}
    if not asked or asked & _holders(context, request, key):
        return False
    return request.view_name == DELETE or asked <= _holders(context, request, form["to"])


def _holders(context: Project, request: ServiceRequest, key: str) -> set[str]:
    """The slugs of the environments in sight that have a key."""
    try:
        return {
            one.environment.slug for one in domain.environments_with_key(request.call, context.address, key)
        }
    except NotFound:
        return set()


def _revs(request: ServiceRequest) -> dict[str, int]:
    """The revisions that were seen, by the slug of their environment. Raises `ValidationFailed`."""
    return {
        slug: validate(schemas.SeenRevision(), {"rev": text})["rev"] for slug, text in request.form.under(REV)
    }


def renamed(ui: PageLayout, details: Sequence[str]) -> str | None:
    """What the matrix says afterwards; the only detail is the number of environments."""
    return _told("Renamed the key in", ui, details)


def deletion_message(ui: PageLayout, details: Sequence[str]) -> str | None:
    """As `renamed`."""
    told = _told("Deleted the key from", ui, details)
    return f"{told} The history of each can undo it." if told else None


def _told(did: str, ui: PageLayout, details: Sequence[str]) -> str | None:
    if len(details) != 1 or not (details[0].isascii() and details[0].isdigit() and len(details[0]) <= 4):
        return None
    return f"{did} {ui.count(int(details[0]), 'environment')}."


def includeme(config: ServiceConfigurator) -> None:
    page: PageOptions[Project] = {"context": Project, "template": "secretsvc.secrets:templates/everywhere.pt"}
    for name, act in ((RENAME, rename_everywhere), (DELETE, delete_everywhere)):
        config.add_page(everywhere_page, name=name, role=VISIBLE, **page)
        config.add_form(act, name=name, role=VISIBLE, rerender=everywhere_page, **page)
    config.add_flash_message("renamed", renamed)
    config.add_flash_message("deleted-key", deletion_message)
