"""Pages: the directives that declare them and their forms, the navigation, and what holds them to it.

A page shows; a form acts and leads on to a page, or draws its own page again with what was typed and
what was wrong with it. Both stand on the same tree as the API and pass the same permission check.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypedDict
from uuid import UUID

from pyramid.config import Configurator
from pyramid.events import BeforeRender
from pyramid.exceptions import ConfigurationError
from pyramid.interfaces import IViewDeriverInfo
from pyramid.path import AssetResolver
from pyramid.viewderivers import VIEW

from secretsvc.kernel.authorization import Role
from secretsvc.kernel.errors import (
    Conflict,
    Forbidden,
    FormTooOld,
    LastAdmin,
    NotFound,
    PayloadTooLarge,
    PreconditionFailed,
    RateLimited,
    SecretsvcError,
    ValidationFailed,
    VersionConflict,
    refuse,
)
from secretsvc.kernel.rejections import RejectionReason
from secretsvc.kernel.transaction_mode import Mode
from secretsvc.web.error_codes import status_of
from secretsvc.web.error_logging import expected_failure
from secretsvc.web.forms import CSRF_FIELD, Form, check_token, parse_form
from secretsvc.web.headers import PAGE_CONTENT_SECURITY_POLICY
from secretsvc.web.pages.layout import PageLayout, macros
from secretsvc.web.pages.sidebar_project import sidebar_project_view
from secretsvc.web.query import parse_query
from secretsvc.web.request import ModeChoice, ServiceRequest, View, declare_mode
from secretsvc.web.responses import RelativeResponse, drawing_view
from secretsvc.web.schema import ListQuery, validate
from secretsvc.web.tree import PAGES, N, Node, node_class
from secretsvc.web.view_options import reads_option
from secretsvc.web.views import SAFE_METHODS, check_role

#: What a form draws its page again for; everything else has an error page of its own.
REFUSALS = (
    Conflict,
    FormTooOld,
    LastAdmin,
    PayloadTooLarge,
    PreconditionFailed,
    RateLimited,
    ValidationFailed,
    VersionConflict,
)


@dataclass(frozen=True, slots=True)
class PageDeclaration:
    """What a page's view declares of itself."""

    role: Role | str
    method: str
    rerender: Callable[..., object] | None
    mode: ModeChoice


class PageOptions(TypedDict, Generic[N]):
    """Of which nodes a page is and what draws it, for it and its forms: `config.add_form(view, **page)`."""

    context: type[N]
    template: str


def add_page(
    config: Configurator,
    view: Callable[[N, ServiceRequest], object],
    *,
    context: type[N] | str,
    template: str | None = None,
    role: Role | str,
    name: str = "",
) -> None:
    """Directive: a page of a node class, drawn by a template (`package:path.pt`) of what the view returns."""
    _add(config, view, context, template, name, PageDeclaration(role, "GET", None, Mode.SNAPSHOT))


def add_form(
    config: Configurator,
    view: Callable[[N, ServiceRequest], object],
    *,
    context: type[N] | str,
    template: str | None = None,
    role: Role | str,
    name: str = "",
    rerender: Callable[[N, ServiceRequest], object] | None = None,
    mode: ModeChoice = Mode.WRITE,
) -> None:
    """Directive: what a form sent by POST does.

    The view returns a response, usually `redirect_after_form`, or names for the template. After a refusal
    `rerender`, the view of the form's page, is called in its place, in a transaction of its own. It finds
    what was typed, and why it was refused, in `request.form`. `mode` begins the view's transaction.
    """
    _add(config, view, context, template, name, PageDeclaration(role, "POST", rerender, mode))


def _add(
    config: Configurator,
    view: object,
    context: type[N] | str,
    template: str | None,
    name: str,
    page: PageDeclaration,
) -> None:
    node = node_class(config, context)
    check_role(f"view {name or 'without a name'} of {node.__name__}", page.role)
    if template is not None and not AssetResolver(config.package).resolve(template).exists():
        raise ConfigurationError(f"there is no template {template!r}: name a file, as package:folder/file.pt")
    if page.method == "GET" and not name:
        config.registry.pages.add(node)
    config.add_view(
        view,
        context=node,
        name=name,
        route_name=PAGES,
        request_method=page.method,
        permission=page.role,
        renderer=template,
        page=page,
    )


