"""What buttons do to grants that are there: let them end later, and remove them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from uuid import UUID

from secretsvc.access import schemas
from secretsvc.access.domain import grants as domain
from secretsvc.access.rules.grants import GrantRow
from secretsvc.access.ui.expiry_field import WEEK
from secretsvc.kernel.authorization import Role
from secretsvc.web.config import ServiceConfigurator
from secretsvc.web.forms import Form
from secretsvc.web.pages.directives import PageOptions, redirect_after_form, see_removed
from secretsvc.web.request import ServiceRequest
from secretsvc.web.responses import RelativeResponse
from secretsvc.web.schema import validate
from secretsvc.web.tree import PAGES, N


def pressed_row(form: Form) -> UUID:
    """The id of the row whose button was pressed. Raises `ValidationFailed`."""
    found: UUID = form.read(schemas.ChosenForm(), "chosen")["chosen"]
    return found


def add_grant_forms(
    config: ServiceConfigurator,
    page: PageOptions[N],
    rerender: Callable[[N, ServiceRequest], object],
    role: Role | str,
    back: Callable[[N], str] = lambda node: node.path(PAGES),
) -> None:
    """Declares what the buttons beside the grants of a page do; `back` is the path that they lead to."""

    def remove_grant(context: N, request: ServiceRequest) -> RelativeResponse:
        remove = partial(domain.delete_grant, request.call, pressed_row(request.form))
        return see_removed(back(context), "grant-removed", remove)

    def extend_grant(context: N, request: ServiceRequest) -> RelativeResponse:
        """By a week from when it ended as the page was drawn."""
        grant_id, _, drawn = request.form["chosen"].partition("/")
        found = validate(schemas.ExtendForm(), {"chosen": grant_id, "drawn": drawn})
        extended = domain.extend_grant(request.call, found["chosen"], found["drawn"], length=WEEK)
        return redirect_after_form(back(context), "extended" if extended else "unchanged")

    config.add_form(remove_grant, name="remove-grant", role=role, rerender=rerender, **page)
    config.add_form(extend_grant, name="extend-grant", role=role, rerender=rerender, **page)


def holders_page(granted: GrantRow) -> str:
    """The path of the page of whoever holds a grant."""
    if granted.group_id is not None:
        return f"/groups/{granted.group_id}"
    return f"/identities/{granted.identity_id}"
