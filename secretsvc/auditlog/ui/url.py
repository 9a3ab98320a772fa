"""The URL of the audit log's page: its filters, the ready-made questions, and the URLs that lead on."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import NamedTuple
from urllib.parse import urlencode

from secretsvc.auditlog.domain import AuditRecord
from secretsvc.auditlog.rules.activity import Activity
from secretsvc.auditlog.schemas import QUESTIONS, SEVERAL
from secretsvc.auditlog.ui import labels

PATH = "/audit"
#: The filters, in the order of the form and the chips.
FILTERS = {
    "actor": "Who",
    "project": "Project",
    "environment": "Environment",
    "key": "Key",
    "action": "What",
    "outcome": "Outcome",
    "since": "Since",
    "until": "Until",
    "request_id": "Request",
}
#: The filters that name a place; a key is looked for in one environment of one project.
SCOPE = ("project", "environment")
#: What a question sets, and so takes from the filters.
ASKED = ("show", "action", "outcome")
#: How far around a record its request may have left others, milliseconds.
AROUND = 60_000


class Chip(NamedTuple):
    """A filter in force, and the URL without it."""

    label: str
    text: str
    without: str


class AuditUrl:
    """The URL of a page of the log: what it asks for, and the URLs that lead on.

    No URL that leads on has a filter at fault, or a key without its place: each finds something to show.
    """

    def __init__(self, query: dict[str, str]) -> None:
        self.query = {name: value.strip() for name, value in query.items() if value.strip()}
        self._at_fault: dict[str, None] = {}

    def refuse(self, names: Iterable[str]) -> None:
        """Leave filters out of the URLs that lead on, because the page was refused for them."""
        self._at_fault = dict.fromkeys(names)

    def path(self, **changes: object) -> str:
        """The first page with some filters changed; None takes one away."""
        return self._path(self.query | self._at_fault | {"cursor": None, "after": None} | changes)

    def download(self, suffix: str) -> str:
        """What the same filters find, as a file."""
        first_page = dict.fromkeys(("cursor", "after", "limit"))
        return self._path(self.query | self._at_fault | first_page, f"{PATH}.{suffix}")

    def around(self, record: AuditRecord) -> str:
        """All that the request of a record has left."""
        moment = record.created_at
        return self._path(
            {"request_id": record.request_id, "since": max(moment - AROUND, 0), "until": moment + AROUND}
        )

    def by(self, record: AuditRecord) -> str:
        """Everything by whoever left a record."""
        return self._path({"actor": record.actor.subject})

    def segments(self, activity: Activity | None) -> list[tuple[str, str, int | None, bool, str]]:
        """The ready-made questions, as the macro of segments has them, with what each would count."""
        nothing = dict.fromkeys(ASKED)
        chosen = next(
            (word for word, asked in QUESTIONS.items() if asked.items() <= self.query.items()),
            "" if not nothing.keys() & self.query.keys() else None,
        )
        found = []
        questions: dict[str, dict[str, str]] = {"": {}} | QUESTIONS
        for label, asked in questions.items():
            number, kind = _answer(activity, asked, label == chosen), "bad" if label == "Denied" else ""
            path = self.path(**nothing | asked)
            found.append((label or "Everything", path, number, label == chosen, kind))
        return found

    @property
    def fields(self) -> dict[str, str]:
        """What the form shows, times as its fields have them."""
        times = {name: _local(self.query[name]) for name in ("since", "until") if name in self.query}
        return self.query | times

    @property
    def chips(self) -> list[Chip]:
        """The filters in force, beside the question."""
        shown = {name: value for name, value in self.fields.items() if name in FILTERS}
        if "outcome" in shown:
            shown["outcome"] = labels.OUTCOMES.get(shown["outcome"], shown["outcome"]).capitalize()
        for name in ("since", "until"):
            if name in shown:
                shown[name] = f"{shown[name].replace('T', ' ')} UTC"
        return [
            Chip(label, shown[name], self.path(**{name: None}))
            for name, label in FILTERS.items()
            if name in shown
        ]

    @staticmethod
    def _path(query: dict[str, object], path: str = PATH) -> str:
        kept = {name: value for name, value in query.items() if value is not None}
        if not kept.keys() >= {*SCOPE}:
            kept.pop("key", None)
        return f"{path}?{urlencode(kept)}" if kept else path


def _answer(activity: Activity | None, asked: dict[str, str], chosen: bool) -> int | None:
    """How many records answer a question; None where they were not all counted."""
    if activity is None:
        return None
    if chosen and not activity.cut:
        return activity.total
    if activity.kinds is None:
        return None
    actions = SEVERAL[asked["show"]] if "show" in asked else (asked["action"],) if "action" in asked else ()
    return sum(
        number
        for (outcome, action), number in activity.kinds.items()
        if asked.get("outcome", outcome) == outcome and (not actions or action in actions)
    )


def _local(text: str) -> str:
    """Epoch milliseconds as a `datetime-local` field has them; any other text as it stands."""
    if not (text.isascii() and text.isdigit()):
        return text
    try:
        moment = datetime.fromtimestamp(int(text) / 1000, UTC)
    except (ValueError, OverflowError, OSError):
        return text
    return moment.replace(tzinfo=None).isoformat(timespec="milliseconds" if moment.microsecond else "seconds")
