"""Errors to HTTP, in this one place: the status of each code, the envelope, the page, the exception views."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson
from pyramid.exceptions import URLDecodeError
from pyramid.httpexceptions import HTTPException
from pyramid.renderers import render
from pyramid.response import Response

from secretsvc.kernel.errors import (
    BadRequest,
    Internal,
    NotFound,
    RateLimited,
    SecretsvcError,
    Unavailable,
)
from secretsvc.kernel.throttle import Throttle
from secretsvc.web.failures import expected, unexpected
from secretsvc.web.headers import PAGE_CONTENT_SECURITY_POLICY
from secretsvc.web.responses import Drawing, RelativeResponse

#: Below it every answer is JSON; everything else is pages.
JSON_PATHS = "/api/"

STATUS = {
    "BAD_REQUEST": 400,
    "UNAUTHENTICATED": 401,
    "FORBIDDEN": 403,
    "NOT_FOUND": 404,
    "CONFLICT": 409,
    "VERSION_CONFLICT": 409,
    "LAST_ADMIN": 409,
    "PRECONDITION_FAILED": 412,
    "PAYLOAD_TOO_LARGE": 413,
    "VALIDATION_FAILED": 422,
    "RATE_LIMITED": 429,
    "INTERNAL": 500,
    "DECRYPT_FAILED": 500,
    "UNKNOWN_KID": 500,
    "SERVER_MISCONFIGURED": 500,
    "NOT_IMPLEMENTED": 501,
    "NO_ADMINS_CONFIGURED": 503,
    "IDENTITY_PROVIDER_UNAVAILABLE": 503,
    "UNAVAILABLE": 503,
}


def envelope(error: SecretsvcError, request_id: str) -> dict[str, Any]:
    """The body of every answer that is not 2xx (specification, "Errors")."""
    body: dict[str, Any] = {"code": error.code, "message": error.message, "request_id": request_id}
    if error.hint:
        body["hint"] = error.hint
    if error.issues:
        body["issues"] = [issue._asdict() for issue in error.issues]
    return body


def is_outside_api(environ: dict[str, Any]) -> bool:
    """Whether the path is that of a page, or of what pages are made of."""
    return not f"{environ['PATH_INFO']}/".startswith(JSON_PATHS)


def error_response(error: SecretsvcError, request: Any) -> Response:
    """The answer to an error: the envelope for the API, a page for everything else."""
    if is_outside_api(request.environ):
        return Drawing(lambda: _answer(_page, error, request))
    return _answer(_document, error, request)


def _answer(make: Callable[[SecretsvcError, Any], Response], error: SecretsvcError, request: Any) -> Response:
    response = make(error, request)
    if isinstance(error, (RateLimited, Unavailable)):
        response.headers["Retry-After"] = str(error.retry_after)
    return response


def _document(error: SecretsvcError, request: Any) -> Response:
    return RelativeResponse(
        body=orjson.dumps(envelope(error, request.request_id)),
        status=STATUS[error.code],
        # WebOb drops the charset of JSON where it is given as one.
        headerlist=[("Content-Type", "application/json; charset=utf-8")],
    )


def _page(error: SecretsvcError, request: Any) -> Response:
    values = {"error": error, "status": STATUS[error.code], "request_id": request.request_id}
    response = RelativeResponse(
        text=render("secretsvc.web:templates/error.pt", values, request=request),
        status=STATUS[error.code],
        content_type="text/html",
        charset="utf-8",
    )
    response.headers["Content-Security-Policy"] = PAGE_CONTENT_SECURITY_POLICY
    return response


def translate(error: BaseException, request: Any) -> SecretsvcError:
    """What the client is told of any exception; the request remembers what its line in the log tells."""
    told = _told(error)
    request.failure = unexpected(error, request) if isinstance(told, Internal) else expected(told)
    return told


def _told(error: BaseException) -> SecretsvcError:
    if isinstance(error, SecretsvcError):
        return error
    if isinstance(error, (URLDecodeError, UnicodeDecodeError)):
        return BadRequest("The path and the query must be UTF-8.")
    if isinstance(error, HTTPException):
        return NotFound() if error.status_code < 500 else Internal()
    return Internal()


def exception_view(error: BaseException, request: Any) -> Response:
    """Every exception that passes the view."""
    return error_response(translate(error, request), request)


def includeme(config: Any) -> None:
    """Catches everything; the more specific contexts replace Pyramid's own views of them."""
    config.registry.tracebacks = Throttle()
    config.set_response_factory(lambda _request: RelativeResponse())
    for context in (Exception, HTTPException, SecretsvcError):
        config.add_exception_view(exception_view, context=context)
