"""What clients send and get of projects and environments."""

from __future__ import annotations

from secretsvc.web.schema import Boolean, NamedChanges, NewNamed, optional


class CreateProjectBody(NewNamed):
    """`POST /projects`."""


class UpdateProjectBody(NamedChanges):
    """`PATCH /projects/{project}`."""


class CreateEnvironmentBody(NewNamed):
    """`POST /projects/{project}/environments`."""


class UpdateEnvironmentBody(NamedChanges):
    """`PATCH /projects/{project}/environments/{env}`."""

    protected = optional(Boolean())
