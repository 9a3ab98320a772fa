"""The pages of projects and environments: to make, change and delete them."""

from __future__ import annotations

from secretsvc.db.paging import Window
from secretsvc.kernel.authorization import Role
from secretsvc.projects import domain, schemas
from secretsvc.projects.resources import Environment, Environments, Project, Projects
from secretsvc.web.config import ServiceConfigurator
from secretsvc.web.navigation import MAIN
from secretsvc.web.pages import Drawn, cursor_of, see_other
from secretsvc.web.request import ServiceRequest
from secretsvc.web.tree import PAGES
from secretsvc.web.views import ANY_IDENTITY, VISIBLE

#: How many projects stand on one page.
LIMIT = 100


def projects_page(_context: Projects, request: ServiceRequest) -> object:
    """The projects that the caller sees, with their environments."""
    return project_list(request)


def project_list(request: ServiceRequest) -> dict[str, object]:
    """A page of visible projects, each with its environments, and the cursor of the next."""
    page = domain.list_projects(request.call, Window(LIMIT, cursor_of(request)))
    environments = domain.environments_of(request.call, page.items)
    return {"projects": page.items, "environments": environments, "next_cursor": page.next_cursor}


def create_project(context: Projects, request: ServiceRequest) -> object:
    """Makes a project and leads on to it."""
    body = request.form.read(schemas.CreateProjectBody(), "slug", "name", "description")
    created = domain.create_project(request.call, **body)
    return see_other(f"{context.path(PAGES)}/{created.slug}", "created")


def project_settings(context: Project, request: ServiceRequest) -> object:
    """What can be changed of a project, and its environments."""
    found = domain.get_project(request.call, context.address)
    return {"project": found, "environments": domain.list_environments(request.call, context.address)}


def update_project(context: Project, request: ServiceRequest) -> object:
    """Changes the name and the description."""
    body = request.form.read(schemas.UpdateProjectBody(), "name", "description")
    domain.update_project(request.call, context.address, body)
    return see_other(f"{context.path(PAGES)}/settings", "saved")


def delete_project(context: Project, request: ServiceRequest) -> object:
    """Deletes a project whose slug was typed to confirm it."""
    request.form.confirm(context.__name__)
    domain.delete_project(request.call, context.address)
    return see_other("/", "deleted")


def environments_page(context: Environments, request: ServiceRequest) -> object:
    """The project's environments, with a form for another."""
    return {"environments": domain.list_environments(request.call, context.address)}


def create_environment(context: Environments, request: ServiceRequest) -> object:
    """Makes an environment and leads on to it."""
    body = request.form.read(schemas.CreateEnvironmentBody(), "slug", "name", "description")
    created = domain.create_environment(request.call, context.address, **body)
    return see_other(f"{context.path(PAGES)}/{created.slug}", "created")


def environment_settings(context: Environment, request: ServiceRequest) -> object:
    """What there is to know of an environment, and its deletion."""
    return {"environment": domain.get_environment(request.call, context.address)}


def delete_environment(context: Environment, request: ServiceRequest) -> object:
    """Deletes an environment whose slug was typed to confirm it."""
    request.form.confirm(context.__name__)
    domain.delete_environment(request.call, context.address)
    parent = next(node for node in context.lineage() if isinstance(node, Project))
    return see_other(parent.path(PAGES), "deleted")


def includeme(config: ServiceConfigurator) -> None:
    """Declares the pages."""
    _declare_projects(config)
    _declare_environments(config)


def _declare_projects(config: ServiceConfigurator) -> None:
    templates = "secretsvc.projects:templates"
    page: Drawn[Projects] = {"context": Projects, "template": f"{templates}/projects.pt"}
    config.add_page(projects_page, role=ANY_IDENTITY, **page)
    config.add_form(create_project, role=Role.WRITER, redraw=projects_page, **page)
    settings: Drawn[Project] = {"context": Project, "template": f"{templates}/project-settings.pt"}
    config.add_page(project_settings, name="settings", role=VISIBLE, **settings)
    config.add_form(update_project, name="settings", role=Role.WRITER, redraw=project_settings, **settings)
    config.add_form(delete_project, name="delete", role=Role.ADMIN, redraw=project_settings, **settings)
    config.add_navigation("Projects", "/projects", order=20, icon="box", section=MAIN)
    config.add_tab("Settings", context=Project, name="settings", role=VISIBLE, order=50, icon="settings")


def _declare_environments(config: ServiceConfigurator) -> None:
    templates = "secretsvc.projects:templates"
    several: Drawn[Environments] = {"context": Environments, "template": f"{templates}/environments.pt"}
    config.add_page(environments_page, role=VISIBLE, **several)
    config.add_form(create_environment, role=Role.WRITER, redraw=environments_page, **several)
    page: Drawn[Environment] = {
        "context": Environment,
        "template": f"{templates}/environment-settings.pt",
    }
    config.add_page(environment_settings, name="settings", role=Role.READER, **page)
    config.add_form(delete_environment, name="delete", role=Role.ADMIN, redraw=environment_settings, **page)
    config.add_tab("Settings", context=Environment, name="settings", role=Role.READER, order=50)
