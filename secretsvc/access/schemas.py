"""What clients send and get of grants and effective permissions."""

from __future__ import annotations

from secretsvc.identity.schemas import Identity
from secretsvc.web.schema import (
    CURSOR,
    ROLE,
    Body,
    Boolean,
    Choice,
    Identifier,
    Integer,
    Items,
    Nullable,
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
    )


def create_group_grant_body() -> Variants:
    """`POST /groups/{id}/grants`."""
    return Variants(
        "scope_type",
        {"global": GlobalTerms(), "project": ProjectTerms(), "environment": EnvironmentTerms()},
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


class Grant(Body):
    """A grant."""

    id = required(Identifier())
    identity_id = required(Identifier(nullable=True))
    group_id = required(Identifier(nullable=True))
    scope_type = required(Choice("global", "project", "environment"))
    project = required(Slug(nullable=True))
    environment = required(Slug(nullable=True))
    project_id = required(Identifier(nullable=True))
    environment_id = required(Identifier(nullable=True))
    role = required(ROLE)
    expires_at = required(Integer(nullable=True))
    created_at = required(Integer())
    created_by = required(Identifier(literals=("system",)))


class GrantPage(Body):
    """A list of grants."""

    items = required(Items(Grant()))
    next_cursor = required(CURSOR)


class GroupRef(Body):
    """The group that a grant came through."""

    id = required(Identifier())
    slug = required(Slug())


class Source(Body):
    """A grant that confers a role."""

    grant_id = required(Identifier(nullable=True))
    group = required(Nullable(GroupRef()))
    role = required(ROLE)
    scope_type = required(Choice("global", "project", "environment"))
    project = required(Slug(nullable=True))
    environment = required(Slug(nullable=True))
    expires_at = required(Integer(nullable=True))
    decisive = required(Boolean())


class Entry(Body):
    """The effective role at one scope."""

    scope_type = required(Choice("global", "project", "environment"))
    project = required(Slug(nullable=True))
    environment = required(Slug(nullable=True))
    role = required(Choice("reader", "writer", "admin", nullable=True))
    sources = required(Items(Source()))


class EffectivePermissions(Body):
    """What an identity may do."""

    identity = Identity()
    items = required(Items(Entry()))


class UnknownIdentity(Body):
    """A subject that was denied and holds no unexpired grant."""

    subject = required(Text(minimum=1, maximum=320))
    kind = required(Choice("user", "service"))
    denials = required(Integer(minimum=1))
    first_denied_at = required(Integer())
    last_denied_at = required(Integer())


class UnknownIdentityList(Body):
    """Who was denied."""

    items = required(Items(UnknownIdentity()))
