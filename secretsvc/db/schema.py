"""The schema that this code was written for, and which others it may serve."""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import lru_cache
from typing import NamedTuple

from sqlalchemy import Column, Connection, MetaData, String, Table, inspect, select

from secretsvc.kernel.release import VERSION

#: The newest migration. Whoever adds one puts its number here; a process over an older schema is not ready.
REVISION = "0018"

#: The tables that only grow.
APPEND_ONLY = (
    "audit_former_signer",
    "audit_key",
    "audit_record",
    "audit_seal",
    "audit_snapshot",
    "digest_key",
)
#: How far the log was exported and pruned, one row each.
RETENTION = ("audit_export", "audit_pruned")
#: What a service does with the tables of the log, beside reading them; by migration 0016 it may do no more.
WRITES: dict[str, tuple[str, ...]] = {
    "audit_export": ("INSERT", "UPDATE"),
    "audit_former_signer": (),
    "audit_head": ("INSERT", "UPDATE"),
    "audit_key": ("INSERT",),
    "audit_pruned": (),
    "audit_record": ("INSERT",),
    "audit_seal": ("INSERT",),
    "audit_signer": ("INSERT", "UPDATE"),
    "audit_snapshot": ("INSERT",),
    "audit_unsealed": ("DELETE",),
    "digest_key": ("INSERT",),
}
#: The triggers that promises rest on, each with its table; a restored copy may lack them.
_ON_BOTH = {
    ("environment_departs", "environment"),
    ("audit_record_waits", "audit_record"),
    ("audit_seal_from_zero", "audit_seal"),
    ("audit_unsealed_no_skip", "audit_unsealed"),
    ("audit_unsealed_no_change", "audit_unsealed"),
    ("audit_head_no_return", "audit_head"),
    ("audit_head_no_delete", "audit_head"),
    ("audit_signer_no_change", "audit_signer"),
    ("audit_signer_no_delete", "audit_signer"),
    ("audit_former_signer_holds", "audit_former_signer"),
    *((f"{table}_{what}", table) for table in RETENTION for what in ("holds", "no_return", "no_delete")),
}
TRIGGERS = {
    "sqlite": {
        *_ON_BOTH,
        *((f"{table}_no_{what}", table) for table in APPEND_ONLY for what in ("update", "delete", "replace")),
        *((f"{table}_no_replace", table) for table in ("audit_head", "audit_signer", *RETENTION)),
    },
    "postgresql": {
        *_ON_BOTH,
        *((f"{table}_no_change", table) for table in APPEND_ONLY),
        *(
            (f"{table}_no_truncate", table)
            for table in (*APPEND_ONLY, *RETENTION, "audit_unsealed", "audit_head", "audit_signer")
        ),
    },
}

#: One row, which whoever migrates writes: the newest migration, and the oldest release that may serve the
#: schema after it. It is no model's: nothing of the service ever changes it.
schema_release = Table(
    "schema_release", MetaData(), Column("revision", String(32)), Column("oldest_release", String(32))
)


class SchemaRelease(NamedTuple):
    """That row."""

    revision: str
    oldest_release: str


def recorded(connection: Connection) -> SchemaRelease | None:
    """None where nothing was migrated that far."""
    if not inspect(connection).has_table(schema_release.name):
        return None
    row = connection.execute(select(schema_release.c.revision, schema_release.c.oldest_release)).first()
    return None if row is None else SchemaRelease(*row)


def is_ours(revision: str) -> bool:
    """Whether a migration is of secretsvc's own kind, and none of a plugin's."""
    return len(revision) == len(REVISION) and revision.isdigit()


@lru_cache(maxsize=8)
def serves(found: SchemaRelease | None, code: str = REVISION, release: str = VERSION) -> bool:
    """Whether code of that revision and release may serve a schema: its own, or a newer one that says so."""
    if found is None or not is_ours(found.revision) or found.revision < code:
        return False
    return found.revision == code or _numbers(release) >= _numbers(found.oldest_release)


def newer_served(revisions: Collection[str], found: SchemaRelease | None) -> frozenset[str]:
    """Of revisions that a database names, those of ours that are newer than the code and may be served."""
    ours = {one for one in revisions if is_ours(one) and one > REVISION}
    return frozenset(one for one in ours if found is not None and found.revision == one and serves(found))


def _numbers(release: str) -> tuple[int, ...]:
    """Of `1.10.2` and of what comes before it, such as `1.10.2rc1`."""
    return tuple(int(number) for number in re.findall(r"\d+", release)[:3])
