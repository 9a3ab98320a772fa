"""Details on the page of a denial: the missing role, and whom to ask for it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial

from pyramid.config import Configurator

from secretsvc.kernel.authorization import Role, ScopePath
from secretsvc.kernel.denial_details import DenialDetails
from secretsvc.kernel.errors import Forbidden, SecretsvcError
from secretsvc.web.error_logging import cause_of
from secretsvc.web.registration import check_function, declare
from secretsvc.web.request import ServiceRequest, call_of, operation_of
from secretsvc.web.tree import Node

log = logging.getLogger(__name__)

#: Returns the details of a denial at an address where a role was needed, or None.
Explainer = Callable[[ServiceRequest, ScopePath, Role], DenialDetails | None]


def set_denial_explainer(config: Configurator, explain: Explainer) -> None:
    """Directive: the function that finds the details of a denial, in one statement of its own."""
    check_function("explain of set_denial_explainer", explain)
    declare(config, "refusals", "page", partial(setattr, config.registry, "explain_refusal", explain))


def denial_details(error: SecretsvcError, request: ServiceRequest) -> DenialDetails | None:
    """Return the details of a denial by role, None for other errors.

    Call it after the request's transaction is closed. If it cannot find them, the page is without them.
    """
    operation, node = operation_of(request), getattr(request, "context", None)
    explain: Explainer | None = request.registry.explain_refusal
    if operation is None or operation.role not in {*Role} or not isinstance(node, Node):
        return None
    if not isinstance(error, Forbidden) or call_of(request) is None or explain is None:
        return None
    try:
        found: DenialDetails | None = explain(request, node.address, Role(operation.role))
    except Exception as problem:  # a page about an error must not become another
        log.warning("the refusal of request %s was not explained: %s", request.request_id, cause_of(problem))
        return None
    return found


def includeme(config: Configurator) -> None:
    config.registry.explain_refusal = None
    config.add_directive("set_denial_explainer", set_denial_explainer)
