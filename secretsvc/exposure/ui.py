"""The page of what an identity has seen, and what of it must be replaced."""

from __future__ import annotations

from itertools import groupby
from operator import attrgetter

from secretsvc.exposure import domain, schemas
from secretsvc.identity.resources import Identity
from secretsvc.web.config import ServiceConfigurator
from secretsvc.web.query import parse_query, with_query
from secretsvc.web.request import ServiceRequest
from secretsvc.web.schema import validate
from secretsvc.web.tree import PAGES
from secretsvc.web.views import ADMIN_SOMEWHERE

#: The number of values on a page, in force or not.
LIMIT = "500"


def exposure_page(context: Identity, request: ServiceRequest) -> object:
    """The values that an identity was given or wrote, by environment, and which of them are in force."""
    asked = parse_query(request.environ)
    given = {"limit": LIMIT, **{name: asked[name] for name in ("cursor",) if name in asked}}
    query = validate(schemas.ExposureQuery(), given)
    found = domain.exposure_of(request.call, context.id, query["limit"], query.get("cursor"))
    everything = asked.get("show") == "all"
    in_force = [one for one in found.items if one.current]
    shown = found.items if everything else in_force
    path = context.path(PAGES)
    # Only then does the page say anything about all of them.
    is_whole = "cursor" not in given and found.next_cursor is None
    here = f"{path}/exposure"
    return {
        "exposure": found,
        "whole": is_whole,
        "path": path,
        "segments": [
            (label, with_query(here, asked, show=show), number if is_whole else None, is_current, kind)
            for label, show, number, is_current, kind in (
                ("Still in force", None, len(in_force), not everything, "warn"),
                ("All", "all", len(found.items), everything, ""),
            )
        ],
        "everything": everything,
        "in_force": len(in_force),
        "environments": [
            (*slugs, [*items]) for slugs, items in groupby(shown, key=attrgetter("project", "environment"))
        ],
    }


def includeme(config: ServiceConfigurator) -> None:
    config.add_page(
        exposure_page,
        context=Identity,
        name="exposure",
        template="secretsvc.exposure:templates/exposure.pt",
        role=ADMIN_SOMEWHERE,
    )
