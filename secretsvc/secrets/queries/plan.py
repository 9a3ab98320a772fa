"""What a write is to do to the keys of an environment, and what that comes to."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, NamedTuple
from uuid import UUID

from secretsvc.kernel.schema_annotations import Ordinal, SecretKey, one_of, schema_name
from secretsvc.secrets.queries.key_rows import KeyRow

ADDED, CHANGED, REMOVED = "added", "changed", "removed"
ChangeKind = Annotated[str, one_of(ADDED, CHANGED, REMOVED)]


class ValueOrigin(NamedTuple):
    """The version that first had a value; its columns are those of a version that was made from it."""

    origin_environment_id: UUID
    origin_secret_id: int
    origin_version: int


#: The columns of a version whose value is new.
NO_ORIGIN = (None, None, None)


@schema_name("Change")
@dataclass(frozen=True, slots=True)
class PlannedChange:
    """What a write does to one key; `version` is the one that it makes, a tombstone's for `removed`."""

    key: SecretKey
    kind: ChangeKind
    version: Ordinal


@dataclass(frozen=True, slots=True)
class Plan:
    """Values to write, keys to remove, and descriptions to set (None clears).

    A description of an undeleted key that is not written changes alone, without a version. `detail` is what
    the record says beside the new revision and the changes. `origins` are those of the values that are not
    new, by key; `copied_from` is the other environment that they come from. `unchanged` are keys whose given
    values they have already, and which are therefore not written. `line_ends` says by key what became of the
    line ends that a page could not show (`kernel.text_areas.outcome`).
    """

    values: Mapping[str, str] = field(default_factory=dict, repr=False)
    removals: Collection[str] = ()
    descriptions: Mapping[str, str | None] = field(default_factory=dict)
    detail: Mapping[str, object] = field(default_factory=dict)
    origins: Mapping[str, ValueOrigin] = field(default_factory=dict)
    copied_from: UUID | None = None
    unchanged: Collection[str] = ()
    line_ends: Mapping[str, str] = field(default_factory=dict)


def planned_changes(plan: Plan, known: Mapping[str, KeyRow]) -> list[PlannedChange]:
    """What a plan does to the keys, sorted by them."""
    changes = []
    for key in plan.values:
        before = known.get(key)
        kind = CHANGED if before is not None and not before.deleted else ADDED
        changes.append(PlannedChange(key, kind, before.version + 1 if before is not None else 1))
    for key in plan.removals:
        before = known.get(key)
        if before is not None and not before.deleted:
            changes.append(PlannedChange(key, REMOVED, before.version + 1))
    return sorted(changes, key=lambda change: change.key)


def described_alone(plan: Plan, known: Mapping[str, KeyRow], changes: Iterable[PlannedChange]) -> list[str]:
    """The keys whose description alone differs from what it was, sorted."""
    alone = plan.descriptions.keys() - {change.key for change in changes}
    return sorted(
        key
        for key in alone & known.keys()
        if not known[key].deleted and known[key].description != plan.descriptions[key]
    )


def description_after(plan: Plan, change: PlannedChange, before: KeyRow | None) -> str | None:
    """The description of a key once a change of it is made; `before` is None for a key that never was."""
    # Whoever comes back was not there before.
    kept = before.description if before is not None and change.kind == CHANGED else None
    return plan.descriptions.get(change.key, kept)


def growth_of(changes: Iterable[PlannedChange]) -> int:
    """How many secrets more there are afterwards."""
    kinds = [change.kind for change in changes]
    return kinds.count(ADDED) - kinds.count(REMOVED)
