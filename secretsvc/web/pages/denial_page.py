"""What the page of a refusal tells beside it: the role that is missing, and whom to ask."""

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

#: Explains a refusal at an address, where a role was needed; None where there is nothing to tell.
Explainer = Callable[[ServiceRequest, ScopePath, Role], DenialDetails | None]


def set_denial_explainer(config: Configurator, explain: Explainer) -> None:
    """Directive: how the page of a refusal finds what it tells, in one statement of its own."""
    check_function("explain of set_denial_explainer", explain)
    declare(config, "refusals", "page", partial(setattr, config.registry, "explain_refusal", explain))


def refused(error: SecretsvcError, request: ServiceRequest) -> DenialDetails | None:
    """What there is to tell of an error, if it is a refusal by role.

    To be called when the request's transaction is closed. It never fails: the page then says what it can.
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
