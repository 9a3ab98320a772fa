"""The denial tween: writes the refusals that a request met, once its main transaction is closed.

Raising an error rolls the main transaction back, and on SQLite a second connection would wait for the
first: so denials have a short transaction of their own, after everything else. It is best effort.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from secretsvc.audit.rules import write_absence, write_denials
from secretsvc.db.engine import write_transaction
from secretsvc.kernel.call import Call
from secretsvc.web.failures import cause_of

log = logging.getLogger(__name__)


def denial_tween(handler: Callable[..., Any], registry: Any) -> Callable[..., Any]:
    """Around the transaction."""

    def tween(request: Any) -> Any:
        try:
            return handler(request)
        finally:
            call = getattr(request, "call", None)
            if call is not None and (call.denials or call.absences):
                _write(registry, request)

    return tween


def _write(registry: Any, request: Any) -> None:
    call: Call = request.call
    try:
        with write_transaction(registry.database.engine) as connection:
            if call.denials:
                write_denials(connection, call, call.denials)
            else:
                write_absence(connection)
    except Exception as error:  # a denial that cannot be written must not turn a 403 into a 500
        cause = f"denial not recorded: {cause_of(error)}"
        if request.failure is not None:
            request.failure = request.failure._replace(cause=cause)
        if registry.tracebacks.passes(cause) is not None:
            log.error("a denial of request %s was not recorded: %s", call.request_id, cause_of(error))


def includeme(config: Any) -> None:
    """Installs the tween between the ingress and the transaction."""
    config.add_tween(
        f"{__name__}.denial_tween",
        under="secretsvc.web.tweens.ingress_tween",
        over="pyramid_tm.tm_tween_factory",
    )
