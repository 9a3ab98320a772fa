"""Views: the directive that declares an operation, and the derivers that hold every view to its declaration.

From the outside in: the declaration with its path parameters, the cross-site rule, Pyramid's own
permission check, the strict input.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson
from pyramid.config import PHASE3_CONFIG
from pyramid.exceptions import ConfigurationError
from pyramid.interfaces import IRequestExtensions, IRequestFactory
from pyramid.request import Request
from pyramid.security import NO_PERMISSION_REQUIRED
from webob import Response

from secretsvc.kernel.authorization import Role
from secretsvc.kernel.errors import Issue, PayloadTooLarge, SecretsvcError, ValidationFailed
from secretsvc.web.body import parse_object
from secretsvc.web.cross_site import refuse_cross_site
from secretsvc.web.derivers import reads_option
from secretsvc.web.query import parse_query
from secretsvc.web.schema import NOTHING, validate
from secretsvc.web.tree import API, MOUNTS, Node, Root
from secretsvc.web.types import described

PUBLIC = NO_PERMISSION_REQUIRED
#: Whoever has a valid assertion.
ANY_IDENTITY = "any identity"
#: Whoever sees the project at the node (contract 4.1).
VISIBLE = "visible"
#: An admin at any scope.
ADMIN_SOMEWHERE = "admin somewhere"

SAFE_METHODS = frozenset({"GET", "HEAD"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """What a view declares of itself; the API's documentation and every check read it here."""

    operation_id: str
    summary: str
    #: What the node's scope must grant, or one of this module's names.
    role: Role | str
    response: Any
    method: str = "GET"
    status: int = 200
    body: Any = None
    query: Any = NOTHING
    #: A read of values: it writes an audit record, takes the plaintext headers, is refused across sites.
    reveals: bool = False
    #: Whether it reads secrets by a single statement, for which autocommit suffices.
    single_statement: bool = False
    #: Statuses of errors that not every operation can give.
    errors: tuple[int, ...] = ()
    #: What can be asked next with what a creation answered: operation id -> parameter -> field.
    links: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    media: tuple[str, ...] = ("application/json",)
    #: Whether answers carry an `ETag`.
    tagged: bool = False
    #: Whether `If-Match` is evaluated.
    expects_revision: bool = False
    #: What else is wrong with a body that is refused, by rules that its schema does not know: of the node,
    #: the request and the JSON.
    also_judged: Callable[[Any, Any, Mapping[str, Any]], tuple[Issue, ...]] | None = None

    @property
    def writes(self) -> bool:
        """Whether it writes, be it only the record of a read."""
        return self.reveals or self.method not in SAFE_METHODS


def add_api_view(config: Any, view: Any, *, context: Any, name: str = "", **declared: Any) -> None:
    """Directive: one operation of the API, on a node class, under a view or `:verb` name.

    What it declares are the fields of `Operation`. Raises `ConfigurationError` where one of its schemas
    cannot be described.
    """
    context = config.maybe_dotted(context)
    operation = Operation(**declared)
    _check_described(operation)
    if name.startswith(":"):
        config.registry.tree.verbs[context].add(name[1:])
    if operation.reveals:
        config.registry.revealing.add((context, name))
    if operation.role is PUBLIC and context is Root:
        config.registry.public_paths.add(MOUNTS[API] + name)
    config.add_view(
        view,
        context=context,
        name=name,
        route_name=API,
        request_method=operation.method,
        permission=operation.role,
        renderer="json",
        operation=operation,
    )


def _check_described(operation: Operation) -> None:
    for part in ("query", "body", "response"):
        schema = getattr(operation, part)
        try:
            if schema is not None:
                described(schema)
        except ConfigurationError as error:
            raise ConfigurationError(f"{part} of the operation {operation.operation_id}: {error}") from None


@reads_option("operation")
def declared_view(view: Callable[..., Any], info: Any) -> Callable[..., Any]:
    """Declares the request, and refuses ill-formed path parameters and cross-site reads of values."""
    operation: Operation | None = info.options.get("operation")
    if operation is None:
        return view

    def wrapper(context: Any, request: Any) -> Any:
        request.operation = operation
        issues = context.issues()
        if issues:
            raise ValidationFailed(issues=issues)
        if operation.reveals:
            _before_values(request)
        return view(context, request)

    return wrapper


