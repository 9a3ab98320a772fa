"""What the editor says after a write: what was written, where, and how to undo it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from secretsvc.kernel.identifiers import is_secret_key
from secretsvc.projects.rules import EnvironmentRow
from secretsvc.web.pages.html_helpers import count
from secretsvc.web.pages.layout import PageLayout

#: More digits than a revision ever has are no number of ours.
_DIGITS = 15


@dataclass(frozen=True, slots=True)
class Notice:
    """A statement; `undo` is the revision that can still be undone, if it changed keys or values."""

    text: str
    key: str = ""
    undo: int | None = None


def saved(path: str, rev: int, changes: int, *, deleted: str = "", undone: int | None = None) -> str:
    """Where a write of an environment leads, so that its page names what was done.

    `deleted` is the key where a deletion was all; `undone` the revision that was undone.
    """
    query: dict[str, object] = {"saved": changes, "rev": rev}
    if deleted:
        query["deleted"] = deleted
    if undone is not None:
        query["undone"] = undone
    return f"{path}?{urlencode(query)}"


def notice_of(query: Mapping[str, str], environment: EnvironmentRow) -> Notice | None:
    """What the address says was done, as far as it can be true: nothing of a revision that is not there."""
    rev, changes, undone = (_number(query.get(name, "")) for name in ("rev", "saved", "undone"))
    if rev is None or changes is None or not 0 < rev <= environment.rev:
        return None
    # What was written since would be lost with it.
    undo = rev if rev == environment.rev else None
    key = query.get("deleted", "")
    if is_secret_key(key):
        return Notice(f"Deleted {key} from {environment.name}.", key, undo)
    if undone is not None:
        return Notice(f"Undid revision {undone:,} of {environment.name} (now revision {rev:,}).")
    text = f"Saved {count(changes, 'change')} to {environment.name} (revision {rev:,})."
    return Notice(text, undo=undo)


def written_alone(ui: PageLayout, details: Sequence[str]) -> str | None:
    """What the page of a secret says after a write of it; the only detail is the revision."""
    rev = _number(details[0]) if len(details) == 1 else None
    here = ui.sidebar_project.environment(ui.environment_slug) if ui.sidebar_project is not None else None
    if rev is None or here is None or ui.context is None:
        return None
    return f"Saved {ui.context.__name__} in {here.name} (revision {rev:,})."


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _DIGITS else None
