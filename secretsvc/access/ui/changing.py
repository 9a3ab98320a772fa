"""What buttons do to grants that are there: let them end later, and remove them."""

from __future__ import annotations

from uuid import UUID

from secretsvc.access import schemas
from secretsvc.access.domain import grants as domain
from secretsvc.access.rules.grants import Grant
from secretsvc.access.ui.until import WEEK
from secretsvc.web.forms import Form
from secretsvc.web.pages import see_other
from secretsvc.web.request import ServiceRequest
from secretsvc.web.responses import RelativeResponse
from secretsvc.web.schema import validate


def chosen(form: Form) -> UUID:
    """The id of the row whose button was pressed. Raises `ValidationFailed`."""
    found: UUID = form.read(schemas.ChosenForm(), "chosen")["chosen"]
    return found


def remove_chosen(request: ServiceRequest, back: str) -> RelativeResponse:
    """Removes the chosen grant and leads back to a path."""
    domain.delete_grant(request.call, chosen(request.form))
    return see_other(back, "grant-removed")


def extend_chosen(request: ServiceRequest, back: str) -> RelativeResponse:
    """Lets the chosen grant end a week later than it did when the page was drawn, and leads back."""
    grant_id, _, drawn = request.form["chosen"].partition("/")
    found = validate(schemas.ExtendForm(), {"chosen": grant_id, "drawn": drawn})
    extended = domain.extend_grant(request.call, found["chosen"], found["drawn"], WEEK)
    return see_other(back, "extended" if extended else "unchanged")


def holders_page(granted: Grant) -> str:
    """The path of the page of whoever holds a grant."""
    if granted.group_id is not None:
        return f"/groups/{granted.group_id}"
    return f"/identities/{granted.identity_id}"
