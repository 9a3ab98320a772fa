"""A tail that is killed again and again while records are written and its file is rotated."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from load.log_tail import COPIED, NONE, RENAMED
from processes import ROOT
from programs import need
from resource_fields import log
from rotated import Rotated
from rotation import Operator
from waiting import eventually

from secretsvc.deployment.audit import append_lines
from secretsvc.sealedlog.retention.tail_file import tail_file

KILLS = 50


def seal(service):
    while service.app.registry.audit_sealer.step():
        pass


@pytest.mark.parametrize(("rotation", "kills"), [(NONE, KILLS), (RENAMED, 16), (COPIED, 16)])
def test_a_tail_that_is_killed_and_rotated_under_load_misses_nothing_and_repeats_nothing(
    vault, service, tmp_path, rotation, kills
):
    # Real processes, forked from one that has everything imported, and records that are sealed beside.
    # Most are killed once they have written some bytes, others at a moment, be it before they have begun.
    program = "" if rotation == NONE else need("logrotate")
    vault.set(A="x")
    log(service, 3000)
    folder = tmp_path / "log"
    folder.mkdir(mode=0o700)
    path = folder / "audit.jsonl"
    url = service.engine.url.render_as_string(hide_password=False)
    arguments = [url, str(path), str(kills), rotation, program]
    command = [sys.executable, "-W", "ignore", str(Path(__file__).parent / "log_tail.py"), *arguments]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests")])}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as killed:
        while killed.poll() is None:
            log(service, 50)
            service.app.registry.audit_sealer.step()
        assert killed.returncode == 0
        assert killed.stdout
        assert int(killed.stdout.read()) > kills // 5
    seal(service)
    with tail_file(path, None) as file:
        append_lines(service.engine, file)
    rotated = Rotated(path, program, copies=rotation == COPIED)
    assert rotation == NONE or len(rotated.files()) > kills // 5
    assert rotated.indexes() == [*range(len(service.audit()))]


def test_the_lines_of_a_killed_tail_are_those_of_the_records(vault, service, tmp_path):
    vault.set(A="x")
    seal(service)
    with tail_file(tmp_path / "audit.jsonl", None) as file:
        append_lines(service.engine, file)
    lines = (tmp_path / "audit.jsonl").read_bytes().splitlines()
    assert {json.loads(line)["id"] for line in lines} == {str(row["id"]) for row in service.audit()}


@pytest.mark.parametrize("rotation", [RENAMED, COPIED])
def test_the_command_goes_on_while_logrotate_rotates_its_file(vault, service, tmp_path, rotation):
    vault.set(A="x")
    operator = Operator(tmp_path, service.engine.url.render_as_string(hide_password=False))
    path = tmp_path / "log" / "audit.jsonl"
    path.parent.mkdir(mode=0o700)
    rotated = Rotated(path, need("logrotate"), copies=rotation == COPIED)
    for last in (signal.SIGTERM, signal.SIGKILL):
        tail = operator.start("audit", "tail", "production.ini", "--follow", "--to", str(path))
        try:
            for _ in range(2):
                log(service, 20)
                seal(service)
                size = len(service.audit())
                # The tail has written everything, so that a copy and its truncation lose nothing.
                assert eventually(lambda size=size: rotated.content().count(b"\n") >= size, pause=0.05)
                rotated.rotate()
        finally:
            tail.send_signal(last)
            tail.communicate()
    log(service, 20)
    seal(service)
    assert operator.run("audit", "tail", "production.ini", "--to", str(path)).returncode == 0
    assert rotated.indexes() == [*range(len(service.audit()))]
    assert len(rotated.files()) == 5
    assert path.stat().st_mode & 0o777 == 0o600
