"""What clients ask and get of the audit log."""

from __future__ import annotations

from secretsvc.web.schema import (
    CURSOR,
    Anything,
    Body,
    Choice,
    Identifier,
    Integer,
    IntegerText,
    Items,
    Slug,
    Text,
    optional,
    required,
)

OUTCOME = Choice("success", "denied")


class AuditQuery(Body):
    """`GET /audit`."""

    project = optional(Slug())
    environment = optional(Slug())
    actor = optional(Text(minimum=1, maximum=320))
    action = optional(Text(minimum=1, maximum=64))
    outcome = optional(OUTCOME)
    since = optional(IntegerText())
    until = optional(IntegerText())
    cursor = optional(Identifier())
    limit = optional(IntegerText(minimum=1, maximum=500), missing=50)


class AuditActor(Body):
    """Who acted."""

    identity_id = required(Identifier(nullable=True))
    kind = required(Choice("user", "service", nullable=True))
    subject = required(Text(minimum=1, maximum=320))


class AuditRecord(Body):
    """One row of the log."""

    id = required(Identifier())
    created_at = required(Integer())
    action = required(Text(minimum=1, maximum=64))
    outcome = required(OUTCOME)
    actor = AuditActor()
    project_id = required(Identifier(nullable=True))
    environment_id = required(Identifier(nullable=True))
    request_id = required(Text(minimum=1, maximum=64))
    reason = required(Text(maximum=512, nullable=True))
    detail = required(Anything())


class AuditPage(Body):
    """A page of the log."""

    items = required(Items(AuditRecord()))
    next_cursor = required(CURSOR)
