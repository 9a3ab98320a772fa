"""The newest records as sentences: on the first page, and on the page of an identity."""

from __future__ import annotations

from secretsvc.auditlog.domain import recent_audit
from secretsvc.auditlog.rules.selection import AuditFilter
from secretsvc.auditlog.ui.sentences import RecordSentence, SentenceRenderer
from secretsvc.identity.rules import IdentityRow
from secretsvc.web.config import ServiceConfigurator
from secretsvc.web.pages.time_format import DAY
from secretsvc.web.request import ServiceRequest

#: How many records stand on the page of an identity, and how old they are at most, milliseconds.
SHOWN, LATELY = 5, 30 * DAY


def recent(request: ServiceRequest, asked: AuditFilter) -> list[RecordSentence]:
    """What a filter finds, the newest first."""
    found = recent_audit(request.call, asked)
    teller = SentenceRenderer(request.registry.audit_actions, found.names)
    return [teller.tell(record) for record in found.items]


def activity_of(request: ServiceRequest, who: IdentityRow) -> list[RecordSentence]:
    """What an identity did lately where the caller may audit it.

    For admins of single projects the log has no index by actor: without an end it might all be read.
    """
    since = request.call.now - LATELY
    return recent(request, AuditFilter(actor=who.subject, identity_id=who.id, since=since, limit=SHOWN))


def includeme(config: ServiceConfigurator) -> None:
    config.set_recent_activity(activity_of)
