"""What clients send and get of grants and effective permissions."""

from __future__ import annotations

from secretsvc.web.schema import (
    ROLE,
    Body,
    Choice,
    Identifier,
    Integer,
    Slug,
    Text,
    Variants,
    optional,
    required,
)


class Terms(Body):
    """What every grant says."""

    role = required(ROLE)
    expires_at = optional(Integer(nullable=True), missing=None)


class GlobalTerms(Terms):
    """A grant at every scope."""

    scope_type = required(Choice("global"))


class ProjectTerms(Terms):
    """A grant on a project."""

    scope_type = required(Choice("project"))
    project = required(Slug())


class EnvironmentTerms(Terms):
    """A grant on an environment."""

    scope_type = required(Choice("environment"))
    project = required(Slug())
    environment = required(Slug())


class GlobalGrant(GlobalTerms):
    """To an identity."""

    identity_id = required(Identifier())


class ProjectGrant(ProjectTerms):
    """To an identity."""

    identity_id = required(Identifier())


class EnvironmentGrant(EnvironmentTerms):
    """To an identity."""

    identity_id = required(Identifier())


def create_grant_body() -> Variants:
    """`POST /grants`: a field that the scope type does not have is refused."""
    return Variants(
        "scope_type",
        {"global": GlobalGrant(), "project": ProjectGrant(), "environment": EnvironmentGrant()},
        name="CreateGrantBody",
    )


def create_group_grant_body() -> Variants:
    """`POST /groups/{id}/grants`."""
    return Variants(
        "scope_type",
        {"global": GlobalTerms(), "project": ProjectTerms(), "environment": EnvironmentTerms()},
        name="CreateGroupGrantBody",
    )


class UpdateGrantBody(Body):
    """`PATCH /grants/{id}` and `PATCH /groups/{id}/grants/{grantId}`."""

    role = optional(ROLE)
    expires_at = optional(Integer(nullable=True))


class MemberForm(Body):
    """Whom a form names: a person or a service token."""

    holder_kind = required(Choice("user", "service"))
    holder = required(Text(minimum=1, maximum=320, strip=True))


class HolderForm(MemberForm):
    """The same, or a group."""

    holder_kind = required(Choice("user", "service", "group"))


class ChosenForm(Body):
    """The row of a table whose button was pressed."""

    chosen = required(Identifier())
