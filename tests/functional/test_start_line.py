"""The log has one line that says what has started: docs/operations/log.md."""

from __future__ import annotations

import logging
import re

import pytest
from metrics_client import watched
from service import MASTER_KEY
from sqlalchemy.engine import make_url
from waiting import eventually

from secretsvc.db.schema import REVISION
from secretsvc.kernel.crypto import KeyRing
from secretsvc.kernel.parsers import master_key
from secretsvc.kernel.release import VERSION
from secretsvc.server.start_line import engine_text

LISTENING = {"OPERATIONS_LISTEN": "127.0.0.1:0"}


def start_line(caplog, service):
    """The line, and where the server listened: for requests, and for who watches it."""
    caplog.set_level(logging.INFO, "secretsvc.server")

    def lines():
        return [line for line in caplog.messages if line.startswith("started: ")]

    with watched(service) as operator:
        assert eventually(lines)
        operator.until(200)
        ports = int(operator.server.effective_port), operator.port
    (line,) = lines()
    return line, *ports


@pytest.mark.slow
def test_a_start_has_one_line_that_says_what_runs(make_service, caplog, monkeypatch):
    monkeypatch.setenv("RATE_LIMITS", "9/day")
    service = make_service()
    line, port, operations = start_line(caplog, service.restarted(**LISTENING))
    kid = KeyRing(master_key(MASTER_KEY), None).active_kid
    database = engine_text(service.url)
    assert line == (
        f"started: secretsvc {VERSION}, schema {REVISION}, master key {kid}, listening on 127.0.0.1:{port},"
        f" operations on 127.0.0.1:{operations}, database {database}, unknown variables: RATE_LIMITS"
    )
    assert str(make_url(service.url).database) in line
    assert MASTER_KEY not in line


@pytest.mark.slow
def test_the_page_of_the_log_shows_a_line_of_this_form(make_service, caplog, here):
    page = (here / "docs" / "operations" / "log.md").read_text("utf-8")
    (shown,) = re.findall(r"(?ms)^```text\n(.*?)\n```$", page)
    (section,) = re.findall(r"(?ms)^## One line a start$(.*?)^## ", page)
    parts = [
        part for row in re.findall(r"(?m)^\| (`.*?) \|", section) for part in re.findall(r"`(.+?)`", row)
    ]
    line, *_ = start_line(caplog, make_service().restarted(**LISTENING))
    for told in (shown, line):
        names = [re.match(rf"(?:{'|'.join(parts)})", part).group() for part in told[9:].split(", ")]
        assert names == parts


@pytest.mark.slow
def test_a_start_without_its_settings_says_what_is_unknown(make_service, caplog, tmp_path):
    caplog.set_level(logging.INFO, "secretsvc.server")
    missing = {"MASTER_KEY": "", "SQLALCHEMY.URL": f"sqlite:///{tmp_path}/no/such/file"}
    with watched(make_service().restarted(**missing, **LISTENING)):
        assert eventually(lambda: "started: " in caplog.text)
    (line,) = (line for line in caplog.messages if line.startswith("started: "))
    assert "schema unknown, master key none, " in line
    assert line.endswith(f"database sqlite {tmp_path}/no/such/file, unknown variables: none")


def test_a_database_is_named_without_credentials():
    named = {
        "postgresql+psycopg://ann:hunter2@db.example:5433/vault": "postgresql vault at db.example:5433",
        "postgresql://ann:hunter2@db.example/vault?password=hunter2": "postgresql vault at db.example",
        "postgresql:///vault?host=/run/a&host=/run/b&user=ann": "postgresql vault at /run/a /run/b",
        # Whoever does not escape an @ must not find the rest of the password in the log.
        "postgresql://ann:x@hunter2@db.example/vault": "postgresql vault at db.example",
        "postgresql://ann:x@hunter/2@db.example/vault": "postgresql db.example/vault at hunter",
        "sqlite:////var/lib/vault.sqlite": "sqlite /var/lib/vault.sqlite",
        "sqlite://": "sqlite in memory",
    }
    found = {url: engine_text(url) for url in named}
    assert found == named
    assert not re.search("ann|hunter2", str(found.values()))
