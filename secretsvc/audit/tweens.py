"""The denial tween: writes the refusals that a request met, once its main transaction is closed.

Raising an error rolls the main transaction back, and on SQLite a second connection would wait for the
first: so denials have a short transaction of their own, after everything else. It is best effort.
"""

from __future__ import annotations

import logging

from pyramid.response import Response

from secretsvc.audit.rules.denials import DenialLog
from secretsvc.web.config import ServiceConfigurator
from secretsvc.web.error_logging import cause_of
from secretsvc.web.request import Handler, ServiceRegistry, ServiceRequest, call_of

log = logging.getLogger(__name__)


def denial_tween(handler: Handler, registry: ServiceRegistry) -> Handler:
    """Around the transaction."""

    denials = DenialLog(registry.service_settings)

    def tween(request: ServiceRequest) -> Response:
        try:
            return handler(request)
        finally:
            call = call_of(request)
            if call is not None and call.denials:
                _write(denials, registry, request)

    return tween


def _write(denials: DenialLog, registry: ServiceRegistry, request: ServiceRequest) -> None:
    call = request.call
    admitted = denials.admit(call)
    registry.metrics.denials.inc(sum(not one.absent for one in call.denials))
    try:
        if admitted:
            denials.write(registry.database.engine, call, admitted)
    except Exception as error:  # a denial that cannot be written must not turn a 403 into a 500
        cause = f"denial not recorded: {cause_of(error)}"
        if request.failure is not None:
            request.failure = request.failure._replace(cause=cause)
        if registry.tracebacks.passes(cause) is not None:
            log.error("a denial of request %s was not recorded: %s", call.request_id, cause_of(error))


def includeme(config: ServiceConfigurator) -> None:
    """Installs the tween between the ingress and the transaction."""
    config.add_tween(
        f"{__name__}.denial_tween",
        under="secretsvc.web.tweens.ingress_tween",
        over="pyramid_tm.tm_tween_factory",
    )
