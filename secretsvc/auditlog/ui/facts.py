"""What stands below a record's line once it is opened: its facts, and the links to what it is about."""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import urlencode

from secretsvc.auditlog.domain import AuditRecord
from secretsvc.auditlog.rules.names import Names, ScopeName
from secretsvc.auditlog.ui import labels
from secretsvc.auditlog.ui.sentences import recorded_changes, where
from secretsvc.auditlog.ui.url import AuditUrl
from secretsvc.web.pages import time_format

#: Of a detail: what the line or another fact tells already, and digests, which tell nobody anything.
TOLD = {"rev", "changes", "scope_type", "grant_id", "descriptions"}


class Bit(NamedTuple):
    """Some words of a fact: a link where there is a path, in monospace where they are a name of machines."""

    text: str
    path: str | None = None
    code: bool = False


class Fact(NamedTuple):
    """A term and what there is to say of it."""

    term: str
    bits: list[Bit]


def facts_of(record: AuditRecord, names: Names, url: AuditUrl) -> list[Fact]:
    """The facts of one record."""
    detail = record.detail if isinstance(record.detail, dict) else {}
    outcome = Bit(labels.OUTCOMES.get(record.outcome, record.outcome))
    facts = [Fact("Action", [Bit(record.action, code=True), outcome])]
    scope = names.scopes.get(record.environment_id or record.project_id or record.id)
    if changes := recorded_changes(record):
        facts.append(Fact("Keys", _keys(changes, scope)))
    if isinstance(detail.get("rev"), int) and changes:
        facts.append(Fact("Revision", [Bit(f"{detail['rev'] - 1:,} → {detail['rev']:,}")]))
    rest = {name: value for name, value in detail.items() if name not in TOLD}
    facts += [Fact(one.name.capitalize(), [Bit(one.text)]) for one in labels.detail_parts(rest)]
    facts += [Fact("Detail", [Bit(str(record.detail))])] if record.detail and not detail else []
    if record.project_id or record.environment_id:
        facts.append(Fact("Where", [Bit(where(record, names), scope.path if scope else None)]))
    facts += [Fact("Reason", [Bit(record.reason)])] if record.reason else []
    facts += [
        Fact("Who", _who(record, names)),
        Fact(
            "Exact time", [Bit(f"{time_format.moment(record.created_at):%Y-%m-%d %H:%M:%S.%f}"[:-3] + " UTC")]
        ),
        *([Fact("From", [Bit(record.client_address, code=True)])] if record.client_address else []),
        Fact("Request", [Bit(record.request_id, url.around(record), code=True)]),
        Fact("Also", _also(record, detail, scope, url)),
    ]
    return facts


def _keys(changes: list[dict[str, object]], scope: ScopeName | None) -> list[Bit]:
    bits = []
    for change in changes[: labels.MAX_FACTS]:
        key = str(change.get("key"))
        bits.append(Bit(key, _secret(scope, key), code=True))
        version = f" (version {change['version']})" if change.get("version") else ""
        bits.append(Bit(f"{change.get('kind', 'change')}{version}"))
    left = len(changes) - labels.MAX_FACTS
    return bits + ([Bit(f"and {left:,} more")] if left > 0 else [])


def _secret(scope: ScopeName | None, key: str) -> str | None:
    return f"{scope.path}/secrets/{key}" if scope is not None and scope.environment else None


def _who(record: AuditRecord, names: Names) -> list[Bit]:
    actor = record.actor
    found = names.holders.get(actor.identity_id) if actor.identity_id else None
    kind = labels.KINDS.get(actor.kind, actor.kind or "")
    name = found.text if found is not None else actor.subject
    return [Bit(name, found.path if found else None), Bit(kind)]


def _also(
    record: AuditRecord, detail: dict[str, object], scope: ScopeName | None, url: AuditUrl
) -> list[Bit]:
    bits = []
    key, rev = detail.get("key"), detail.get("rev")
    if scope is not None and scope.environment:
        if isinstance(key, str):
            bits.append(Bit(f"Open {key}", _secret(scope, key)))
            asked = {"project": scope.project, "environment": scope.environment, "key": key}
            bits.append(Bit(f"Who else read {key}", f"/audit?{urlencode(asked)}"))
        elif isinstance(rev, int) and rev:
            bits.append(Bit(f"See revision {rev:,}", f"{scope.path}/history?rev={rev}"))
    return [*bits, Bit(f"Everything by {record.actor.subject}", url.by(record))]
