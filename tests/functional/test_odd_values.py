"""Values of another type than a column has, which SQLite takes: what follows is verified all the same."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import pytest
from resource_fields import log
from sqlalchemy import insert
from tampering import tampered

from secretsvc.audit.models import EVERYWHERE, denial_tally
from secretsvc.db.engine import snapshot
from secretsvc.deployment import audit
from secretsvc.kernel.ids import new_id
from secretsvc.sealedlog.retention.files import Files
from secretsvc.sealedlog.verification.verify import verify_database


@pytest.fixture
def sealed(vault, service):
    """A sealed log that explains everything but the last row that is compared."""
    if service.engine.name == "postgresql":
        pytest.skip("it has types")
    vault.batch(set={"A": "x", "B": "x"}, descriptions={"A": "of A"})
    source = {"project": "shop", "environment": "prod"}
    vault.set(A="y", B="y")
    vault.post("copy", {"from": source, "from_rev": 1, "keys": ["A", "B"], "existing": "overwrite"})
    vault.get("secrets/A")
    seal(service)
    assert problems(service) == []
    times = {"first_denied_at": 1, "last_denied_at": 1}
    forged = {"identity_id": new_id(), "scope_id": EVERYWHERE, "denials": 1, **times}
    service.execute(insert(denial_tally), forged)
    return service


def assert_the_last_is_named(found):
    assert re.fullmatch("denials of identity .* at .*: the log does not tell of it", found[-1])


def seal(service):
    while service.app.registry.audit_sealer.step():
        pass


def problems(service):
    with snapshot(service.engine) as connection:
        signers = audit.own_key(connection, service.app.registry)
        return [*verify_database(connection, signers, [], None, service.app.registry.load_ring())]


ODD = {
    "UPDATE audit_seal SET leaf_hash = 'x' WHERE position = 1": "index 1: the record is not the one",
    "UPDATE audit_seal SET leaf_hash = 7 WHERE position = 1": "index 1: the record is not the one",
    "UPDATE audit_record SET action = CAST(action AS BLOB)": "index 0: the record is not the one",
    "UPDATE audit_key SET key = CAST(key AS BLOB) WHERE key = 'A'": "its rows of audit_key are not",
    "UPDATE secret SET description = CAST(description AS BLOB)": "the log has another description",
    "UPDATE secret_version SET rev = CAST(rev AS BLOB)": "the log has another rev",
    "UPDATE secret_version SET version = 'x' WHERE version = 1": "version x of key A",
    "UPDATE secret_version SET created_by = 'x'": "the log has another created_by",
    "UPDATE secret_version SET origin_version = 'x'": "the log has another origin",
    "UPDATE revision SET rev = 'x' WHERE rev = 2": "revision x of environment",
    "UPDATE revision SET reason = CAST('x' AS BLOB)": "the log has another reason",
    "UPDATE revision SET action = NULL, created_at = 'x'": "the log has another action, created_at",
}


@pytest.mark.parametrize("statement", ODD)
def test_a_value_of_another_type_is_named_and_keeps_nothing_from_being_verified(sealed, statement):
    tampered(sealed, statement, statement.split()[1])
    found = problems(sealed)
    assert ODD[statement] in "\n".join(found)
    assert_the_last_is_named(found)


FEW = {
    "UPDATE audit_head SET size = 'x'": "audit_head holds a size",
    "UPDATE audit_head SET checkpoint = CAST(checkpoint AS BLOB)": "audit_head holds a checkpoint",
    "UPDATE audit_head SET frontier = 1": "audit_head holds a frontier",
    "UPDATE audit_signer SET public_key = 'x'": "audit_signer holds a public_key",
    "INSERT INTO audit_pruned VALUES (1, 'x', 1)": "audit_pruned holds a position",
}


@pytest.mark.parametrize("statement", FEW)
def test_where_a_table_of_a_few_rows_cannot_be_read_each_command_says_which_in_one_line(
    sealed, statement, tmp_path
):
    tampered(sealed, statement, FEW[statement].split()[0])
    registry = sealed.app.registry
    for command in (
        lambda: problems(sealed),
        lambda: audit.export_to(registry, Files(Path(tmp_path / "export"))),
        lambda: audit.write_lines(sealed.engine, io.BytesIO(), None),
    ):
        with pytest.raises(ValueError, match=f"{FEW[statement]} of another type"):
            command()


def test_who_adds_records_with_ids_that_are_none_keeps_nothing_from_being_verified(sealed, admin):
    group = admin.post("/groups", {"slug": "crew", "name": "Crew"}, 201).json["id"]
    for one in (1, "x", None):
        detail = json.dumps({"group_id": group, "identity_id": one})
        log(sealed, action="group.member.add", detail=detail)
    seal(sealed)
    found = problems(sealed)
    assert f"member 1 of group {group}: it is missing, and the log does not tell why" in found
    assert_the_last_is_named(found)
