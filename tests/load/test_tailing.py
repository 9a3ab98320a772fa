"""A tail that is killed again and again while records are written."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from processes import ROOT
from shapes import log

from secretsvc.deployment.auditing import write_lines
from secretsvc.sealedlog.rules.lines import last_index

KILLS = 50


def test_a_tail_that_is_killed_fifty_times_under_load_misses_nothing_and_repeats_nothing(
    vault, service, tmp_path
):
    # Fifty real processes, forked from one that has everything imported, and records that are sealed beside.
    # Most are killed once they have written some bytes, others at a moment, be it before they have begun.
    vault.set(A="x")
    log(service, 3000)
    sealer, path = service.app.registry.audit_sealer, tmp_path / "audit.jsonl"
    url = service.engine.url.render_as_string(hide_password=False)
    command = [sys.executable, "-W", "ignore", Path(__file__).parent / "tailing.py", url, path, str(KILLS)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests")])}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as killed:
        while killed.poll() is None:
            log(service, 50)
            sealer.step()
        assert killed.returncode == 0
        assert killed.stdout
        assert int(killed.stdout.read()) > KILLS // 5
    while sealer.step():
        pass
    with path.open("ab+") as file:
        write_lines(service.engine, file, last_index(file) + 1)
    lines = path.read_bytes().splitlines()
    records = service.audit()
    assert [json.loads(line)["index"] for line in lines] == [*range(len(records))]
    assert {json.loads(line)["id"] for line in lines} == {str(row["id"]) for row in records}
