"""What the pages of a secret and of an environment's history say of the writes that they show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID

from secretsvc.access.domain.readers import Reader
from secretsvc.secrets.domain.key_history import KeyHistory, Pair, VersionEntry
from secretsvc.secrets.domain.related import MISSING, PRESENT, RecentReader, SameKeyElsewhere
from secretsvc.secrets.queries.comparison import DIFFERS, SAME, UNREADABLE
from secretsvc.secrets.queries.read_records import REVEAL
from secretsvc.web.pages.html_helpers import enumeration

#: What a version came of, by the action of its write.
VERBS = {"secret.import": "imported it", "secret.rename": "renamed it", "secret.copy": "copied it"}
#: How it stands elsewhere: the symbol, its class, and what is said.
ELSEWHERE = {
    SAME: ("equal", "", "same value"),
    DIFFERS: ("equal-not", "", "differs"),
    MISSING: ("circle-dashed", "warn", "missing: add it"),
    UNREADABLE: ("circle-alert", "bad", "cannot be read"),
    PRESENT: ("check", "", "set"),
}
PAIRS = {
    SAME: "They are the same.",
    DIFFERS: "They differ.",
    UNREADABLE: "They cannot be compared: one of them cannot be read.",
}


@dataclass(frozen=True, slots=True)
class ActionText:
    """What somebody did: a verb, and the key that it leads to, if it is another."""

    text: str
    key: str | None = None


class KeyElsewhere(NamedTuple):
    """The key in another environment; `path` leads to it, or to the form that adds it there."""

    name: str
    icon: str
    kind: str
    text: str
    version: int | None
    path: str


def elsewhere(others: Sequence[SameKeyElsewhere], project: str, key: str) -> list[KeyElsewhere]:
    """How the key stands in other environments of the project at the path `project`."""
    found = []
    for one in others:
        base = f"{project}/environments/{one.slug}"
        path = f"{base}/secrets/{key}" if one.version else f"{base}?new={key}#new"
        found.append(KeyElsewhere(one.name, *ELSEWHERE[one.kind], one.version, path))
    return found


def said(one: VersionEntry, sources: Mapping[object, str]) -> ActionText:
    """What the write that made a version did to the key; `sources` are names of environments by id."""
    if one.action == "secret.rename" and one.other_key:
        return ActionText("renamed it to" if one.deleted else "renamed it from", one.other_key)
    if one.deleted:
        return ActionText("deleted it")
    if one.action == "secret.rollback" and one.back_to:
        return ActionText(f"rolled back to version {one.back_to}")
    if one.action == "secret.restore":
        return ActionText(f"restored version {one.back_to}" if one.back_to else "restored it")
    if one.action == "secret.copy":
        return ActionText(f"copied it from {_source(one.copied_from, sources)}")
    return ActionText(VERBS.get(one.action or "", "created it" if one.version == 1 else "wrote a value"))


def _source(environment_id: UUID | None, sources: Mapping[object, str]) -> str:
    if environment_id is None:
        return "an older revision"
    return sources.get(environment_id, "another environment")


def done(history: KeyHistory, notice: Mapping[str, int | None]) -> str | None:
    """What a form of the page did, while the newest version bears it out; else nothing."""
    now = history.current
    if now is None or now.deleted:
        return None
    if notice["rolled_back"] == now.version and now.action == "secret.rollback" and notice["to"]:
        return f"Rolled back {history.key} to version {notice['to']} (now version {now.version})."
    if notice["renamed"] == now.version and now.action == "secret.rename" and now.other_key:
        return f"Renamed {now.other_key} to {history.key}: its history stays under the old name."
    return None


def compared(pair: Pair) -> str:
    """How two versions stand to each other, and which others hold the same value."""
    equal = (enumeration([f"{number:,}" for number in group]) for group in pair.equal)
    groups = [f"Versions {group} hold the same value." for group in equal]
    return " ".join([PAIRS[pair.kind], *groups])


def way(reader: Reader, project_name: str) -> str:
    """Where and through what somebody can read; `project_name` is the project's."""
    source = reader.source
    where = "here" if source.environment else project_name if source.project else "everywhere"
    if reader.group_name is not None:
        return f"{where}, through {reader.group_name}"
    return f"{where}, directly" if source.grant_id is not None else f"{where}, by the configuration"


def read_how(one: RecentReader) -> tuple[str, str]:
    """The symbol and the verb of a read."""
    if one.action == REVEAL:
        return ("copy", "copied it") if one.reason == "copy" else ("eye", "revealed it")
    if one.reason == "copy":
        return "git-compare-arrows", "copied it to another environment"
    return "download", "exported it"
