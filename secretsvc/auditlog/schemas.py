"""What clients ask and get of the audit log."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import colander

from secretsvc.secrets.schemas.secrets import SecretKey
from secretsvc.web.schema import Body, Choice, Identifier, IntegerText, Slug, Text, optional

OUTCOME = Choice("success", "denied")
#: Words that stand for several actions.
SEVERAL = {
    "changes": (
        "secret.batch", "secret.import", "secret.rename", "secret.rollback", "secret.copy", "secret.restore",
    ),
    "access": (
        "grant.create", "grant.update", "grant.delete", "grant.bootstrap",
        "group.create", "group.update", "group.delete", "group.member.add", "group.member.remove",
        "group.grant.create", "group.grant.update", "group.grant.delete",
        "identity.create", "identity.update", "identity.delete", "token.create", "token.delete",
    ),
}  # fmt: skip
#: The ready-made questions of the page, and the filters that they set.
QUESTIONS = {
    "Denied": {"outcome": "denied"},
    "Reveals": {"action": "secret.reveal"},
    "Exports": {"action": "secret.export"},
    "Changes": {"show": "changes"},
    "Access": {"show": "access"},
}


class RecordQuery(Body):
    """What picks records."""

    project = optional(Slug())
    environment = optional(Slug())
    key = optional(SecretKey())
    actor = optional(Text(minimum=1, maximum=320))
    action = optional(Text(minimum=1, maximum=64))
    outcome = optional(OUTCOME)
    since = optional(IntegerText())
    until = optional(IntegerText())
    cursor = optional(Identifier())
    limit = optional(IntegerText(minimum=1, maximum=500), missing=50)


class AuditQuery(RecordQuery):
    """`GET /audit`."""

    order = optional(
        Choice("oldest"),
        description="With `oldest`: sealed records by their index, and a `next_cursor` that is never null.",
    )


class Moment(IntegerText):
    """Epoch milliseconds, or the text of a `datetime-local` field, taken as UTC."""

    _LOCAL = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,3})?)?")

    def read(self, node: colander.SchemaNode, value: object) -> int:
        try:
            if not isinstance(value, str) or not self._LOCAL.fullmatch(value):
                return super().read(node, value)
            moment = datetime.fromisoformat(value).replace(tzinfo=UTC)
        except (ValueError, colander.Invalid):
            raise colander.Invalid(node, "Give a day and a time, such as 2026-11-24T12:00.") from None
        return self.bounded(node, round(moment.timestamp() * 1000))


class AuditPageQuery(RecordQuery):
    """`/audit`, as a page: `after` goes to newer records as `cursor` goes to older ones."""

    since = optional(Moment())
    until = optional(Moment())
    request_id = optional(Text(minimum=1, maximum=64))
    show = optional(Choice(*SEVERAL))
    after = optional(Identifier())
