"""The API of identities."""

from __future__ import annotations

from typing import Any

from secretsvc.identity import domain, schemas
from secretsvc.web.tree import Root
from secretsvc.web.views import ANY_IDENTITY


def who_am_i(_context: Root, request: Any) -> Any:
    """`GET /whoami`."""
    return domain.who_am_i(request.call)


def includeme(config: Any) -> None:
    """Declares the operations."""
    config.add_api_view(
        who_am_i,
        context=Root,
        name="whoami",
        operation_id="whoAmI",
        summary="Tell who the caller is",
        role=ANY_IDENTITY,
        response=schemas.WhoAmI(),
    )