def _before_values(request: Any) -> None:
    """Raises `Forbidden`, or `ServerMisconfigured` where the answer could not name its edge cache."""
    refuse_cross_site(request, "Values are not served to other sites.")
    _ = request.registry.service_settings.edge_cache_header


def input_view(view: Callable[..., Any], info: Any) -> Callable[..., Any]:
    """Validates the input before the view sees it, as `query_values` and `body_values` of the request."""
    operation: Operation | None = info.options.get("operation")
    if operation is None:
        return view

    def wrapper(context: Any, request: Any) -> Any:
        request.query_values = validate(operation.query, parse_query(request.environ))
        request.response.status_int = operation.status
        if operation.body is None:
            return view(context, request)
        headers = request.headers
        document = parse_object(
            request.body, headers.get("Content-Type", ""), headers.get("Content-Encoding", "")
        )
        try:
            request.body_values = validate(operation.body, document)
            return view(context, request)
        except (ValidationFailed, PayloadTooLarge) as error:
            more = operation.also_judged(context, request, document) if operation.also_judged else ()
            raise _refused_for(error, more) from None

    return wrapper


def _refused_for(error: SecretsvcError, more: tuple[Issue, ...]) -> SecretsvcError:
    """The refusal of a body with more that is wrong with it, which was not told already."""
    told = {issue.path for issue in error.issues}
    more = tuple(issue for issue in more if issue.path not in told)
    return ValidationFailed(issues=error.issues + more) if more else error


def created_at(request: Any, collection: Node, name: object, resource: Any) -> Any:
    """The answer to a creation: the resource, and where it is, relative to the host."""
    request.response.headers["Location"] = f"{collection.path()}/{name}"
    return resource


class ServiceRequest(Request):  # type: ignore[misc]  # it has no types of its own
    """A request with what tweens and derivers put there for those inside of them.

    Declared, or WebOb would look for it everywhere else first.
    """

    # WebOb writes a larger body to disk, with the values in it.
    request_body_tempfile_limit = sys.maxsize
    request_id: str = ""
    #: Where it came from, if the proxies that say so are trusted.
    client_address: str | None = None
    #: Why it was not carried out, if it was not.
    failure: Any = None
    #: The `Call`, once the caller is admitted.
    call: Any = None
    #: The `Operation` of the view, or the `Page`.
    operation: Any = None
    query_values: Any = None
    body_values: Any = None


def finalize_request_class(config: Any) -> None:
    """Puts the attributes that packages add to requests on one class.

    Pyramid would make a class of its own for each request, and leave it to the garbage collector.
    """

    def finalize() -> None:
        added = config.registry.queryUtility(IRequestExtensions).descriptors
        factory = type("Request", (ServiceRequest,), dict(added))
        added.clear()
        config.registry.registerUtility(factory, IRequestFactory)

    # After whatever adds one, and before the router is made.
    config.action(("secretsvc", "finalize request class"), finalize, order=PHASE3_CONFIG + 1000)


class JsonRenderer:
    """Renders what orjson knows: dataclasses, UUIDs and enums included. None is an empty body."""

    def __init__(self, _info: Any) -> None:
        pass

    def __call__(self, value: Any, system: dict[str, Any]) -> bytes:
        response: Response = system["request"].response
        if response.status_int == 204:
            response.content_type = None
            return b""
        # At once: WebOb takes a header apart to set either half of it.
        response.headers["Content-Type"] = "application/json; charset=utf-8"
        return orjson.dumps(value)


def includeme(config: Any) -> None:
    """Registers the directive, the derivers and the renderer."""
    config.registry.public_paths = set()
    config.registry.revealing = set()
    config.add_renderer("json", JsonRenderer)
    config.add_directive("add_api_view", add_api_view)
    config.add_view_deriver(declared_view, under="INGRESS", over="secured_view")
    config.add_view_deriver(input_view, under="secured_view", over="rendered_view")
