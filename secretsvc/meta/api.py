"""The API of the service about itself."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

from secretsvc.meta import schemas
from secretsvc.web.tree import Root
from secretsvc.web.views import PUBLIC

VERSION = version("secretsvc")


def health(_context: Root, request: Any) -> Any:
    """`GET /health`: 200 once the key ring proved that it opens what it seals, and nothing more."""
    request.registry.load_ring()
    return {"service": "secretsvc", "status": "ok", "version": VERSION}


def includeme(config: Any) -> None:
    """Declares the operations."""
    config.add_api_view(
        health,
        context=Root,
        name="health",
        operation_id="health",
        summary="Tell that the service listens and its key ring works",
        role=PUBLIC,
        response=schemas.Health(),
    )
