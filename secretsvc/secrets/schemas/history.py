"""What clients send and get of older states: revisions, deleted keys, comparing, copying, restoring."""

from __future__ import annotations

from secretsvc.secrets.schemas.secrets import MODE, REASON, SecretKey
from secretsvc.web.schema import (
    CURSOR,
    REQUIRED,
    Body,
    Boolean,
    Choice,
    Identifier,
    Integer,
    IntegerText,
    Items,
    ListOf,
    Slug,
    Text,
    optional,
    required,
)


class RevisionQuery(Body):
    """`GET …/revisions`."""

    limit = optional(IntegerText(minimum=1, maximum=500), missing=50)
    cursor = optional(IntegerText())


class DeletedQuery(Body):
    """`GET …/secrets:deleted`."""

    limit = optional(IntegerText(minimum=1, maximum=500), missing=50)
    cursor = optional(SecretKey())


class CompareQuery(Body):
    """`GET …/secrets:compare`."""

    project = optional(Slug())
    environment = optional(Slug())
    rev = optional(IntegerText())
    with_rev = optional(IntegerText())


class CopySource(Body):
    """Where a copy takes its values."""

    project = required(Slug())
    environment = required(Slug())


class CopyBody(Body):
    """`POST …/secrets:copy`."""

    source = CopySource(name="from", missing_msg=REQUIRED)
    keys = optional(ListOf(SecretKey(), minimum=1))
    mode = optional(MODE, missing="merge")
    existing = optional(Choice("overwrite", "skip", "refuse"), missing="overwrite")
    from_rev = optional(Integer())
    dry_run = optional(Boolean(), missing=False)
    expected_rev = optional(Integer(), missing=None)
    reason = optional(REASON)


class RestoreBody(Body):
    """`POST …/secrets:restore`."""

    to_rev = required(Integer())
    dry_run = optional(Boolean(), missing=False)
    expected_rev = optional(Integer(), missing=None)
    reason = optional(REASON)


class Compared(Body):
    """How a key of two states differs."""

    key = required(SecretKey())
    kind = required(Choice("same", "differs", "here", "there", "unreadable"))
    version = required(Integer(minimum=1, nullable=True))
    with_version = required(Integer(minimum=1, nullable=True))


class Comparison(Body):
    """Two states beside each other."""

    rev = required(Integer())
    with_rev = required(Integer())
    items = required(Items(Compared()))


class MadeChange(Body):
    """What a revision did to one key."""

    key = required(SecretKey())
    kind = required(Choice("added", "changed", "removed"))
    version = required(Integer(minimum=1))


class Revision(Body):
    """What one write made of an environment."""

    rev = required(Integer(minimum=1))
    action = required(Text(minimum=1, maximum=64, nullable=True))
    reason = required(REASON)
    created_at = required(Integer())
    created_by = required(Identifier(literals=("system",)))
    changes = required(Items(MadeChange()))


class RevisionPage(Body):
    """A page of revisions."""

    rev = required(Integer())
    items = required(Items(Revision()))
    next_cursor = required(CURSOR)


class DeletedSecret(Body):
    """A key that was deleted."""

    key = required(SecretKey())
    version = required(Integer(minimum=1))
    deleted_at = required(Integer())
    deleted_by = required(Identifier(literals=("system",)))


class DeletedPage(Body):
    """A page of deleted keys."""

    rev = required(Integer())
    items = required(Items(DeletedSecret()))
    next_cursor = required(SecretKey(nullable=True))
