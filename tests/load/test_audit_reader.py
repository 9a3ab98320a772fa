"""An exported log is verified by software of others: the Go project's notes and trees (contract 7.2, 7.3)."""

from __future__ import annotations

import base64
import subprocess
from pathlib import Path
from typing import Any

from resource_fields import log
from toolchains import built_by_go

from secretsvc.db.engine import read_transaction
from secretsvc.sealedlog.models import audit_seal
from secretsvc.sealedlog.retention.export import export_log
from secretsvc.sealedlog.retention.files import Files
from secretsvc.transparency.key_succession import Signers
from secretsvc.transparency.merkle import root_of
from secretsvc.transparency.signed_note import Verifier, read_verifier

OLD = 300


def read(folder: Path, key: str) -> subprocess.CompletedProcess[str]:
    """What the program says of an export that had `OLD` entries once."""
    program = built_by_go(Path(__file__).parent.parent / "readers" / "tlog") / "reader"
    return subprocess.run([program, folder, key, str(OLD)], capture_output=True, text=True, check=False)


# It has no database to ask: an export is the same on both.
def test_a_go_program_proves_each_entry_and_the_growth_of_an_export(vault: Any, service: Any, tmp_path: Path):
    vault.set(A="x")
    log(service, 700)
    while service.app.registry.audit_sealer.step():
        pass
    key = vault.client.get("/audit/key").text
    verifier: Verifier = read_verifier(key)
    with read_transaction(service.engine) as connection:
        exported = export_log(connection, Signers(verifier), Files(tmp_path))
    done = read(tmp_path, key)
    hashes = [row["leaf_hash"] for row in service.rows(audit_seal) if row["position"] < OLD]
    before = base64.b64encode(root_of(hashes)).decode()
    assert (done.returncode, done.stdout) == (0, f"secretsvc {exported.size} {before}\n"), done.stderr
    entries = tmp_path / "tile" / "entries" / "001"
    changed = bytearray(entries.read_bytes())
    changed[50] ^= 1
    entries.write_bytes(changed)
    assert read(tmp_path, key).returncode == 1
