"""The API of projects and environments."""

from __future__ import annotations

from secretsvc.db.paging import Page, Window
from secretsvc.kernel.authorization import Role
from secretsvc.kernel.described import Items
from secretsvc.projects import domain, rules, schemas
from secretsvc.projects.resources import Environment, Environments, Project, Projects
from secretsvc.web.config import ServiceConfigurator
from secretsvc.web.request import ServiceRequest
from secretsvc.web.schema import ListQuery
from secretsvc.web.views import ANY_IDENTITY, VISIBLE, created_at

PROJECT_LINKS = ("getProject", "updateProject", "createEnvironment", "listEnvironments", "deleteProject")


def list_projects(_context: Projects, request: ServiceRequest) -> Page[rules.Project]:
    """`GET /projects`."""
    return domain.list_projects(request.call, Window(**request.query_values))


def create_project(context: Projects, request: ServiceRequest) -> rules.Project:
    """`POST /projects`."""
    created = domain.create_project(request.call, **request.body_values)
    return created_at(request, context, created.slug, created)


def get_project(context: Project, request: ServiceRequest) -> rules.Project:
    """`GET /projects/{project}`."""
    return domain.get_project(request.call, context.address)


def update_project(context: Project, request: ServiceRequest) -> rules.Project:
    """`PATCH /projects/{project}`."""
    return domain.update_project(request.call, context.address, request.body_values)


def delete_project(context: Project, request: ServiceRequest) -> None:
    """`DELETE /projects/{project}`."""
    domain.delete_project(request.call, context.address)


def list_environments(context: Environments, request: ServiceRequest) -> Items[rules.Environment]:
    """`GET /projects/{project}/environments`."""
    return Items(domain.list_environments(request.call, context.address))


def create_environment(context: Environments, request: ServiceRequest) -> rules.Environment:
    """`POST /projects/{project}/environments`."""
    created = domain.create_environment(request.call, context.address, **request.body_values)
    return created_at(request, context, created.slug, created)


def get_environment(context: Environment, request: ServiceRequest) -> rules.Environment:
    """`GET /projects/{project}/environments/{env}`."""
    return domain.get_environment(request.call, context.address)


def update_environment(context: Environment, request: ServiceRequest) -> rules.Environment:
    """`PATCH /projects/{project}/environments/{env}`."""
    return domain.update_environment(request.call, context.address, request.body_values)


def delete_environment(context: Environment, request: ServiceRequest) -> None:
    """`DELETE /projects/{project}/environments/{env}`."""
    domain.delete_environment(request.call, context.address)


def includeme(config: ServiceConfigurator) -> None:
    """Declares the operations."""
    config.include(".resources")
    _declare_projects(config)
    _declare_project(config)
    _declare_environments(config)
    _declare_environment(config)


def _declare_projects(config: ServiceConfigurator) -> None:
    config.add_api_view(
        list_projects,
        context=Projects,
        operation_id="listProjects",
        summary="List the projects that are visible to the caller",
        role=ANY_IDENTITY,
        query=ListQuery(),
    )
    config.add_api_view(
        create_project,
        context=Projects,
        method="POST",
        operation_id="createProject",
        errors=(409,),
        links={name: {"project": "slug"} for name in PROJECT_LINKS},
        summary="Create a project",
        role=Role.WRITER,
        body=schemas.CreateProjectBody(),
        status=201,
    )


def _declare_project(config: ServiceConfigurator) -> None:
    config.add_api_view(
        get_project,
        context=Project,
        operation_id="getProject",
        summary="Get a project",
        role=VISIBLE,
    )
    config.add_api_view(
        update_project,
        context=Project,
        method="PATCH",
        operation_id="updateProject",
        summary="Change a project's name or description",
        role=Role.WRITER,
        body=schemas.UpdateProjectBody(),
    )
    config.add_api_view(
        delete_project,
        context=Project,
        method="DELETE",
        operation_id="deleteProject",
        errors=(409,),
        summary="Delete a project with all that it holds",
        role=Role.ADMIN,
    )


def _declare_environments(config: ServiceConfigurator) -> None:
    config.add_api_view(
        list_environments,
        context=Environments,
        operation_id="listEnvironments",
        summary="List the project's environments that are visible to the caller",
        role=VISIBLE,
    )
    config.add_api_view(
        create_environment,
        context=Environments,
        method="POST",
        operation_id="createEnvironment",
        errors=(409,),
        summary="Create an environment",
        role=Role.WRITER,
        body=schemas.CreateEnvironmentBody(),
        status=201,
    )


def _declare_environment(config: ServiceConfigurator) -> None:
    config.add_api_view(
        get_environment,
        context=Environment,
        operation_id="getEnvironment",
        summary="Get an environment",
        role=Role.READER,
    )
    config.add_api_view(
        update_environment,
        context=Environment,
        method="PATCH",
        operation_id="updateEnvironment",
        summary="Change an environment's name, description or protection",
        role=Role.ADMIN,
        body=schemas.UpdateEnvironmentBody(),
    )
    config.add_api_view(
        delete_environment,
        context=Environment,
        method="DELETE",
        operation_id="deleteEnvironment",
        errors=(409,),
        summary="Delete an environment with its secrets and their history",
        role=Role.ADMIN,
    )
