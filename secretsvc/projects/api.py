"""The API of projects and environments."""

from __future__ import annotations

from secretsvc.db.paging import Page, Window
from secretsvc.kernel.authorization import Role
from secretsvc.kernel.schema_annotations import Items
from secretsvc.projects import domain, rules, schemas
from secretsvc.projects.resources import Environment, Environments, Project, Projects
from secretsvc.web.request import ServiceRequest
from secretsvc.web.schema import ListQuery
from secretsvc.web.views import ANY_IDENTITY, PROJECT_VISIBLE, api_view, created_at

PROJECT_LINKS = ("getProject", "updateProject", "createEnvironment", "listEnvironments", "deleteProject")


@api_view(
    operation_id="listProjects",
    summary="List the projects that are visible to the caller",
    role=ANY_IDENTITY,
    query=ListQuery(),
)
def list_projects(_context: Projects, request: ServiceRequest) -> Page[rules.ProjectRow]:
    """`GET /projects`."""
    return domain.list_projects(request.call, Window(**request.query_values))


@api_view(
    method="POST",
    operation_id="createProject",
    errors=(409,),
    links={name: {"project": "slug"} for name in PROJECT_LINKS},
    summary="Create a project",
    role=Role.WRITER,
    body=schemas.CreateProjectBody(),
    status=201,
)
def create_project(context: Projects, request: ServiceRequest) -> rules.ProjectRow:
    """`POST /projects`."""
    created = domain.create_project(request.call, **request.body_values)
    return created_at(request, context, created.slug, created)


@api_view(
    operation_id="getProject",
    summary="Get a project",
    role=PROJECT_VISIBLE,
)
def get_project(context: Project, request: ServiceRequest) -> rules.ProjectRow:
    """`GET /projects/{project}`."""
    return domain.get_project(request.call, context.address)


@api_view(
    method="PATCH",
    operation_id="updateProject",
    summary="Change a project's name or description",
    role=Role.WRITER,
    body=schemas.UpdateProjectBody(),
)
def update_project(context: Project, request: ServiceRequest) -> rules.ProjectRow:
    """`PATCH /projects/{project}`."""
    return domain.update_project(request.call, context.address, request.body_values)


@api_view(
    method="DELETE",
    operation_id="deleteProject",
    errors=(409,),
    summary="Delete a project with all that it holds",
    role=Role.ADMIN,
)
def delete_project(context: Project, request: ServiceRequest) -> None:
    """`DELETE /projects/{project}`."""
    domain.delete_project(request.call, context.address)


@api_view(
    operation_id="listEnvironments",
    summary="List the project's environments that are visible to the caller",
    role=PROJECT_VISIBLE,
)
def list_environments(context: Environments, request: ServiceRequest) -> Items[rules.EnvironmentRow]:
    """`GET /projects/{project}/environments`."""
    return Items(domain.list_environments(request.call, context.address))


@api_view(
    method="POST",
    operation_id="createEnvironment",
    errors=(409,),
    summary="Create an environment",
    role=Role.WRITER,
    body=schemas.CreateEnvironmentBody(),
    status=201,
)
def create_environment(context: Environments, request: ServiceRequest) -> rules.EnvironmentRow:
    """`POST /projects/{project}/environments`."""
    created = domain.create_environment(request.call, context.address, **request.body_values)
    return created_at(request, context, created.slug, created)


@api_view(
    operation_id="getEnvironment",
    summary="Get an environment",
    role=Role.READER,
)
def get_environment(context: Environment, request: ServiceRequest) -> rules.EnvironmentRow:
    """`GET /projects/{project}/environments/{env}`."""
    return domain.get_environment(request.call, context.address)


@api_view(
    method="PATCH",
    operation_id="updateEnvironment",
    summary="Change an environment's name, description or protection",
    role=Role.ADMIN,
    body=schemas.UpdateEnvironmentBody(),
)
def update_environment(context: Environment, request: ServiceRequest) -> rules.EnvironmentRow:
    """`PATCH /projects/{project}/environments/{env}`."""
    return domain.update_environment(request.call, context.address, request.body_values)


@api_view(
    method="DELETE",
    operation_id="deleteEnvironment",
    errors=(409,),
    summary="Delete an environment with its secrets and their history",
    role=Role.ADMIN,
)
def delete_environment(context: Environment, request: ServiceRequest) -> None:
    """`DELETE /projects/{project}/environments/{env}`."""
    domain.delete_environment(request.call, context.address)
