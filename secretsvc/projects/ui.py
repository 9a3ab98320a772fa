"""The pages of projects and environments: to make, change and delete them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import NamedTuple

from secretsvc.db.paging import Window
from secretsvc.kernel.authorization import Role, ScopePath
from secretsvc.kernel.errors import ValidationFailed
from secretsvc.projects import domain, schemas
from secretsvc.projects.resources import Environment, Environments, Project, Projects
from secretsvc.projects.rules import EnvironmentRow, ProjectRow
from secretsvc.web.config import ServiceConfigurator
from secretsvc.web.forms import unix_lines
from secretsvc.web.pages.directives import PageOptions, cursor_of, redirect_after_form
from secretsvc.web.pages.navigation import MAIN
from secretsvc.web.query import parse_query
from secretsvc.web.request import ServiceRequest
from secretsvc.web.schema import TextFilter, Values, validate
from secretsvc.web.tree import PAGES
from secretsvc.web.views import ANY_IDENTITY, VISIBLE

#: Characters of a name.
LONGEST_NAME = 256
#: How many projects stand on one page.
LIMIT = 100
#: What a project is suggested to begin with, in the order in which changes are promoted.
FIRST_ENVIRONMENTS = ("Development", "Staging", "Production")
MOST_ENVIRONMENTS = 20


class ShownProject(NamedTuple):
    """A project with its environments."""

    project: ProjectRow
    environments: Sequence[EnvironmentRow]

    @property
    def changed_at(self) -> int:
        """When the project or one of its environments was last changed, in epoch milliseconds."""
        return max([self.project.updated_at, *(one.updated_at for one in self.environments)])


def projects_page(_context: Projects, request: ServiceRequest) -> object:
    """The projects that the caller sees, or those that a text picks out, and the panel that makes one."""
    text = validate(TextFilter(), {"q": parse_query(request.environ).get("q", "")})["q"]
    page = domain.list_projects(request.call, Window(LIMIT, cursor_of(request)), text)
    environments = domain.visible_environments(request.call, page.items)
    request.form.label("slug", "Address")
    return {
        "projects": [ShownProject(one, environments[one.id]) for one in page.items],
        "text": text,
        "next_cursor": page.next_cursor,
        "creates": _opens(request, "new"),
        "suggested": "\n".join(FIRST_ENVIRONMENTS),
    }


def create_project(context: Projects, request: ServiceRequest) -> object:
    """Makes a project with its first environments, and leads on to where keys can be brought to it."""
    form = request.form
    _slug_from_name(request)
    body = form.read(schemas.CreateProjectBody(), "slug", "name", "description")
    bodies = _environments(request)
    created = domain.create_project(request.call, **body)
    made = [domain.create_environment(request.call, ScopePath(created.slug), **one) for one in bodies]
    if made and form["protect"]:
        at = ScopePath(created.slug, made[-1].slug)
        domain.update_environment(request.call, at, {"protected": True})
    path = f"{context.path(PAGES)}/{created.slug}"
    return redirect_after_form(
        f"{path}/environments/{made[0].slug}/import" if made else path, "created", created.slug
    )


def _environments(request: ServiceRequest) -> list[Values]:
    """The environments that a form names: ticked ones, and one a line. Raises `ValidationFailed`."""
    ticked = [name for name in FIRST_ENVIRONMENTS if request.form[f"environment.{slug_of(name)}"]]
    typed = [line.strip() for line in unix_lines(request.form["environments"]).split("\n")]
    names = [*dict.fromkeys([*ticked, *filter(None, typed)])]
    found = []
    for name in names[:MOST_ENVIRONMENTS]:
        try:
            found.append(validate(schemas.CreateEnvironmentBody(), {"slug": slug_of(name), "name": name}))
        except ValidationFailed:
            raise ValidationFailed.at(
                "environments", f"“{name[:80]}” makes no address: use letters."
            ) from None
    if len(names) > MOST_ENVIRONMENTS:
        raise ValidationFailed.at("environments", f"At most {MOST_ENVIRONMENTS} to begin with.")
    if len({one["slug"] for one in found}) < len(found):
        raise ValidationFailed.at("environments", "Two of these names have the same address.")
    return found


def slug_of(name: str) -> str:
    """The address that a name makes: "Web shop" is `web-shop`; empty where it has no letter and no digit."""
    # To sort many marks takes the square of their number: of a longer name only the beginning counts.
    decomposed = unicodedata.normalize("NFKD", name[:LONGEST_NAME])
    letters = (one for one in decomposed if not unicodedata.combining(one))
    plain = "".join(letters).lower()
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:64].rstrip("-")


def _slug_from_name(request: ServiceRequest) -> None:
    """Where no address was typed, the name makes it."""
    form = request.form
    form.label("slug", "Address")
    if not form["slug"].strip():
        form.values["slug"] = slug_of(form["name"])


def _opens(request: ServiceRequest, word: str) -> bool:
    """Whether the panel of a page is open: its address says so, or its form was refused."""
    return request.form.error is not None or word in parse_query(request.environ)


def project_settings(context: Project, request: ServiceRequest) -> object:
    """What can be changed of a project, and its environments."""
    request.form.label("confirm", "Address")
    return {
        "thing": "project",
        "role": Role.WRITER,
        "scope": domain.get_project(request.call, context.address),
        "environments": domain.list_environments(request.call, context.address),
    }


def update_project(context: Project, request: ServiceRequest) -> object:
    """Changes the name and the description."""
    body = request.form.read(schemas.UpdateProjectBody(), "name", "description")
    domain.update_project(request.call, context.address, body, request.form.seen)
    return redirect_after_form(f"{context.path(PAGES)}/settings", "saved")


def delete_project(context: Project, request: ServiceRequest) -> object:
    """Deletes a project whose slug was typed to confirm it."""
    request.form.confirm(context.__name__)
    domain.delete_project(request.call, context.address)
    return redirect_after_form("/", "deleted", context.__name__)


def environments_page(context: Environments, request: ServiceRequest) -> object:
    """The project's environments, and the panel that makes another."""
    request.form.label("slug", "Address")
    return {
        "environments": domain.list_environments(request.call, context.address),
        "creates": _opens(request, "new"),
    }


