"""What clients send and get of projects and environments."""

from __future__ import annotations

from secretsvc.web.schema import (
    CURSOR,
    DESCRIPTION,
    NAME,
    Body,
    Boolean,
    Identifier,
    Integer,
    Items,
    Slug,
    optional,
    required,
)


class CreateProjectBody(Body):
    """`POST /projects`."""

    slug = required(Slug())
    name = required(NAME)
    description = optional(DESCRIPTION)


class UpdateProjectBody(Body):
    """`PATCH /projects/{project}`."""

    name = optional(NAME)
    description = optional(DESCRIPTION)


class CreateEnvironmentBody(Body):
    """`POST /projects/{project}/environments`."""

    slug = required(Slug())
    name = required(NAME)
    description = optional(DESCRIPTION)


class UpdateEnvironmentBody(Body):
    """`PATCH /projects/{project}/environments/{env}`."""

    name = optional(NAME)
    description = optional(DESCRIPTION)
    protected = optional(Boolean())


class Project(Body):
    """A project."""

    id = required(Identifier())
    slug = required(Slug())
    name = required(NAME)
    description = required(DESCRIPTION)
    created_at = required(Integer())
    updated_at = required(Integer())


class Environment(Body):
    """An environment."""

    id = required(Identifier())
    project_id = required(Identifier())
    slug = required(Slug())
    name = required(NAME)
    description = required(DESCRIPTION)
    rev = required(Integer())
    created_at = required(Integer())
    updated_at = required(Integer())
    protected = required(Boolean())


class ProjectPage(Body):
    """A list of projects."""

    items = required(Items(Project()))
    next_cursor = required(CURSOR)


class EnvironmentList(Body):
    """A list of environments."""

    items = required(Items(Environment()))
