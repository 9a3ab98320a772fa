"""Keys selected in the matrix are deleted from one environment, whose review follows."""

from __future__ import annotations

from secretsvc.kernel.errors import ValidationFailed
from secretsvc.projects.resources import Project
from secretsvc.secrets.domain import matrix as matrix_domain
from secretsvc.secrets.domain.matrix import MISSING
from secretsvc.secrets.ui.matrix import matrix, may_write
from secretsvc.secrets.ui.selection import SELECT_ONE, ticked
from secretsvc.web.config import ServiceConfigurator
from secretsvc.web.request import ServiceRequest
from secretsvc.web.views import PROJECT_VISIBLE

TEMPLATES = "secretsvc.secrets:templates"


def delete_keys(context: Project, request: ServiceRequest) -> object:
    """The environments to delete the selected keys from, or the one of a row's menu: each with its review."""
    form = request.form
    keys = [form["only"]] if form["only"] else ticked(form)
    form.label("keys", "Keys", "main")
    if not keys:
        raise ValidationFailed.at("keys", SELECT_ONE)
    matrix = matrix_domain.key_matrix(request.call, context.address, base="")
    chosen = [row for row in matrix.rows if row.key in {*keys}]
    holding = [
        (one, sum(row.cells[index].state != MISSING for row in chosen))
        for index, one in enumerate(matrix.environments)
        if may_write(context, request, one.slug)
    ]
    return {"keys": [row.key for row in chosen], "environments": [one for one in holding if one[1]]}


def rerendered(context: Project, request: ServiceRequest) -> object:
    """The matrix, which says what was wrong."""
    request.override_renderer = f"{TEMPLATES}/matrix.pt"
    return matrix(context, request)


def includeme(config: ServiceConfigurator) -> None:
    config.add_form(
        delete_keys,
        context=Project,
        name="delete-keys",
        role=PROJECT_VISIBLE,
        rerender=rerendered,
        template=f"{TEMPLATES}/delete.pt",
    )
