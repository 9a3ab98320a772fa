"""The access log: one line for each request, and its observers.

A line is made of names and numbers of ours alone. What a client makes up, such as the path, is not in it,
but for a request id, which has a grammar.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from functools import partial

from pyramid.config import Configurator
from pyramid.response import Response
from pyramid.tweens import INGRESS

from secretsvc.kernel.database_timer import DatabaseTimer, time_database
from secretsvc.kernel.errors import Internal
from secretsvc.web.error_logging import log_unexpected
from secretsvc.web.registration import check_function, declare
from secretsvc.web.request import Handler, ServiceRegistry, ServiceRequest, call_of, operation_of
from secretsvc.web.tree import MOUNTS

log = logging.getLogger("secretsvc.access")

METHODS = frozenset({"GET", "HEAD", "POST", "PATCH", "DELETE", "PUT", "OPTIONS"})
OTHER_METHOD = "OTHER"

#: The template of the route or None, the method, the status, and how many seconds it took.
Observer = Callable[[str | None, str, int, float], None]
Seen = tuple[str | None, str, int, float]


def add_request_observer(config: Configurator, name: str, observe: Observer) -> None:
    """Directive: what is told of each request once its answer is made. Two of one name conflict.

    Where it raises, that is logged, and the request does not fail.
    """
    check_function(f"request observer {name}", observe)
    fill = partial(config.registry.request_observers.__setitem__, name, observe)
    declare(config, "request observer", name, fill)


def access_log_tween(handler: Handler, registry: ServiceRegistry) -> Handler:
    """Outermost, so that it sees what leaves and how long it took."""
    observers: dict[str, Observer] = registry.request_observers

    def tween(request: ServiceRequest) -> Response:
        response = None
        began = time.perf_counter()
        with time_database() as watch:
            try:
                response = handler(request)
                return response
            finally:
                seconds = time.perf_counter() - began
                seen = route_of(request), method_of(request), _status(response), seconds
                _write(request, response, seen, watch)
                for observe in observers.values():
                    _tell(observe, request, seen)

    return tween


def route_of(request: ServiceRequest) -> str | None:
    """The template of the operation's or page's path, the pattern of any other route, None without one.

    Whoever is refused before the request is routed leaves none.
    """
    if operation_of(request) is not None:
        template: str = request.context.template(request.view_name)
        return template
    route = getattr(request, "matched_route", None)
    return None if route is None or route.name in MOUNTS else f"/{route.pattern.lstrip('/')}"


def method_of(request: ServiceRequest) -> str:
    """The method, if it is a common one: a client may put any word in its place."""
    return request.method if request.method in METHODS else OTHER_METHOD


def _status(response: Response | None) -> int:
    return 500 if response is None else int(response.status_int)


def _write(request: ServiceRequest, response: Response | None, seen: Seen, watch: DatabaseTimer) -> None:
    (route, method, status, seconds), failure = seen, request.failure
    level = logging.INFO if status < 500 else logging.WARNING
    if status >= 500 and (failure is None or failure.code == Internal.code):
        level = logging.ERROR
    if not log.isEnabledFor(level):
        return
    size = response.content_length if response is not None and request.method != "HEAD" else 0
    call = call_of(request)
    fields = {
        "request_id": request.request_id,
        "actor_id": None if call is None else str(call.actor.identity_id),
        "method": method,
        "route": route,
        "status": status,
        "milliseconds": round(seconds * 1000, 1),
        "database_milliseconds": round(watch.seconds * 1000, 1),
        "bytes": size,
        "client_address": request.client_address,
    }
    if failure is not None:
        fields |= {name: value for name, value in failure._asdict().items() if value is not None}
    log.log(level, "%s", _Readable(fields), extra={"fields": fields})


class _Readable:
    """The fields as people read them, made only where somebody does."""

    def __init__(self, fields: dict[str, object]) -> None:
        self._fields = fields

    def __str__(self) -> str:
        told = {name: value for name, value in self._fields.items() if value is not None}
        head = [str(told.pop(name, "-")) for name in ("method", "route", "status")]
        return " ".join([*head, *(f"{name}={value}" for name, value in told.items())])


def _tell(observe: Observer, request: ServiceRequest, seen: Seen) -> None:
    try:
        observe(*seen)
    except Exception as error:  # whoever counts along must not break what is counted
        log_unexpected(error, request)


def includeme(config: Configurator) -> None:
    config.registry.request_observers = {}
    config.add_directive("add_request_observer", add_request_observer)
    config.add_tween(f"{__name__}.access_log_tween", under=INGRESS, over="secretsvc.web.tweens.ingress_tween")
