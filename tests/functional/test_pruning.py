"""Pruning: what is sealed and exported may leave the database, and nothing else may (contract 7.5)."""

from __future__ import annotations

import json
import secrets
import time
from pathlib import Path

import psycopg
import pytest
from psycopg import sql
from shapes import log
from sqlalchemy import text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DBAPIError
from vault import Vault

from secretsvc.audit.models import audit_key, audit_record
from secretsvc.db.engine import make_engine, write_transaction
from secretsvc.deployment import pruning
from secretsvc.kernel.ids import earliest_id
from secretsvc.sealedlog.models import audit_export, audit_pruned, audit_seal
from secretsvc.sealedlog.rules.pruning import Pruning, prune_some

INI = "production.ini"
WELL = "All is as it was sealed.\n"
UNKNOWN = "/access/unknown-identities"
OLDEST = "/audit?order=oldest"


@pytest.fixture
def audit(secretsvc):
    """Runs a subcommand: what it prints, or, with a status, what it fails with."""

    def run(*arguments, status=0):
        done = secretsvc("audit", *map(str, arguments))
        assert done.returncode == status, (done.stdout, done.stderr)
        return done.stdout if status in (0, 1) and done.stdout else done.stderr

    return run


@pytest.fixture
def folder(tmp_path):
    return Path(tmp_path / "export")


@pytest.fixture
def filled(vault, service):
    """A log whose first 300 records are of long ago, and what a vault leaves behind them."""
    add_old(service, 300)
    vault.set(A="x", B="y")
    vault.get("secrets/A")
    return vault


@pytest.fixture
def prune(audit, folder):
    """Prunes what is from before a date."""
    return lambda date="2020-01-01", **how: audit("prune", INI, "--before", date, "--export", folder, **how)


def add_old(service, count, **columns):
    """Records of the first seconds of 1970, which have the first places of the log."""
    log(service, count, ids=[earliest_id(1000 * number) for number in range(count)], **columns)


def left(service):
    """The positions of the records that are there."""
    places = {row["record_id"]: row["position"] for row in service.rows(audit_seal)}
    return sorted(places[row["id"]] for row in service.audit() if row["id"] in places)


def position(service):
    return [row["position"] for row in service.rows(audit_pruned)]


def test_what_was_exported_and_is_older_is_pruned_and_everything_is_explained(filled, service, audit, prune, folder):
    service.user("eve@example.com").get("/projects/shop", 404)
    unknown = filled.client.get(UNKNOWN).json
    assert "300 records are pruned" in prune()
    found = left(service)
    assert found[0] == 300
    assert position(service) == [300]
    [row] = service.audit("audit.prune")
    detail = json.loads(row["detail"])
    assert (detail["count"], detail["size"], row["actor_subject"]) == (300, 300, "system")
    assert detail["before"] == 1577836800000
    assert len(bytes.fromhex(detail["digest"])) == 32
    key = (folder / "key").read_text().strip()
    old = folder.parent / "old"
    old.write_text((folder / "checkpoint").read_text())
    assert audit("verify", "--ini", INI, "--key", key, "--checkpoint", old, folder) == WELL
    assert audit("verify", "--ini", INI, "--key", key) == WELL
    assert filled.client.get(UNKNOWN).json == unknown
    log(service, 3)
    assert "3 entries are in" not in audit("export", INI, folder)
    assert audit("verify", "--ini", INI, "--key", key, "--checkpoint", old, folder) == WELL
    assert "Nothing is left to prune" in prune()
