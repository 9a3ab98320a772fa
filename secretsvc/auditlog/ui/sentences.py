"""Records as sentences: actor, verb, key, scope, “reason”, in words that each action's package declared."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple
from uuid import UUID

from secretsvc.audit.directives import AuditAction, usual_sentence
from secretsvc.audit.rules.records import DENIED
from secretsvc.auditlog.domain import AuditRecord
from secretsvc.auditlog.rules.names import Names, id_in
from secretsvc.secrets.queries.read_records import EXPORT, REVEAL
from secretsvc.web.pages import time_format

#: How a part of a sentence is marked up.
PLAIN, STRONG, CODE = "", "b", "code"
READS = (REVEAL, EXPORT)
DID = {"added": "added", "removed": "deleted", "changed": "changed"}
#: What one action is drawn with where it did something of its own.
ICONS = {"added": "plus", "deleted": "trash-2", "copied": "copy"}
SYSTEM = "secretsvc"
_MARK = re.compile(r"\{(\w+)\}")


class Part(NamedTuple):
    """Some words of a sentence, and the element that they stand in."""

    text: str
    kind: str = PLAIN


class RecordSentence(NamedTuple):
    """A record as people read it: its line, and what the line leaves out."""

    record: AuditRecord
    actor: str
    parts: list[Part]
    reason: str | None
    at: str
    icon: str
    denied: bool


class SentenceRenderer:
    """Tells the records of one page."""

    def __init__(self, actions: Mapping[str, AuditAction], names: Names) -> None:
        self._actions, self._names = actions, names

    def tell(self, record: AuditRecord) -> RecordSentence:
        """One record."""
        action = self._actions.get(record.action) or AuditAction(usual_sentence(record.action), "circle")
        sentence, denied = action.sentence, record.outcome == DENIED
        if "{scope}" not in sentence and (record.project_id or record.environment_id):
            sentence += " in {scope}"
        parts = [*self._parts(sentence, record)]
        did = parts[0].text.split(" ")[0] if parts else ""
        icon = "ban" if denied else ICONS.get(did, action.icon) if "{" in sentence[:1] else action.icon
        quoted = None if record.action in READS else record.reason
        return RecordSentence(record, self.actor(record), parts, quoted, beside(record), icon, denied)

    def actor(self, record: AuditRecord) -> str:
        """What people call whoever acted."""
        found = self._names.holders.get(record.actor.identity_id) if record.actor.identity_id else None
        if record.actor.kind is None and record.actor.identity_id is None and found is None:
            return SYSTEM if record.actor.subject == "system" else record.actor.subject
        return found.text if found is not None else record.actor.subject

    def scope(self, record: AuditRecord) -> Part:
        """Where it was; what is gone is called by its slug."""
        scope = record.environment_id or record.project_id
        return Part(where(record, self._names) if scope else "everything", STRONG)

    def _parts(self, sentence: str, record: AuditRecord) -> Iterable[Part]:
        for number, text in enumerate(_MARK.split(sentence)):
            if number % 2:
                yield from self._marked(text, record)
            elif text:
                yield Part(text)

    def _marked(self, name: str, record: AuditRecord) -> Iterable[Part]:
        if name == "scope":
            return [self.scope(record)]
        if name in ("holder", "member", "group"):
            return [self._holder(name, record)]
        if name in MARKS:
            return MARKS[name](record)
        value = _detail(record).get(name)
        told = f"{value:,}" if isinstance(value, int) else "something" if value is None else str(value)
        return [Part(told, STRONG)]

    def _holder(self, name: str, record: AuditRecord) -> Part:
        detail = _detail(record)
        order = {
            "holder": ("identity_id", "group_id"), "member": ("identity_id",), "group": ("group_id",),
        }[name]  # fmt: skip
        ids = [*filter(None, (id_in(detail.get(one)) for one in order))]
        found = self._names.holders.get(ids[0]) if ids else None
        if found is not None:
            return Part(found.text, STRONG)
        known = detail.get("slug" if name == "group" else "subject")
        if not known and ids and ids[0] in self._names.departed:
            known = f"{self._names.departed[ids[0]]} (deleted)"
        return Part(str(known) if known else f"{ids[0]}, gone" if ids else "somebody", STRONG)


def where(record: AuditRecord, names: Names) -> str:
    """Where a record belongs, in words; what is gone is called by its slug, by its id where none is known."""
    found = names.scopes.get(record.environment_id or record.project_id or record.id)
    if found is not None:
        return found.text
    around = names.scopes.get(record.project_id) if record.project_id else None
    inner = _departed("environment", record.environment_id, record, names)
    outer = around.text if around else _departed("project", record.project_id, record, names)
    return " / ".join(filter(None, (outer, inner)))


def _departed(thing: str, key: UUID | None, record: AuditRecord, names: Names) -> str:
    if key is None:
        return ""
    slug = names.departed.get(key)
    if slug is None and key == (record.environment_id or record.project_id):
        slug = _detail(record).get("slug")
    # A sentence that says so itself does not say it twice.
    deleted = "" if record.action == f"{thing}.delete" else " (deleted)"
    return f"the {thing} {slug or key}{deleted}"


def beside(record: AuditRecord) -> str:
    """The fact that stands at the end of a record's line."""
    detail, words = _detail(record), []
    if record.outcome == DENIED:
        role = record.action.rpartition(".")[2]
        return f"needs {role}" if record.action.startswith("authz.") else "not visible"
    if isinstance(detail.get("count"), int):
        words.append(f"{detail['count']:,} {'key' if detail['count'] == 1 else 'keys'}")
    elif isinstance(detail.get("rev"), int) and detail["rev"]:
        words.append(f"revision {detail['rev']:,}")
    if isinstance(detail.get("remaining"), int):
        words.append(f"{detail['remaining']:,} remain")
    if "expires_at" in detail and not record.action.endswith(".delete"):
        at = detail["expires_at"]
        words.append(f"until {time_format.moment(at):%-d %b %Y}" if isinstance(at, int) else "no end")
    if record.action in READS and record.reason:
        words.append(record.reason)
    return " · ".join(words)


