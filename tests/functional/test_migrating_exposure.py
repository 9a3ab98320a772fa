"""What exposure rests on is filled from records that were there before it (contract 5.11)."""

from __future__ import annotations

from typing import Any

import pytest
from functional.test_audit_by_key import vaults  # noqa: F401 - a fixture
from functional.test_migrations import config  # noqa: F401 - a fixture

from alembic import command
from secretsvc.audit.models import FULL_COPY, audit_key, audit_record
from secretsvc.secrets.models import revision, secret_version

COLUMNS = {
    audit_record: ("id", "key", "given"),
    audit_key: tuple(audit_key.c.keys()),
    revision: ("environment_id", "rev", "record_id", "copied_from"),
    secret_version: ("secret_id", "version", "origin_environment_id", "origin_secret_id", "origin_version"),
}


def derived(service, without: set[Any]) -> dict[str, list[tuple[Any, ...]]]:
    """What may be derived, sorted, but for that of some records."""
    return {
        table.name: sorted(
            (
                tuple(row[name] for name in names)
                for row in service.rows(table)
                if row.get("record_id" if table is audit_key else "id") not in without
            ),
            key=str,
        )
        for table, names in COLUMNS.items()
    }


def copies_of_all(service) -> set[Any]:
    """The records of copies that took every key: the older ones name each."""
    return {row["id"] for row in service.rows(audit_record) if row["key"] == FULL_COPY}


@pytest.fixture
def busy(service, vaults):  # noqa: F811
    """With a rollback, which no record explains, only of a key that nothing was made from."""
    prod, _ = vaults
    prod.set(LAST="1")
    prod.set(LAST="2")
    return service


@pytest.mark.slow
def test_what_was_there_is_told_as_if_it_had_been_written_now(config, busy):  # noqa: F811
    of_all = copies_of_all(busy)
    assert of_all
    before = derived(busy, of_all)
    assert all(before.values())
    for _ in range(2):
        command.downgrade(config, "0006")
        command.upgrade(config, "head")
        after = derived(busy, of_all)
        for name in ("audit_record", "audit_key", "revision"):
            assert after[name] == before[name], name
        told, known = ({row[:2]: row[2:] for row in one["secret_version"]} for one in (after, before))
        lost = {key for key in known if told[key] != known[key]}
        # The rollback is an origin now, and what the restore took is the older one all the same.
        rolled_back = {key for key in lost if told[key] == (None, None, None)}
        assert len(rolled_back) == 1
        assert lost == rolled_back
        assert sum(origin[1] is not None for origin in told.values()) >= 6


@pytest.mark.slow
def test_what_tells_of_a_deleted_environment_is_kept_and_nothing_fails(config, busy):  # noqa: F811
    busy.user().delete("/projects/shop/environments/dev")
    of_all = copies_of_all(busy)
    assert of_all
    before = derived(busy, of_all)
    command.downgrade(config, "0006")
    command.upgrade(config, "head")
    after = derived(busy, of_all)
    assert after["audit_record"] == before["audit_record"]
    assert [row[:4] for row in after["audit_key"]] == [row[:4] for row in before["audit_key"]]
    command.downgrade(config, "base")
    command.upgrade(config, "head")
