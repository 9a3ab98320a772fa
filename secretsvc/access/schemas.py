"""What clients send and get of grants and effective permissions."""

from __future__ import annotations

from secretsvc.web.schema import (
    ROLE,
    Body,
    Choice,
    Identifier,
    Integer,
    IntegerText,
    Slug,
    Text,
    Variants,
    optional,
    required,
)


class GrantTerms(Body):
    """What every grant says."""

    role = required(ROLE)
    expires_at = optional(Integer(nullable=True), missing=None)


class GlobalTerms(GrantTerms):
    """A grant at every scope."""

    scope_type = required(Choice("global"))


class ProjectTerms(GrantTerms):
    """A grant on a project."""

    scope_type = required(Choice("project"))
    project = required(Slug())


class EnvironmentTerms(GrantTerms):
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


class WhoForm(Body):
    """Whom a form names."""

    holder = required(Text(minimum=1, maximum=340, strip=True))


class InsteadForm(Body):
    """The grant that is there already, which a form changes instead of making another."""

    instead = required(Identifier())


class ExtendForm(Body):
    """A grant that is to end later, and when it ended on the page; epoch milliseconds."""

    chosen = required(Identifier())
    drawn = required(IntegerText(minimum=0))


class ChosenForm(Body):
    """The row of a table whose button was pressed."""

    chosen = required(Identifier())