def _keys(record: AuditRecord) -> list[Part]:
    changes = recorded_changes(record)
    named = [str(one.get("key")) for one in changes] or _described(record)
    if len(named) == 1:
        return [Part(named[0], CODE)]
    if record.action == "secret.rename" and len(named) == 2:
        old, new = sorted(changes, key=lambda one: one.get("kind") != "removed")
        return [Part(str(old.get("key")), CODE), Part(" to "), Part(str(new.get("key")), CODE)]
    return [Part(f"{len(named):,} keys")]


def _key(record: AuditRecord) -> list[Part]:
    return [Part(str(_detail(record).get("key", "a key")), CODE)]


def _did(record: AuditRecord) -> list[Part]:
    kinds = {str(one.get("kind")) for one in recorded_changes(record)}
    if not kinds and _described(record):
        return [Part("described")]
    return [Part(DID.get(kinds.pop(), "changed") if len(kinds) == 1 else "changed")]


def _read(record: AuditRecord) -> list[Part]:
    if record.action == EXPORT:
        return [Part("copied out of" if "copied_to" in _detail(record) else "exported")]
    return [Part("copied" if record.reason == "copy" else "revealed")]


def _changed(record: AuditRecord) -> list[Part]:
    detail = _detail(record)
    if "disabled" in detail.get("fields", ()):
        return [Part("disabled" if detail.get("disabled") else "enabled")]
    return [Part("renamed")]


def _arrived(record: AuditRecord) -> list[Part]:
    detail = _detail(record)
    if "subject" not in detail:
        return [Part("came for the first time")]
    return [Part("announced "), Part(str(detail["subject"]), STRONG)]


#: Marks whose words are made of more than one member of the detail.
MARKS: dict[str, Callable[[AuditRecord], list[Part]]] = {
    "key": _key,
    "keys": _keys,
    "did": _did,
    "read": _read,
    "changed": _changed,
    "arrived": _arrived,
}


def recorded_changes(record: AuditRecord) -> list[dict[str, Any]]:
    """What a write did to each key."""
    changes = _detail(record).get("changes")
    return [one for one in changes if isinstance(one, dict)] if isinstance(changes, list) else []


def _described(record: AuditRecord) -> list[str]:
    described = _detail(record).get("described")
    return [str(one) for one in described] if isinstance(described, list) else []


def _detail(record: AuditRecord) -> dict[str, Any]:
    return record.detail if isinstance(record.detail, dict) else {}
