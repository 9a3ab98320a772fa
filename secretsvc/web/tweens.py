"""The ingress tween: a request id and the security headers for everything that leaves, whatever happened."""

from __future__ import annotations

from pyramid.config import Configurator
from pyramid.response import FileResponse, Response
from pyramid.tweens import INGRESS

from secretsvc.kernel.addresses import resolve_client_address
from secretsvc.kernel.errors import SecretsvcError, ServerMisconfigured
from secretsvc.web.errors import error_response, is_outside_api, translate
from secretsvc.web.headers import complete, request_id
from secretsvc.web.plaintext_budget import hold_until_sent, release
from secretsvc.web.request import Handler, ServiceRegistry, ServiceRequest
from secretsvc.web.responses import render_deferred
from secretsvc.web.tree import API, MOUNTS, Root, resolve


def ingress_tween(handler: Handler, registry: ServiceRegistry) -> Handler:
    """Outermost: nothing leaves without the envelope and the headers."""

    def tween(request: ServiceRequest) -> Response:
        request.request_id = request_id(request.environ.get("HTTP_X_REQUEST_ID"))
        try:
            response = _answer(request)
            more = _plaintext_headers(registry) if _may_hold_values(request, response, registry) else {}
            complete(response, request.request_id, more)
            hold_until_sent(request, response)
        except BaseException:
            release(request)
            raise
        return response

    def _answer(request: ServiceRequest) -> Response:
        try:
            request.client_address = _client_address(request, registry)
            return render_deferred(handler(request))
        except Exception as error:  # the last resort: whatever the exception views did not see
            return render_deferred(error_response(translate(error, request), request))

    return tween


def _client_address(request: ServiceRequest, registry: ServiceRegistry) -> str | None:
    """Raises `ServerMisconfigured`."""
    environ, trusted = request.environ, registry.service_settings.trusted_proxies
    return resolve_client_address(
        environ.get("REMOTE_ADDR", ""), environ.get("HTTP_X_FORWARDED_FOR", ""), trusted
    )


def _may_hold_values(request: ServiceRequest, response: Response, registry: ServiceRegistry) -> bool:
    """Whether no cache may keep the answer: of the API those of the routes that return values.

    And every page, what comes of a form, and their errors, so that no page can be forgotten: a value that was
    typed or revealed may be in any of them, but not in a file that is served from the disk.
    """
    if is_outside_api(request.environ):
        return not isinstance(response, FileResponse)
    return _reveals(request, registry)


def _reveals(request: ServiceRequest, registry: ServiceRegistry) -> bool:
    """Whether the path is one of those that return values, however far the request came.

    An unauthenticated request is refused before it is routed; the tree needs no database to tell where
    it would have gone.
    """
    context = getattr(request, "context", None)
    if context is not None:
        return (type(context), getattr(request, "view_name", "")) in registry.revealing
    mount = MOUNTS[API]
    try:
        path = request.path_info
        if not path.startswith(mount):
            return False
        node, view_name = resolve(Root(None, "", registry.tree), path[len(mount) :])
    except (SecretsvcError, UnicodeDecodeError):
        return False
    return (type(node), view_name) in registry.revealing


def _plaintext_headers(registry: ServiceRegistry) -> dict[str, str]:
    """Specification, "Plaintext-returning routes"; the two names are the deployment's (contract 1)."""
    settings = registry.service_settings
    headers = {"Cache-Control": "no-store, no-cache, must-revalidate, private"}
    try:
        headers["Vary"] = settings.access_header
        headers[settings.edge_cache_header] = "no-store"
    except ServerMisconfigured:
        # The route itself answers with the same error; its response is not cacheable either way.
        return headers
    return headers


def includeme(config: Configurator) -> None:
    config.add_tween(f"{__name__}.ingress_tween", under=INGRESS)
