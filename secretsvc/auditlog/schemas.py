"""What clients ask and get of the audit log."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

import colander

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


class Moment(IntegerText):
    """Epoch milliseconds, or the text of a `datetime-local` field, taken as UTC."""

    _LOCAL = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,3})?)?")

    def read(self, node: Any, value: Any) -> int:
        if not self._LOCAL.fullmatch(value):
            return super().read(node, value)
        try:
            moment = datetime.fromisoformat(value).replace(tzinfo=UTC)
        except ValueError:
            raise colander.Invalid(node, "Must be a time that the calendar has.") from None
        return self.bounded(node, round(moment.timestamp() * 1000))


class AuditPageQuery(AuditQuery):
    """`/audit`, as a page: `after` goes to newer records as `cursor` goes to older ones."""

    since = optional(Moment())
    until = optional(Moment())
    request_id = optional(Text(minimum=1, maximum=64))
    after = optional(Identifier())


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