def redirect_after_form(path: str, done: str | None = None, *details: object) -> RelativeResponse:
    """Leads on to a page after a form was carried out; `done` is a word of `config.add_flash_message`.

    The details, numbers and slugs, are for the function that makes a text of them.
    """
    word = ".".join(map(str, (done, *details)))
    return RelativeResponse(status=303, location=f"{path}?done={word}" if done else path)


def see_removed(path: str, done: str, remove: Callable[[], object], *details: object) -> RelativeResponse:
    """Leads on to a page after a removal, also where there is nothing to remove: without scripts a form may
    be sent twice, and the answer to the second is what is seen.
    """
    try:
        remove()
    except NotFound:
        return redirect_after_form(path, "nothing-to-remove")
    return redirect_after_form(path, done, *details)


def cursor_of(request: ServiceRequest) -> UUID | None:
    """Where a list goes on, from the URL. Raises `ValidationFailed`."""
    query = parse_query(request.environ)
    found: UUID | None = (
        validate(ListQuery(), {"cursor": query["cursor"]})["cursor"] if "cursor" in query else None
    )
    return found


@reads_option("page")
def page_view(view: View, info: IViewDeriverInfo) -> View:
    """Declares the request, and refuses ill-formed path parameters and forms without an edge cache's name."""
    page: PageDeclaration | None = info.options.get("page")
    if page is None:
        return view

    def wrapper(context: Node, request: ServiceRequest) -> object:
        request.operation = page
        request.form = Form()
        refuse(context.issues())
        if page.method not in SAFE_METHODS:
            # What comes of a form may hold values: where the edge cache cannot be told, nothing is done.
            _ = request.registry.service_settings.edge_cache_header
        request.response.headers["Content-Security-Policy"] = PAGE_CONTENT_SECURITY_POLICY
        return view(context, request)

    return wrapper


def form_view(view: View, info: IViewDeriverInfo) -> View:
    """Reads a form, makes sure that it is its identity's own, and draws its page again after a refusal."""
    page: PageDeclaration | None = info.options.get("page")
    if page is None or page.method in SAFE_METHODS:
        return view

    def wrapper(context: Node, request: ServiceRequest) -> object:
        request.form = parse_form(request)
        try:
            _check_form_token(request)
            declare_mode(request, page.mode)
            return view(context, request)
        except REFUSALS as error:
            if page.rerender is None:
                raise
            return _rerender(page.rerender, context, request, error)

    return wrapper


def _check_form_token(request: ServiceRequest) -> None:
    """Check the form token. Raises `Forbidden`, which is counted, or `FormTooOld`."""
    call, offered = request.call, request.form[CSRF_FIELD]
    try:
        check_token(call.ring, call.actor, call.now, offered)
    except Forbidden:
        reason = RejectionReason.FORM_TOKEN if offered else RejectionReason.NO_FORM_TOKEN
        request.registry.refusals.note(reason, request.request_id)
        raise


def _rerender(rerender: View, context: Node, request: ServiceRequest, error: SecretsvcError) -> object:
    request.failure = expected_failure(error)
    request.call.restart(Mode.SNAPSHOT)
    request.form.refuse(error)
    request.response.status_int = status_of(request, error)
    if isinstance(error, RateLimited):
        request.response.headers["Retry-After"] = str(error.retry_after)
    return rerender(context, request)


def is_template(event: BeforeRender) -> bool:
    """Return whether a template is rendered, not an answer of the API."""
    return str(event["renderer_name"]).endswith(".pt")


def add_shell(event: BeforeRender) -> None:
    """Add the layout's macros, and `ui`, to the names of a template."""
    if not is_template(event):
        return
    for name in ("shell", "forms", "parts"):
        event[name] = macros(name)
    # An error may come of the very address: its page says nothing of the node.
    event["ui"] = PageLayout(
        event["request"], None if "error" in event.rendering_val else event.get("context")
    )


def includeme(config: Configurator) -> None:
    config.registry.pages = set()
    config.include(".templates")
    config.include(".flash_messages")
    config.include(".navigation")
    config.include(".sidebar_project")
    config.add_directive("add_page", add_page)
    config.add_directive("add_form", add_form)
    config.add_view_deriver(page_view, under="INGRESS", over="secured_view")
    # Inside the renderer, to which it leaves nothing; what a rerendered page returns is drawn too.
    config.add_view_deriver(drawing_view, under="rendered_view", over=VIEW)
    config.add_view_deriver(sidebar_project_view, under="drawing_view", over=VIEW)
    config.add_view_deriver(form_view, under="sidebar_project_view", over=VIEW)
    config.add_subscriber(add_shell, BeforeRender)
