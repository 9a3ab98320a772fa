"""What clients send and get of projects and environments."""

from __future__ import annotations

from secretsvc.web.schema import DESCRIPTION, NAME, Body, Boolean, Slug, optional, required


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
