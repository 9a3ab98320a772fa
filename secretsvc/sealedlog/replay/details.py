"""What a replay reads of a record and of its detail, by what the record tells of. All ids are texts."""

from __future__ import annotations

from typing import TypedDict

from secretsvc.sealedlog.replay.row_states import RevisionState


class RecordedActor(TypedDict):
    """Who did it."""

    identity_id: str | None
    kind: str
    subject: str


class ActorRecord(TypedDict):
    """A record of which the actor counts, and when it was."""

    actor: RecordedActor
    created_at: int


class ProjectRecord(TypedDict):
    """A record of a project."""

    project_id: str


class EnvironmentRecord(ProjectRecord):
    """A record of an environment."""

    environment_id: str


class ScopeRecord(TypedDict):
    """A record of a grant: the ids of its scope as far as it has any."""

    project_id: str | None
    environment_id: str | None


class IdentityDetail(TypedDict, total=False):
    """Of an identity; without kind and subject it is the actor."""

    identity_id: str
    kind: str
    subject: str
    disabled: bool


class GroupDetail(TypedDict, total=False):
    """Of a group, or of a member of it."""

    group_id: str
    slug: str
    identity_id: str


class ScopeDetail(TypedDict, total=False):
    """Of a project or an environment."""

    slug: str
    protected: bool


class GrantDetail(TypedDict, total=False):
    """Of a grant; `before` and `after` are its terms around a change, by name."""

    grant_id: str
    identity_id: str | None
    group_id: str | None
    scope_type: str
    role: str
    expires_at: int | None
    before: dict[str, str | int | None]
    after: dict[str, str | int | None]


class TokenDetail(TypedDict, total=False):
    """Of a service token; a record of an earlier release has no digest."""

    token_id: str
    identity_id: str
    name: str
    prefix: str
    expires_at: int
    digest: str


class Change(TypedDict):
    """What a write did to a key."""

    key: str
    kind: str
    version: int


class Descriptions(TypedDict):
    """The digests of descriptions by key, under the key that `kid` names."""

    kid: str | None
    digests: dict[str, str | None]


class WriteDetail(TypedDict):
    """What a replay needs of the record of a write of secrets."""

    rev: int
    changes: list[Change]
    descriptions: Descriptions | None
    #: Digests by key, None where the record says nothing of them.
    origins: dict[str, str] | None
    revision: RevisionState
