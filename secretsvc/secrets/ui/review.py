"""What reviews and conflicts show of a draft."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from secretsvc.kernel.text_areas import CR_KEPT, CR_LF_KEPT, LINE_FEEDS, NUL_LOST
from secretsvc.secrets.domain.editor import Authored
from secretsvc.secrets.domain.related import MissingIn
from secretsvc.secrets.queries.plan import ADDED, CHANGED, REMOVED
from secretsvc.secrets.ui.changes import DESCRIBED, SAME, ChangeRow, Side, change_rows, in_order
from secretsvc.secrets.ui.value_warnings import doubts
from secretsvc.secrets.write.write import WriteOutcome
from secretsvc.web.pages.html_helpers import enumeration

#: Of the environments without a new key so many are named: 500 keys may be missing in 50.
NAMED = 3
#: What became of the line ends of an edited value, which no page can show.
LINE_ENDS = {
    CR_LF_KEPT: "line ends stay CR LF",
    CR_KEPT: "line ends stay CR",
    LINE_FEEDS: "line ends become LF",
    NUL_LOST: "NUL becomes U+FFFD",
}
#: What one's own change is called beside theirs.
YOURS = {
    ADDED: "new",
    CHANGED: "new value",
    REMOVED: "delete",
    DESCRIBED: "description",
    SAME: "the same value",
}


@dataclass(frozen=True, slots=True)
class ReviewConflict:
    """A key that either side changed; `what` each did is None where it did not."""

    key: str
    yours: str | None
    theirs: str | None

    @property
    def is_both(self) -> bool:
        """Whether both did."""
        return self.yours is not None and self.theirs is not None


def review_rows(
    planned: WriteOutcome,
    values: Mapping[str, str],
    described: Mapping[str, str | None],
    missing: Mapping[str, Sequence[MissingIn]],
    *,
    tells_unchanged: bool,
) -> list[ChangeRow]:
    """What a dry run would do, with what is doubtful about the new values and without any of them.

    `missing` has the other environments without a new key.
    """
    rows = change_rows(planned)
    if tells_unchanged:
        rows = in_order([*rows, *(ChangeRow(key, SAME) for key in planned.unchanged)])
    notes = {
        key: f"Also missing in {enumeration([one.name for one in lacking[:NAMED]], len(lacking))}"
        for key, lacking in missing.items()
    }
    ends = {key: [LINE_ENDS[became]] for key, became in planned.line_ends.items()}
    return [
        replace(_told(row, values, described, ends.get(row.key, [])), note=notes.get(row.key, row.note))
        for row in rows
    ]


def _told(
    row: ChangeRow, values: Mapping[str, str], described: Mapping[str, str | None], ends: Sequence[str]
) -> ChangeRow:
    if row.kind not in (ADDED, CHANGED):
        return row
    new, value = {ADDED: "new", CHANGED: "new value"}[row.kind], values.get(row.key)
    if value == "":
        new += ", empty"
    if described.get(row.key):
        new += ", with a description"
    return replace(row, word=new, warnings=[*doubts(value or ""), *ends])


def with_values(
    rows: Sequence[ChangeRow],
    is_asked: Callable[[str], bool],
    old: Mapping[str, str],
    new: Mapping[str, str],
) -> list[ChangeRow]:
    """The rows with the old and the new value of those that were asked for."""
    return [
        replace(row, values=_sides(row, old.get(row.key), new.get(row.key)))
        if is_asked(row.key) and row.kind not in (DESCRIBED, SAME)
        else row
        for row in rows
    ]


def _sides(row: ChangeRow, old: str | None, new: str | None) -> tuple[Side, Side]:
    before = Side(f"Now, version {row.version - 1}" if row.kind != ADDED else "Now")
    after = Side("After" if row.kind == REMOVED else f"After, version {row.version}")
    if row.kind == ADDED:
        return replace(before, absent="Not there."), _whole(after, new)
    if row.kind == REMOVED:
        return _whole(before, old), replace(after, absent="Deleted.")
    if not old or not new:
        return _whole(before, old), _whole(after, new)
    return highlight_differences((before, after), (old, new))


def _whole(side: Side, value: str | None) -> Side:
    if not value:
        return replace(side, absent="It cannot be read." if value is None else "Empty.")
    return replace(side, before=value)


def highlight_differences(sides: tuple[Side, Side], values: tuple[str, str]) -> tuple[Side, Side]:
    """Two sides with their values, in which what differs stands by itself."""
    start, end = _common(*values)
    first, second = (_apart(side, value, start, end) for side, value in zip(sides, values, strict=True))
    return first, second


def _apart(side: Side, value: str, start: int, end: int) -> Side:
    stop = len(value) - end
    return replace(side, before=value[:start], differing=value[start:stop], after=value[stop:])


def _common(one: str, other: str) -> tuple[int, int]:
    """How many characters at the beginning and at the end two texts have in common."""
    most, start = min(len(one), len(other)), 0
    while start < most and one[start] == other[start]:
        start += 1
    end = 0
    while end < most - start and one[-1 - end] == other[-1 - end]:
        end += 1
    return start, end


def conflicts(planned: WriteOutcome, concurrent: Sequence[Authored]) -> list[ReviewConflict]:
    """What either side did to each key: what both changed first, then yours, then theirs."""
    yours = {row.key: YOURS[row.kind] for row in change_rows(planned)}
    yours |= dict.fromkeys(planned.unchanged, YOURS[SAME])
    theirs = {one.key: "deleted" if one.deleted else f"new value, v{one.version}" for one in concurrent}
    rows = [
        ReviewConflict(key, yours.get(key), theirs.get(key)) for key in sorted(yours.keys() | theirs.keys())
    ]
    return sorted(rows, key=lambda row: (not row.is_both, row.yours is None))
