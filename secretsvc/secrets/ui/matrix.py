"""The matrix of a project: its keys against its environments."""

from __future__ import annotations

from secretsvc.projects.resources import Project
from secretsvc.secrets.domain import matrix as matrix_domain
from secretsvc.secrets.domain.place import find_place
from secretsvc.web.config import ServiceConfigurator
from secretsvc.web.query import parse_query
from secretsvc.web.request import ServiceRequest
from secretsvc.web.views import VISIBLE


def matrix(context: Project, request: ServiceRequest) -> object:
    """Keys against environments, filtered by `q` and by `missing`."""
    query = parse_query(request.environ)
    text, missing_only = query.get("q", ""), "missing" in query
    found = matrix_domain.key_matrix(request.call, context.address, text, missing_only=missing_only)
    return {"matrix": found, "text": text, "missing_only": missing_only}


def includeme(config: ServiceConfigurator) -> None:
    """Declares the page, and how the shell finds the project of each page."""
    config.set_place(find_place)
    config.add_page(matrix, context=Project, role=VISIBLE, template="secretsvc.secrets:templates/matrix.pt")
    config.add_tab("All keys", context=Project, role=VISIBLE, order=10, icon="grid-3x3")
