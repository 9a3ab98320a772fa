"""The authentication tween: before routing, so that unknown paths answer 401 to whoever is unknown."""

from __future__ import annotations

from functools import partial

from limits import RateLimitItem
from pyramid.response import Response
from pyramid.tweens import EXCVIEW

from secretsvc.authentication.authenticator import Authenticator
from secretsvc.authorization.rules.admission import IdentityAdmission
from secretsvc.authorization.rules.last_admin import admin_exists
from secretsvc.authorization.rules.origins import OtherIssuer
from secretsvc.db.session import Session
from secretsvc.kernel.clock import now_ms
from secretsvc.kernel.errors import PayloadTooLarge
from secretsvc.kernel.use_case import UseCaseContext
from secretsvc.web.config import ServiceConfigurator
from secretsvc.web.cross_site import refuse_cross_site
from secretsvc.web.request import Handler, ServiceRegistry, ServiceRequest
from secretsvc.web.views import SAFE_METHODS


def authentication_tween(handler: Handler, registry: ServiceRegistry) -> Handler:
    """Verify, classify, admit; then the refusals that need no route."""
    settings, database = registry.service_settings, registry.database
    authenticator = registry.authenticator = Authenticator(settings, registry.refusals)

    def tween(request: ServiceRequest) -> Response:
        if request.method in SAFE_METHODS and request.environ["PATH_INFO"] in registry.public_paths:
            return handler(request)
        now = now_ms()
        proven = authenticator.authenticate(request.environ, now, request.request_id)
        session = database.session(request.tm)
        found = partial(authenticator.judge_bearer, request_id=request.request_id)
        admission = IdentityAdmission(session, settings, request.client_address)
        try:
            actor, snapshot = admission.admit(proven, now, request.request_id, found)
        except OtherIssuer as refusal:
            authenticator.note(refusal, request.environ, request.request_id)
            raise
        request.call = UseCaseContext(
            actor,
            snapshot,
            now,
            request.request_id,
            settings,
            connect=session.connection,
            abandon=session.restart,
            load_ring=registry.load_ring,
            admission=registry.plaintext_budget.admission(actor.identity_id),
            counter=partial(_count, authenticator, session),
            client_address=request.client_address,
        )
        _check_body(request, settings.body_max_bytes)
        if request.method not in SAFE_METHODS:
            refuse_cross_site(request, "Requests from other sites are refused.")
        return handler(request)

    return tween


def _count(
    authenticator: Authenticator, session: Session, limit: RateLimitItem, amount: int, names: tuple[str, ...]
) -> None:
    session.when_undone(authenticator.counter.take(limit, amount, *names))


def _check_body(request: ServiceRequest, limit: int) -> None:
    """Refuses a body over the limit; one that does not tell its length is read to know (contract 2)."""
    if request.content_length is None and request.is_body_readable:
        request.body = request.body_file_raw.read(limit + 1)
    if (request.content_length or 0) > limit:
        raise PayloadTooLarge(f"The body is over {limit} bytes.")


def includeme(config: ServiceConfigurator) -> None:
    """Installs the tween under the exception views, which answer what it raises.

    And puts on the registry what readiness asks of the database (contract 17.7).
    """
    config.registry.admin_exists = admin_exists
    config.add_tween(f"{__name__}.authentication_tween", under=EXCVIEW)
