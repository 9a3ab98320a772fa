"""Translate errors to HTTP: the envelope, the page, the exception views."""

from __future__ import annotations

from collections.abc import Container, Mapping

import orjson
from pyramid.config import Configurator
from pyramid.exceptions import URLDecodeError
from pyramid.httpexceptions import HTTPException
from pyramid.renderers import render
from pyramid.response import Response
from pyramid.tweens import EXCVIEW

from secretsvc.kernel.clock import now_ms
from secretsvc.kernel.errors import (
    BadRequest,
    IdentityProviderUnavailable,
    Internal,
    NotFound,
    RateLimited,
    SecretsvcError,
    Unavailable,
)
from secretsvc.kernel.log_throttle import LogThrottle
from secretsvc.web.error_codes import status_of
from secretsvc.web.error_logging import expected_failure, log_unexpected
from secretsvc.web.headers import PAGE_CONTENT_SECURITY_POLICY
from secretsvc.web.pages import time_format
from secretsvc.web.pages.denial_page import denial_details
from secretsvc.web.request import Handler, ServiceRegistry, ServiceRequest, call_of
from secretsvc.web.responses import DeferredPage, RelativeResponse

#: Responses below this path are JSON, all others are pages.
JSON_PATHS = "/api/"


def envelope(error: SecretsvcError, request_id: str) -> dict[str, object]:
    """The body of every response that is not 2xx (specification, "Errors")."""
    body: dict[str, object] = {"code": error.code, "message": error.message, "request_id": request_id}
    if error.hint:
        body["hint"] = error.hint
    if error.issues:
        body["issues"] = [issue._asdict() for issue in error.issues]
    return body


def is_outside_api(environ: Mapping[str, str]) -> bool:
    """Whether the path is that of a page or a static file."""
    return not f"{environ['PATH_INFO']}/".startswith(JSON_PATHS)


def error_response(error: SecretsvcError, request: ServiceRequest) -> Response:
    """The response to an error: the envelope for the API, a page for everything else."""
    if is_outside_api(request.environ):
        return DeferredPage(lambda: _with_retry_after(_page(error, request), error))
    return _with_retry_after(_json(error, request), error)


def _with_retry_after(response: Response, error: SecretsvcError) -> Response:
    if isinstance(error, (RateLimited, Unavailable, IdentityProviderUnavailable)):
        response.headers["Retry-After"] = str(error.retry_after)
    return response


def _json(error: SecretsvcError, request: ServiceRequest) -> Response:
    return RelativeResponse(
        body=orjson.dumps(envelope(error, request.request_id)),
        status=status_of(request, error),
        # WebOb drops the charset of JSON where it is given as one.
        headerlist=[("Content-Type", "application/json; charset=utf-8")],
    )


def _page(error: SecretsvcError, request: ServiceRequest) -> Response:
    status, advice = request.registry.error_codes[error.code]
    call = call_of(request)
    values = {
        "error": error,
        "status": status,
        "advice": advice,
        "request_id": request.request_id,
        "refused": denial_details(error, request),
        "now": time_format.moment(call.now if call is not None else now_ms()),
    }
    response = RelativeResponse(
        text=render("secretsvc.web:templates/error.pt", values, request=request),
        status=status,
        content_type="text/html",
        charset="utf-8",
    )
    response.headers["Content-Security-Policy"] = PAGE_CONTENT_SECURITY_POLICY
    return response


def translate(error: BaseException, request: ServiceRequest) -> SecretsvcError:
    """Return the error that the client gets for any exception; note the failure for the access log."""
    public = request.registry.database_failure(error) or _public_error(error, request.registry.error_codes)
    is_internal = isinstance(public, Internal)
    request.failure = log_unexpected(error, request) if is_internal else expected_failure(public, error)
    return public


def _public_error(error: BaseException, registered: Container[str]) -> SecretsvcError:
    if isinstance(error, SecretsvcError):
        # One that `add_error` was not called for has no status.
        return error if error.code in registered else Internal()
    if isinstance(error, (URLDecodeError, UnicodeDecodeError)):
        return BadRequest("The path and the query must be UTF-8.")
    if isinstance(error, HTTPException):
        return NotFound() if error.status_code < 500 else Internal()
    return Internal()


def exception_view(error: BaseException, request: ServiceRequest) -> Response:
    """Exception view: respond to any exception."""
    return error_response(translate(error, request), request)


def traceback_tween(handler: Handler, _registry: ServiceRegistry) -> Handler:
    """Drops tracebacks once the error is answered, before pyramid_tm sees that there was one.

    It keeps what it sees in a frame that a traceback leads to: a refused request would hold itself, with the
    values in it, until garbage is collected.
    """

    def tween(request: ServiceRequest) -> Response:
        response = handler(request)
        if request.exc_info is not None:
            _drop_tracebacks(request)
        return response

    return tween


def _drop_tracebacks(request: ServiceRequest) -> None:
    request.exc_info = type(request.exception), request.exception, None
    left: list[BaseException | None] = [request.exception]
    seen: set[int] = set()
    while left:
        error = left.pop()
        if error is not None and id(error) not in seen:
            seen.add(id(error))
            error.with_traceback(None)
            left += error.__cause__, error.__context__


def includeme(config: Configurator) -> None:
    """Catches everything; the more specific contexts replace Pyramid's own views of them."""
    config.include(".error_codes")
    config.include(".pages.denial_page")
    config.registry.tracebacks = LogThrottle()
    config.set_response_factory(lambda _request: RelativeResponse())
    tm = "pyramid_tm.tm_tween_factory"
    config.add_tween(f"{__name__}.traceback_tween", under=tm, over=EXCVIEW)
    for context in (Exception, HTTPException, SecretsvcError):
        config.add_exception_view(exception_view, context=context)
