"""The API of the sealed log: its head, and the key that the head is verified by (contract 7.3)."""

from __future__ import annotations

from secretsvc.kernel.authorization import Role
from secretsvc.sealedlog import domain
from secretsvc.sealedlog.resources import Audit
from secretsvc.web.config import ServiceConfigurator
from secretsvc.web.request import ServiceRequest
from secretsvc.web.schema import Document
from secretsvc.web.views import ADMIN_ANYWHERE


def checkpoint(_context: Audit, request: ServiceRequest) -> object:
    """`GET /audit/checkpoint`."""
    return _plain(request, domain.checkpoint(request.call))


def verifier_key(_context: Audit, request: ServiceRequest) -> object:
    """`GET /audit/key`."""
    return _plain(request, domain.verifier_key(request.call))


def _plain(request: ServiceRequest, text: str) -> object:
    response = request.response
    response.content_type, response.charset = "text/plain", "utf-8"
    response.text = text
    return response


def includeme(config: ServiceConfigurator) -> None:
    config.include(".resources")
    config.add_api_view(
        checkpoint,
        context=Audit,
        name="checkpoint",
        operation_id="getAuditCheckpoint",
        summary="Get the newest signed head of the sealed log; 404 before anything is sealed",
        role=Role.ADMIN,
        response=Document(),
        media=("text/plain",),
    )
    config.add_api_view(
        verifier_key,
        context=Audit,
        name="key",
        operation_id="getAuditKey",
        summary="Get the key that verifies the heads of the sealed log; 404 before anything is sealed",
        role=ADMIN_ANYWHERE,
        response=Document(),
        media=("text/plain",),
    )
