"""The rows of the editor: the secrets of an environment as one of its forms shows them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from secretsvc.secrets.domain.editor import EditorState
from secretsvc.secrets.queries.rows import SecretListItem
from secretsvc.secrets.ui.editor_fields import new_keys
from secretsvc.secrets.ui.value_warnings import turns
from secretsvc.web.forms import Form
from secretsvc.web.pages.html_helpers import initials
from secretsvc.web.pages.time_format import DAY, RelativeTime

#: Up to so many rows each has its menu in the page; beyond, a button that draws it.
WITH_MENUS = 100
WEEK_MS = 7 * DAY
CHANGED, UNDESCRIBED, UNREADABLE = "changed-this-week", "without-description", "unreadable"
#: What a row shows, beside its own fields, for each field of the form.
STAGED = ("value.", "empty.", "delete.", "pick.")


@dataclass(frozen=True, slots=True)
class Shown:
    """What a form shows of its rows: which of them, which open menu, and which values were asked for.

    `open` are keys whose value stands in its row, `beside` values that stand below what was typed there.
    """

    text: str = ""
    segment: str = ""
    menu: str = ""
    copied: str = ""
    open: frozenset[str] = frozenset()
    beside: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(slots=True)
class SecretRow:
    """A secret that is there; `typed` is what stands in its field."""

    key: str
    description: str | None
    kid: str | None
    error: str | None
    version: int
    when: RelativeTime
    author: str
    initials: str
    typed: str = field(repr=False)
    is_open: bool
    is_empty: bool
    is_deleted: bool
    is_picked: bool
    is_hidden: bool
    #: Whether it has its menu and all that may be said of it, or a button that draws them.
    is_whole: bool

    @property
    def is_turned(self) -> bool:
        """Whether the value that is shown may look like another."""
        return self.is_open and turns(self.typed)


def rows_shown(state: EditorState, form: Form, shown: Shown, now: int) -> list[SecretRow]:
    """Every secret: what cannot be read first; hidden, with what was typed, what is filtered out."""
    few, named = len(state.items) <= WITH_MENUS, {key for _, key in new_keys(form)}
    letters: dict[str, str] = {}
    rows = []
    for item in sorted(state.items, key=lambda item: item.readable):
        author = state.authors.get(item.key)
        written_by = author.author if author is not None else ""
        if written_by not in letters:
            letters[written_by] = initials(written_by)
        typed = form[f"value.{item.key}"]
        staged = any(form[f"{name}{item.key}"] for name in STAGED)
        row = SecretRow(
            key=item.key,
            description=item.description,
            kid=item.kid,
            error=item.error,
            version=item.version,
            when=RelativeTime(item.updated_at, now),
            author=written_by,
            initials=letters[written_by],
            typed=typed,
            is_open=item.key in shown.open,
            is_empty=bool(form[f"empty.{item.key}"]),
            is_deleted=bool(form[f"delete.{item.key}"]),
            is_picked=bool(form[f"pick.{item.key}"]),
            # A row whose key was typed again is what the problem of that leads to.
            is_hidden=not passes_filter(item, shown, now) and item.key not in named,
            is_whole=few or staged or item.key == shown.menu,
        )
        rows.append(row)
    return rows


def passes_filter(item: SecretListItem, shown: Shown, now: int) -> bool:
    """Whether the filter and the segment leave a secret in."""
    return is_in(item, shown.segment, now) and shown.text.lower() in item.key.lower()


def is_in(item: SecretListItem, segment: str, now: int) -> bool:
    """Whether a secret is in a segment; all are in that without a name."""
    if segment == CHANGED:
        return item.updated_at >= now - WEEK_MS
    if segment == UNDESCRIBED:
        return not item.description
    return not item.readable if segment == UNREADABLE else True


def segments(
    items: Sequence[SecretListItem], now: int, path: str, present: str
) -> list[tuple[str, str, int, bool, str]]:
    """The segments with their counts, as the macro of segments takes them; empty ones are left out."""
    names = {"": "All", CHANGED: "Changed this week", UNDESCRIBED: "Without description"}
    names |= {UNREADABLE: "Unreadable"}
    found = []
    for name, label in names.items():
        number = count_in(items, name, now)
        if number or name in ("", present):
            kind = "bad" if name == UNREADABLE else ""
            found.append((label, f"{path}?show={name}" if name else path, number, name == present, kind))
    return found


def count_in(items: Iterable[SecretListItem], segment: str, now: int) -> int:
    """How many secrets a segment has."""
    return sum(is_in(item, segment, now) for item in items)
