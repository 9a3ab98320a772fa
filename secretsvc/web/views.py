"""Views: the directive that declares an operation, and the derivers that hold every view to its declaration.

From the outside in: the declaration with its path parameters, the cross-site rule, Pyramid's own
permission check, the strict input.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from types import FunctionType, ModuleType
from typing import Required, TypedDict, TypeVar, Unpack

import orjson
from pyramid.config import Configurator
from pyramid.exceptions import ConfigurationError
from pyramid.interfaces import IRendererInfo, IViewDeriverInfo
from pyramid.security import NO_PERMISSION_REQUIRED
from webob import Response

from secretsvc.kernel.authorization import GrantSnapshot, Role, ScopePath, admin_grants, can_see, holds
from secretsvc.kernel.errors import Issue, PayloadTooLarge, SecretsvcError, ValidationFailed, refuse
from secretsvc.kernel.transaction_mode import Mode
from secretsvc.web.body import parse_object
from secretsvc.web.cross_site import refuse_cross_site
from secretsvc.web.query import validated_query
from secretsvc.web.registration import declare
from secretsvc.web.request import ModeChoice, ServiceRequest, View, declare_mode
from secretsvc.web.response_schemas import response_schema, response_type, type_hints_of
from secretsvc.web.schema import NOTHING, Body, Variants, validate
from secretsvc.web.tree import API, MOUNTS, N, Node, Root, node_class
from secretsvc.web.types import json_schema_of
from secretsvc.web.view_options import reads_option

PUBLIC = NO_PERMISSION_REQUIRED
#: Whoever has a valid assertion.
ANY_IDENTITY = "any identity"
#: Whoever sees the project at the node (contract 4.1).
VISIBLE = "visible"
#: An admin at any scope.
ADMIN_SOMEWHERE = "admin somewhere"

PERMISSIONS = frozenset({*Role, ANY_IDENTITY, VISIBLE, ADMIN_SOMEWHERE})

UNDECLARED = object()
SAFE_METHODS = frozenset({"GET", "HEAD"})

R = TypeVar("R")
V = TypeVar("V", bound=Callable[..., object])
#: By `api_view`: views with their names and what they declare.
DECLARED: dict[Callable[..., object], tuple[str, Declaration]] = {}


def check_role(what: str, role: object) -> None:
    """Raises `ConfigurationError` for what no request could be judged by."""
    if role not in PERMISSIONS | {PUBLIC}:
        known = ", ".join(sorted(PERMISSIONS))
        raise ConfigurationError(f"{what} has the role {role!r}: take one of {known}")


def permits(snapshot: GrantSnapshot, permission: str, at: ScopePath) -> bool:
    """Whether the caller has what one of `PERMISSIONS` says, at an address. Raises ValueError for others."""
    if permission == ANY_IDENTITY:
        return True
    if permission == ADMIN_SOMEWHERE:
        return next(admin_grants(snapshot), None) is not None
    return can_see(snapshot, at) if permission == VISIBLE else holds(snapshot, Role(permission), at)


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """What a view declares of itself; the API's documentation and every check read it here."""

    operation_id: str
    summary: str
    #: What the node's scope must grant, or one of this module's names.
    role: Role | str
    #: What the view is annotated to return, unless it is declared.
    response: object = UNDECLARED
    method: str = "GET"
    status: int = 200
    body: Body | Variants | None = None
    query: Body = NOTHING
    #: A read of values: it writes an audit record, takes the plaintext headers, is refused across sites.
    reveals: bool = False
    #: How its transaction begins, unless its method and `reveals` tell.
    mode: ModeChoice | None = None
    #: Statuses of errors that not every operation can give.
    errors: tuple[int, ...] = ()
    #: What can be asked next with what a creation answered: operation id -> parameter -> field.
    links: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    media: Collection[str] = ("application/json",)
    #: Whether the answer to a creation says where it is.
    location_header: bool = True
    #: Whether answers carry an `ETag`.
    etag: bool = False
    #: Whether `If-Match` is evaluated.
    if_match: bool = False
    #: Whether `Idempotency-Key` is heeded (contract 8.2).
    idempotent: bool = False
    #: What else is wrong with a body that is refused, by rules that its schema does not know: of the node,
    #: the request and the JSON.
    extra_validation: Callable[..., tuple[Issue, ...]] | None = None

    @property
    def transaction_mode(self) -> ModeChoice:
        """How its transaction begins."""
        if self.mode is not None:
            return self.mode
        if self.method not in SAFE_METHODS:
            return Mode.WRITE
        return Mode.REVEAL if self.reveals else Mode.SNAPSHOT


class Declaration(TypedDict, total=False):
    """The fields of `Operation` as keywords (PEP 692), which type checkers need; a test compares the two."""

    operation_id: Required[str]
    summary: Required[str]
    role: Required[Role | str]
    response: object
    method: str
    status: int
    body: Body | Variants
    query: Body
    reveals: bool
    mode: ModeChoice
    errors: tuple[int, ...]
    links: Mapping[str, Mapping[str, str]]
    media: Collection[str]
    location_header: bool
    etag: bool
    if_match: bool
    idempotent: bool
    extra_validation: Callable[..., tuple[Issue, ...]]


