"""The API of the service about itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import orjson
from pyramid.renderers import render

from secretsvc.kernel.errors import ServerMisconfigured
from secretsvc.kernel.release import VERSION
from secretsvc.kernel.schema_annotations import text
from secretsvc.meta.glossary import GLOSSARY
from secretsvc.meta.viewer import CONTENT_SECURITY_POLICY, INTEGRITY, SCRIPT, listed
from secretsvc.web.openapi.document import document
from secretsvc.web.request import ServiceRegistry, ServiceRequest
from secretsvc.web.schema import Document
from secretsvc.web.tree import Root
from secretsvc.web.views import PUBLIC, api_view


@dataclass(frozen=True, slots=True)
class Health:
    """Proof that the service listens."""

    service: Annotated[str, text(0, 64)]
    status: Annotated[str, text(0, 64)]
    version: Annotated[str, text(0, 64)]


@api_view(
    name="health",
    operation_id="health",
    summary="Tell that the service listens and its key ring works",
    role=PUBLIC,
)
def health(_context: Root, request: ServiceRequest) -> Health:
    """`GET /health`: 200 once the key ring proved that it opens what it seals, and nothing more.

    It never waits for the database: of the active key it tells what the last write was told (decision 0025).
    """
    verdict = request.registry.load_ring().verdict
    if verdict is not None and not verdict.is_good:
        raise ServerMisconfigured()
    return Health("secretsvc", "ok", VERSION)


@api_view(
    name="openapi.json",
    operation_id="openapi",
    summary="Describe the API of the running service",
    role=PUBLIC,
    response=Document(),
)
def openapi(_context: Root, request: ServiceRequest) -> object:
    """`GET /openapi.json`: what the service says of its API."""
    request.response.content_type, request.response.charset = "application/json", "utf-8"
    request.response.body = description(request.registry)
    return request.response


@api_view(
    name="docs",
    operation_id="docs",
    summary="Show the API's description as a page",
    role=PUBLIC,
    response=Document(),
    media=("text/html",),
)
def docs(_context: Root, request: ServiceRequest) -> object:
    """`GET /docs`: a viewer of that document, and the list of its operations where no script runs."""
    response = request.response
    response.content_type, response.charset = "text/html", "utf-8"
    response.headers["Content-Security-Policy"] = CONTENT_SECURITY_POLICY
    values = {"script": SCRIPT, "integrity": INTEGRITY, "tags": listed(description(request.registry))}
    response.text = render("secretsvc.meta:templates/viewer.pt", values, request=request)
    return response


def description(registry: ServiceRegistry) -> bytes:
    """The document, made at the first request of the process from its own configuration."""
    if getattr(registry, "openapi", None) is None:
        registry.openapi = orjson.dumps(document(registry, VERSION, GLOSSARY))
    return registry.openapi
