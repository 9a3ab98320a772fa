"""Values of another type than a column has, which SQLite takes: what follows is verified all the same."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import pytest
from shapes import log
from sqlalchemy import update
from tampering import tampered

from secretsvc.db.engine import snapshot
from secretsvc.deployment import auditing
from secretsvc.sealedlog.rules.files import Files
from secretsvc.sealedlog.rules.verifying import verify_database
from secretsvc.secrets.models import secret

pytestmark = pytest.mark.postgresql("none")


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
    service.execute(update(secret).where(secret.c.key == "B").values(deleted=True))
    return service


def assert_the_last_is_named(found):
    assert re.search("key B of environment .*: the log (has another deleted|does not tell of it)", found[-1])


def seal(service):
    while service.app.registry.audit_sealer.step():
        pass


def problems(service):
    with snapshot(service.engine) as connection:
        signers = auditing.own_key(connection, service.app.registry)
        return [*verify_database(connection, signers, [], None, service.app.registry.load_ring())]


ODD = {
    "UPDATE audit_seal SET leaf_hash = 'x' WHERE position = 1": "index 1: the record is not the one",
    "UPDATE audit_seal SET leaf_hash = 7 WHERE position = 1": "index 1: the record is not the one",
    "UPDATE audit_record SET action = CAST(action AS BLOB)": "index 0: the record is not the one",
    "UPDATE audit_key SET key = CAST(key AS BLOB) WHERE key = 'A'": "its rows of audit_key are not",
    "UPDATE secret SET description = CAST(description AS BLOB)": "the log has another description",
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
        lambda: auditing.export_to(registry, Files(Path(tmp_path / "export"))),
        lambda: auditing.write_lines(sealed.engine, io.BytesIO(), None),
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
