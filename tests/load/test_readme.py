"""The README's first session, pasted as a newcomer would, against the development server."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest
from processes import ROOT, START_SECONDS, free_port
from service import MASTER_KEY

README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(heading: str) -> list[str]:
    """What a section has to be pasted."""
    section = README.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    return re.findall(r"```bash\n(.*?)```", section, re.DOTALL)


SESSION, PROMOTION = blocks("A first session"), blocks("From staging to production")
# What the promotion takes for granted: an environment that is staged, whose keys production has in part.
STAGED = """
shop=$api/projects/shop/environments
curl -fsS -o made -H "$json" -d '{"slug": "staging", "name": "Staging"}' $shop
set='{"API_URL": "https://v7.example", "API_KEY": "k7", "GREETING": "hello", "ONLY_STAGING": "x"}'
curl -fsS -o made -H "$json" -d "{\\"mode\\": \\"merge\\", \\"set\\": $set}" $shop/staging/secrets:batch
old='{"mode": "merge", "set": {"API_KEY": "k6"}, "reason": "release 6"}'
curl -fsS -o made -H "$json" -d "$old" $prod/secrets:batch
"""
NEEDS = [tool for tool in ("bash", "curl", "python3") if shutil.which(tool) is None]


@pytest.fixture
def development(tmp_path):
    """`make run` without make: migrate, then serve development.ini behind the development proxy."""
    shutil.copy(ROOT / "development.ini", tmp_path)
    (tmp_path / "alembic").symlink_to(ROOT / "alembic")
    (tmp_path / ".dev").mkdir()
    port = free_port()
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "MASTER_KEY": MASTER_KEY}
    options = {"cwd": tmp_path, "env": environment, "stdin": subprocess.DEVNULL}
    python = [sys.executable, "-W", "ignore", "-m"]
    subprocess.run([*python, "alembic", "-c", "development.ini", "upgrade", "head"], check=True, **options)
    listen = f"listen=127.0.0.1:{port}"
    serve = [*python, "pyramid.scripts.pserve", "-q", "development.ini", listen]
    with subprocess.Popen(serve, stderr=subprocess.DEVNULL, **options) as process:
        try:
            wait_for(f"http://127.0.0.1:{port}/api/v1/health")
            yield tmp_path, f"127.0.0.1:{port}"
        finally:
            process.terminate()


def wait_for(url: str) -> None:
    deadline = time.monotonic() + START_SECONDS
    while True:
        try:
            with urllib.request.urlopen(url, timeout=5):  # noqa: S310 - loopback, as named above
                return
        except OSError:
            assert time.monotonic() < deadline, "the development server does not answer"
            time.sleep(0.1)


def pasted(directory, address, scripts):
    """The lines that a shell answers with."""
    script = "set -e\n" + "\n".join(scripts).replace("127.0.0.1:6543", address)
    done = subprocess.run(
        ["bash", "-c", script], cwd=directory, capture_output=True, text=True, check=False, timeout=600
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_the_first_session_works_as_it_is_pasted(development):
    assert not NEEDS, f"this test pastes the session into a shell and needs {NEEDS}"
    directory, address = development
    lines = pasted(directory, address, SESSION)
    answers = [json.loads(line) for line in lines if line.startswith("{")]
    assert answers[0]["identity"]["subject"] == "admin@example.test"
    assert [change["kind"] for change in answers[3]["changes"]] == ["added"] * 4
    assert answers[5]["value"] == "postgresql://shop:s3cr%t@db.internal:5432/shop"
    assert answers[7]["changes"] == [{"key": "EMPTY", "kind": "changed", "version": 3}]
    exported = lines[-6:]
    assert exported[1:3] == ["EMPTY=", "GREETING='Grüße, \"world\" #1'"]
    assert exported[3::2] == ["TLS_KEY='-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----'"]
    assert (Path(directory) / "first.env").exists()


def test_the_page_of_promoting_shows_the_same_commands():
    page = (ROOT / "docs" / "use" / "promoting.md").read_text(encoding="utf-8")
    assert re.findall(r"```bash\n(.*?)```", page, re.DOTALL) == PROMOTION


def test_three_keys_are_promoted_by_four_commands_as_they_are_pasted(development):
    assert not NEEDS, f"this test pastes the commands into a shell and needs {NEEDS}"
    (promotion,) = PROMOTION
    assert sum(line.startswith("curl ") for line in promotion.splitlines()) == 4
    lines = pasted(*development, [*SESSION, STAGED, "echo BEGIN", promotion])
    before, planned, written, after = map(json.loads, lines[lines.index("BEGIN") + 1 :])
    three = ["API_KEY", "API_URL", "GREETING"]
    kinds = {item["key"]: item["kind"] for item in before["items"]}
    assert [kinds[key] for key in three] == ["differs", "there", "differs"]
    assert planned["dry_run"]
    assert [change["key"] for change in planned["changes"]] == three
    assert [(one["key"], one["kind"]) for one in written["changes"]] == [
        (one["key"], one["kind"]) for one in planned["changes"]
    ]
    assert written["rev"] == planned["rev"] + 1
    kinds = {item["key"]: item["kind"] for item in after["items"]}
    assert [kinds[key] for key in three] == ["same"] * 3
    assert kinds["ONLY_STAGING"] == "there"