def create_environment(context: Environments, request: ServiceRequest) -> object:
    """Makes an environment and leads on to it."""
    _slug_from_name(request)
    body = request.form.read(schemas.CreateEnvironmentBody(), "slug", "name", "description")
    created = domain.create_environment(request.call, context.address, **body)
    if request.form["protect"]:
        at = ScopePath(context.address.project, created.slug)
        domain.update_environment(request.call, at, {"protected": True})
    return redirect_after_form(f"{context.path(PAGES)}/{created.slug}", "created", created.slug)


def environment_settings(context: Environment, request: ServiceRequest) -> object:
    """What can be changed of an environment, and its deletion."""
    request.form.label("confirm", "Address")
    found = domain.get_environment(request.call, context.address)
    return {"thing": "environment", "role": Role.ADMIN, "scope": found}


def update_environment(context: Environment, request: ServiceRequest) -> object:
    """Changes the name, the description, and whether it is protected."""
    known = {"protected": bool(request.form["protected"])}
    body = request.form.read(schemas.UpdateEnvironmentBody(), "name", "description", **known)
    domain.update_environment(request.call, context.address, body, request.form.seen)
    return redirect_after_form(f"{context.path(PAGES)}/settings", "saved")


def delete_environment(context: Environment, request: ServiceRequest) -> object:
    """Deletes an environment whose slug was typed to confirm it."""
    request.form.confirm(context.__name__)
    domain.delete_environment(request.call, context.address)
    parent = next(node for node in context.lineage() if isinstance(node, Project))
    return redirect_after_form(parent.path(PAGES), "deleted", context.__name__)


def includeme(config: ServiceConfigurator) -> None:
    _declare_projects(config)
    _declare_environments(config)


def _declare_projects(config: ServiceConfigurator) -> None:
    templates = "secretsvc.projects:templates"
    page: PageOptions[Projects] = {"context": Projects, "template": f"{templates}/projects.pt"}
    config.add_page(projects_page, role=ANY_IDENTITY, **page)
    config.add_form(create_project, role=Role.WRITER, rerender=projects_page, **page)
    settings: PageOptions[Project] = {"context": Project, "template": f"{templates}/settings.pt"}
    config.add_page(project_settings, name="settings", role=VISIBLE, **settings)
    config.add_form(update_project, name="settings", role=Role.WRITER, rerender=project_settings, **settings)
    config.add_form(delete_project, name="delete", role=Role.ADMIN, rerender=project_settings, **settings)
    config.add_navigation("Projects", "/projects", order=20, icon="box", section=MAIN)
    config.add_tab("Settings", context=Project, name="settings", role=VISIBLE, order=50, icon="settings")


def _declare_environments(config: ServiceConfigurator) -> None:
    templates = "secretsvc.projects:templates"
    several: PageOptions[Environments] = {"context": Environments, "template": f"{templates}/environments.pt"}
    config.add_page(environments_page, role=VISIBLE, **several)
    config.add_form(create_environment, role=Role.WRITER, rerender=environments_page, **several)
    page: PageOptions[Environment] = {"context": Environment, "template": f"{templates}/settings.pt"}
    config.add_page(environment_settings, name="settings", role=Role.READER, **page)
    config.add_form(
        update_environment, name="settings", role=Role.ADMIN, rerender=environment_settings, **page
    )
    config.add_form(delete_environment, name="delete", role=Role.ADMIN, rerender=environment_settings, **page)
    config.add_tab("Settings", context=Environment, name="settings", role=Role.READER, order=50)
