"""Requests that a browser sends for another site (contract 3.15, 3.21, 4.10)."""

from __future__ import annotations

from collections.abc import Mapping

from secretsvc.kernel.errors import Forbidden
from secretsvc.kernel.origins import Origin, at_authority, parse_origin
from secretsvc.kernel.rejections import RejectionReason, claimed_facts
from secretsvc.web.request import ServiceRequest


def refuse_cross_site(request: ServiceRequest, message: str) -> None:
    """Raises `Forbidden` with the message, or `ServerMisconfigured` where `PUBLIC_ORIGIN` is malformed."""
    environ, registry = request.environ, request.registry
    reason = cross_site(environ, registry.service_settings.public_origin)
    if reason is None:
        return
    named = {"site": environ.get("HTTP_SEC_FETCH_SITE"), "origin": environ.get("HTTP_ORIGIN")}
    registry.refusals.note(reason, request.request_id, lambda: claimed_facts(named))
    raise Forbidden(message)


def cross_site(environ: Mapping[str, str], public: Origin | None) -> RejectionReason | None:
    """What says that another site asks. Clients that are no browser say nothing.

    `public` is the one origin of the pages where that is known; elsewhere the request's own host is taken,
    under either scheme.
    """
    site, origin = environ.get("HTTP_SEC_FETCH_SITE"), environ.get("HTTP_ORIGIN")
    if site is not None:
        return None if site in ("same-origin", "none") else RejectionReason.FETCH_SITE
    if origin is None:
        return None
    try:
        named = parse_origin(origin)
        here = public or at_authority(named.scheme, environ.get("HTTP_HOST", ""))
    except ValueError:
        return RejectionReason.ORIGIN
    return None if named == here else RejectionReason.ORIGIN
