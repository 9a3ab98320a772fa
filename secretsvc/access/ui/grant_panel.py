"""Giving access: the panel that several pages offer under `?grant`, and what its form does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from secretsvc.access import schemas
from secretsvc.access.api import validated_terms
from secretsvc.access.domain import grants as domain
from secretsvc.access.domain import named_grants as grant_domain
from secretsvc.access.domain.named_grants import Scopes
from secretsvc.access.rules.grant_names import NamedGrant
from secretsvc.access.rules.grants import Terms
from secretsvc.access.rules.holders import NOT_YET, FoundHolder
from secretsvc.access.ui.expiry_field import SPANS, read_end, shown_end
from secretsvc.kernel.authorization import Role, ScopePath, decide
from secretsvc.kernel.errors import Conflict, Issue, ValidationFailed
from secretsvc.kernel.sidebar_project import SidebarProject
from secretsvc.kernel.use_case import UseCaseContext
from secretsvc.web.forms import Form
from secretsvc.web.pages.directives import redirect_after_form
from secretsvc.web.query import parse_query
from secretsvc.web.request import ServiceRequest
from secretsvc.web.responses import RelativeResponse
from secretsvc.web.schema import validate

T = TypeVar("T")
EVERYWHERE = "*"
#: What each role lets its holder do, as a choice and in a sentence about some values.
ROLES = (
    ("reader", "Reader", "Reads values and history", "read {}"),
    ("writer", "Writer", "Also adds, changes, rolls back and deletes", "read and change {}"),
    ("admin", "Admin", "Also gives access and reads the audit log", "read and change {}, and to give access"),
)
DEFAULTS = {"role": "reader", "scope": "", "until": "1w", "holder": "", "expires_at": "", "announce": ""}


@dataclass(frozen=True, slots=True)
class Naming:
    """The field that names somebody: what it holds so far, and whom it suggests."""

    form: Form
    holder: FoundHolder | None
    holders: list[FoundHolder]

    def value(self, name: str) -> str:
        """What a field holds."""
        return self.form.values.get(name, DEFAULTS[name])

    @property
    def must_announce(self) -> bool:
        """Whether there is a box to tick for who has not signed in yet."""
        return self.form.issue("holder") == NOT_YET or bool(self.value("announce"))


class Sentence(NamedTuple):
    """What a grant will amount to, the first part in bold."""

    strong: str
    rest: str


@dataclass(frozen=True, slots=True)
class Giving(Naming):
    """The panel: what it holds so far, whom and where it offers, and what stands in the way.

    `holder` is whom the page is about, None where they are to be typed; `scopes` is None inside a project,
    whose environments are offered then.
    """

    call: UseCaseContext
    action: str
    back: str
    scopes: Scopes | None
    twin: NamedGrant | None

    @property
    def roles(self) -> Sequence[tuple[str, ...]]:
        """The choice of roles."""
        return ROLES

    @property
    def spans(self) -> Sequence[tuple[str, str, int | None]]:
        """The choice of spans."""
        return SPANS

    def offers(self, project: str, environment: str | None = None) -> bool:
        """Whether the caller can grant there."""
        return decide(self.call.snapshot, ScopePath(project, environment)) is Role.ADMIN

    def sentence(self, within: SidebarProject | None) -> Sentence | None:
        """What the form as it is would give, None where it says too little."""
        who = self.holder.label if self.holder else self.value("holder").strip()
        end = shown_end(Form(DEFAULTS | self.form.values), self.call.now)
        verb = next((verb for value, *_, verb in ROLES if value == self.value("role")), None)
        scope = self.value("scope")
        if not (who and scope and verb) or end is None:
            return None
        where, values = _where(scope, within)
        until = f" until {end}" if end else ", without an end"
        return Sentence(f"{who} will be able to {verb.format(values)}", f"{where}{until}.")


def opened(
    request: ServiceRequest, *, action: str, holder: FoundHolder | None = None, inside: bool = False
) -> Giving | None:
    """The panel where the address or a refused form asks for it; `inside` a project it needs no scopes.

    One or two statements, and one more where the same grant is there already.
    """
    query, form, call = parse_query(request.environ), request.form, request.call
    if "role" not in form.values:
        if "grant" not in query:
            return None
        form.values.update({name: query[name] for name in DEFAULTS if name in query})
    holders = [] if holder else grant_domain.known_holders(call)
    scopes = None if inside else grant_domain.grantable_scopes(call)
    back = action.removesuffix("/give")
    return Giving(form, holder, holders, call, action, back, scopes, _twin(request, holder))


def naming(request: ServiceRequest, *, groups: bool) -> Naming:
    """The field alone; one statement."""
    return Naming(request.form, None, grant_domain.known_holders(request.call, groups=groups))


def give(request: ServiceRequest, back: str, holder: FoundHolder | None = None) -> RelativeResponse:
    """Gives what the form says, or gives the grant that is there another end, and leads back.

    Raises `ValidationFailed` with all that is wrong, `Conflict`, and as granting does.
    """
    call, form = request.call, request.form
    form.label("holder", "Who")
    form.label("scope", "Where")
    form.label("expires_at", "Until")
    found, terms = _asked(request, holder, announce=form["announce"] == "yes")
    if form["instead"]:
        chosen = form.read(schemas.InsteadForm(), "instead")["instead"]
        domain.update_grant(call, chosen, {"expires_at": terms.expires_at})
        return redirect_after_form(back, "extended")
    grant_domain.grant_to(call, found, terms)
    return redirect_after_form(back, "granted")


def read_holder(request: ServiceRequest, *, announce: bool, groups: bool = True) -> FoundHolder:
    """Whom a form names. Raises `ValidationFailed`."""
    name = request.form.read(schemas.WhoForm(), "holder")["holder"]
    return grant_domain.whom(request.call, name, announce=announce, groups=groups)


def scope_words(scope: str) -> dict[str, str]:
    """A scope as the choice of scopes writes it: everywhere, a project, or a project and its environment."""
    if not scope:
        raise ValidationFailed.at("scope", "Choose where it is to hold.")
    if scope == EVERYWHERE:
        return {"scope_type": "global"}
    project, slash, environment = scope.partition("/")
    if slash:
        return {"scope_type": "environment", "project": project, "environment": environment}
    return {"scope_type": "project", "project": project}


def _asked(
    request: ServiceRequest, holder: FoundHolder | None, *, announce: bool
) -> tuple[FoundHolder, Terms]:
    """Whom and what a form names. Raises `ValidationFailed` with everything that is wrong."""
    issues: list[Issue] = []
    terms = _noting(issues, lambda: _read_terms(request))
    found = holder or _noting(issues, lambda: read_holder(request, announce=announce))
    if issues or found is None or terms is None:
        raise ValidationFailed(issues=tuple(issues))
    return found, terms


def _noting(issues: list[Issue], read: Callable[[], T]) -> T | None:
    try:
        return read()
    except ValidationFailed as error:
        issues[:0] = error.issues
        return None


def _read_terms(request: ServiceRequest) -> Terms:
    form, issues = request.form, list[Issue]()
    scope = _noting(issues, lambda: scope_words(form["scope"])) or {"scope_type": "global"}
    end = _noting(issues, lambda: read_end(request))
    values = {"role": form["role"], "expires_at": end, **scope}
    body = _noting(issues, lambda: validate(schemas.create_group_grant_body(), values))
    if issues or body is None:
        at_scope = ("project", "environment", "scope_type")
        moved = (Issue("scope", one.message) if one.path in at_scope else one for one in issues)
        raise ValidationFailed(issues=tuple(moved))
    return validated_terms(body)


def _twin(request: ServiceRequest, holder: FoundHolder | None) -> NamedGrant | None:
    """What is there already, where the form was refused because of it."""
    if not isinstance(request.form.error, Conflict):
        return None
    with suppress(ValidationFailed):
        return grant_domain.same_grant(request.call, *_asked(request, holder, announce=False))
    return None


def _where(scope: str, within: SidebarProject | None) -> tuple[str, str]:
    """Where a scope is, and how many values it has, in words."""
    if scope == EVERYWHERE:
        return "in every project", "every value"
    project, _, slug = scope.partition("/")
    if within is None or within.slug != project:
        return f"in {scope.replace('/', ' / ')}", "every value"
    environment = within.environment(slug)
    if environment is None:
        return "in the whole project", "every value"
    values = "1 value" if environment.keys == 1 else f"{environment.keys:,} values"
    return f"in {environment.name}", values
