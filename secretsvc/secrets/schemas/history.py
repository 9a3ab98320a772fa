"""What clients send and get of older states: revisions, deleted keys, comparing, copying, restoring."""

from __future__ import annotations

from secretsvc.secrets.schemas.secrets import MODE, REASON, Revision, RevisionText, SecretKey
from secretsvc.web.schema import (
    REQUIRED,
    Body,
    Boolean,
    Choice,
    IntegerText,
    ListOf,
    Slug,
    optional,
    required,
)


class RevisionQuery(Body):
    """`GET …/revisions`."""

    limit = optional(IntegerText(minimum=1, maximum=500), missing=50)
    cursor = optional(RevisionText())


class DeletedQuery(Body):
    """`GET …/secrets:deleted`."""

    limit = optional(IntegerText(minimum=1, maximum=500), missing=50)
    cursor = optional(SecretKey())


class CompareQuery(Body):
    """`GET …/secrets:compare`."""

    project = optional(Slug())
    environment = optional(Slug())
    rev = optional(RevisionText())
    with_rev = optional(RevisionText())


class CopySource(Body):
    """Where a copy takes its values."""

    project = required(Slug())
    environment = required(Slug())


class CopyForm(Body):
    """The form that copies selected keys, where all is text; without revisions it is of the present ones."""

    source = required(Slug(), name="from")
    existing = optional(Choice("overwrite", "skip"), missing="overwrite")
    from_rev = optional(RevisionText(), missing=None)
    rev = optional(RevisionText(), missing=None)


class ReasonForm(Body):
    """Why it is copied, judged when it is written, so that a refusal draws the review again."""

    reason = optional(REASON)


class SidesQuery(Body):
    """Which environments of a project the page that compares has side by side."""

    source = optional(Slug(), name="from")
    to = optional(Slug())


class DestinationForm(Body):
    """The form that says where selected keys go."""

    source = required(Slug(), name="from")
    to = required(Slug())


#: The number of keys that a copy names at most (contract 17.3).
MAX_COPIED = 500


class CopyBody(Body):
    """`POST …/secrets:copy`."""

    source = CopySource(name="from", missing_msg=REQUIRED)
    keys = optional(ListOf(SecretKey(), minimum=1, maximum=MAX_COPIED))
    mode = optional(MODE, missing="merge")
    existing = optional(Choice("overwrite", "skip", "refuse"), missing="overwrite")
    from_rev = optional(Revision())
    dry_run = optional(Boolean(), missing=False)
    expected_rev = optional(Revision(), missing=None)
    reason = optional(REASON)


class RestoreBody(Body):
    """`POST …/secrets:restore`."""

    to_rev = required(Revision())
    dry_run = optional(Boolean(), missing=False)
    expected_rev = optional(Revision(), missing=None)
    reason = optional(REASON)


class HistoryQuery(Body):
    """The page of revisions: which one is looked at, beside which, which others are listed."""

    rev = optional(RevisionText())
    other = optional(RevisionText(), name="with")
    before = optional(RevisionText())
    restored = optional(RevisionText())


class RestoreQuery(Body):
    """The review of going back to a revision."""

    rev = optional(RevisionText())


class RestoreForm(Body):
    """The form that goes back to a revision, where all is text."""

    to_rev = required(RevisionText())
    rev = optional(RevisionText(), missing=None)
    reason = optional(REASON)