def add_api_view(
    config: Configurator,
    view: Callable[[N, ServiceRequest], object],
    *,
    context: type[N] | str,
    name: str = "",
    **declared: Unpack[Declaration],
) -> None:
    """Directive: one operation of the API, on a node class, under a view or `:verb` name.

    What it declares are the fields of `Operation`. Without a `response` it is what the view is annotated to
    return, and where that is None, the status is 204. Raises `ConfigurationError` where one of its schemas
    cannot be described.
    """
    node = node_class(config, context)
    operation = Operation(**declared)
    check_role(f"operation {operation.operation_id}", operation.role)
    if operation.response is UNDECLARED:
        hint = response_type(view)
        operation = replace(operation, response=hint, status=204 if hint is None else operation.status)
    _check_schemas(operation)
    declare(config, "operation", operation.operation_id)
    if name.startswith(":"):
        config.registry.tree.verbs[node].add(name[1:])
    if operation.reveals:
        config.registry.revealing.add((node, name))
    if operation.role is PUBLIC and node is Root:
        config.registry.public_paths.add(MOUNTS[API] + name)
    config.add_view(
        view,
        context=node,
        name=name,
        route_name=API,
        request_method=operation.method,
        permission=operation.role,
        renderer="json",
        operation=operation,
    )


def api_view(name: str = "", **declared: Unpack[Declaration]) -> Callable[[V], V]:
    """Decorator: what `add_api_views` declares of a view, on the node class that the view takes."""

    def mark(view: V) -> V:
        DECLARED[view] = name, declared
        return view

    return mark


def add_api_views(config: Configurator, module: str) -> None:
    """Directive: the operations that a module marks with `api_view`, each by `add_api_view`."""
    found: ModuleType = config.maybe_dotted(module)
    for view in vars(found).values():
        if isinstance(view, FunctionType) and view in DECLARED and view.__module__ == found.__name__:
            name, declared = DECLARED[view]
            node, code = next(iter(type_hints_of(view).values())), view.__code__
            source = code.co_filename, code.co_firstlineno, code.co_name, ""
            config.add_api_view(view, context=node, name=name, _info=source, **declared)


def _check_schemas(operation: Operation) -> None:
    for part in ("query", "body", "response"):
        schema = getattr(operation, part)
        try:
            if schema is not None:
                _ = response_schema(schema) if part == "response" else json_schema_of(schema)
        except ConfigurationError as error:
            raise ConfigurationError(f"{part} of the operation {operation.operation_id}: {error}") from None


@reads_option("operation")
def declared_view(view: View, info: IViewDeriverInfo) -> View:
    """Declares the request, and refuses ill-formed path parameters and cross-site reads of values."""
    operation: Operation | None = info.options.get("operation")
    if operation is None:
        return view

    def wrapper(context: Node, request: ServiceRequest) -> object:
        request.operation = operation
        refuse(context.issues())
        if operation.reveals:
            _before_values(request)
        return view(context, request)

    return wrapper


def _before_values(request: ServiceRequest) -> None:
    """Raises `Forbidden`, or `ServerMisconfigured` where the answer could not name its edge cache."""
    refuse_cross_site(request, "Values are not served to other sites.")
    _ = request.registry.service_settings.edge_cache_header


def input_view(view: View, info: IViewDeriverInfo) -> View:
    """Validates the input before the view sees it, as `query_values` and `body_values` of the request."""
    operation: Operation | None = info.options.get("operation")
    if operation is None:
        return view

    def wrapper(context: Node, request: ServiceRequest) -> object:
        request.query_values = validated_query(operation.query, request.environ)
        request.response.status_int = operation.status
        if operation.body is None:
            declare_mode(request, operation.transaction_mode)
            return view(context, request)
        headers = request.headers
        document = parse_object(
            request.body, headers.get("Content-Type", ""), headers.get("Content-Encoding", "")
        )
        try:
            request.body_values = validate(operation.body, document)
            declare_mode(request, operation.transaction_mode)
            return view(context, request)
        except (ValidationFailed, PayloadTooLarge) as error:
            more = (
                operation.extra_validation(context, request, document) if operation.extra_validation else ()
            )
            raise _refused_for(error, more) from None

    return wrapper


def _refused_for(error: SecretsvcError, more: tuple[Issue, ...]) -> SecretsvcError:
    """The refusal of a body with the issues that it does not name already."""
    named = {issue.path for issue in error.named}
    more = tuple(issue for issue in more if issue.path not in named)
    return error.and_also(more) if more else error


def created_at(request: ServiceRequest, collection: Node, name: object, resource: R) -> R:
    """The answer to a creation: the resource, and where it is, relative to the host."""
    request.response.headers["Location"] = f"{collection.path()}/{name}"
    return resource


class JsonRenderer:
    """Renders what orjson knows: dataclasses, UUIDs and enums included. None is an empty body."""

    def __init__(self, _info: IRendererInfo) -> None:
        pass

    def __call__(self, value: object, system: dict[str, ServiceRequest]) -> bytes:
        response: Response = system["request"].response
        if response.status_int == 204:
            response.content_type = None
            return b""
        # At once: WebOb takes a header apart to set either half of it.
        response.headers["Content-Type"] = "application/json; charset=utf-8"
        return orjson.dumps(value)


def includeme(config: Configurator) -> None:
    config.registry.public_paths = set()
    config.registry.revealing = set()
    config.add_renderer("json", JsonRenderer)
    config.add_directive("add_api_view", add_api_view)
    config.add_directive("add_api_views", add_api_views)
    config.add_view_deriver(declared_view, under="INGRESS", over="secured_view")
    config.add_view_deriver(input_view, under="secured_view", over="rendered_view")
