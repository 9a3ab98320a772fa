"""A WSGI filter around the application turns nothing off (contract 17.7)."""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from databases import SqliteDatabases
from doc_blocks import blocks
from processes import START_SECONDS, Deployment, ServiceProcess, free_port
from service import ADMIN
from tokens import TestIssuer
from waiting import eventually

PROD = "/projects/shop/environments/prod"
MAIN = "[app:main]\nuse = egg:secretsvc\n"
DRAIN = "secretsvc.drain_seconds = 7\n"
#: What the sections of an ini become: a filter of the application, or a pipeline.
SURROUNDED = {
    "filter-with": f"FILTER\n{MAIN}filter-with = one\n",
    "pipeline": f"[pipeline:main]\npipeline = one secretsvc\n\nFILTER\n{MAIN.replace('main', 'secretsvc')}",
}
FILTER = "[filter:one]\npaste.filter_factory = load.filters:make_{}\n"


@pytest.fixture
def make_process(
    sqlite_databases: SqliteDatabases, issuer: TestIssuer, tmp_path: Path
) -> Iterator[Callable[[str], ServiceProcess]]:
    """One process whose ini has these sections in place of `[app:main]`; it is not started."""
    with Deployment(tmp_path, sqlite_databases.create(), issuer, AUDIT_SEAL_SECONDS="1") as deployment:

        def make(sections: str) -> ServiceProcess:
            settings = {**deployment.settings, "OPERATIONS_LISTEN": f"127.0.0.1:{free_port()}"}
            del settings["DRAIN_SECONDS"]
            process = ServiceProcess(tmp_path / "process", settings)
            text = process.ini.read_text("utf-8").replace(MAIN, sections)
            process.ini.write_text(text, "utf-8")
            deployment.processes.append(process)
            return process

        yield make


def asked(process: ServiceProcess, path: str) -> tuple[int, bytes]:
    """What the operations listener answers."""
    with closing(http.client.HTTPConnection(process.settings["OPERATIONS_LISTEN"], timeout=10)) as connection:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read()


def indexes(admin: Any) -> list[int | None]:
    return [one["index"] for one in admin.expect(200, "GET", "/audit").json["items"]]


def messages(process: ServiceProcess) -> list[str]:
    lines = [line for line in process.output.splitlines() if line.startswith(b"{")]
    return [json.loads(line).get("message", "") for line in lines]


@pytest.fixture
def shown(here: Path, tmp_path: Path) -> str:
    """Sections with the filter that docs/operations/monitoring.md shows; its module is in place."""
    page = (here / "docs" / "operations" / "monitoring.md").read_text("utf-8")
    (module,), (ini,) = (blocks(page, "WSGI filters", language) for language in ("python", "ini"))
    (tmp_path / "process").mkdir()
    (tmp_path / "process" / "your_module.py").write_text(module, "utf-8")
    application, _, filters = ini.partition("\n[filter:")
    return f"[filter:{filters}\n{application}"


@pytest.mark.parametrize(("name", "how"), [("shown", ""), ("sentry", "pipeline"), ("opaque", "filter-with")])
def test_a_filter_around_the_application_turns_nothing_off(make_process, shown, issuer, name, how):
    sections = SURROUNDED[how].replace("FILTER", FILTER.format(name)) if how else shown
    process = make_process(sections + DRAIN)
    process.start()
    with closing(process.client(issuer.sign(ADMIN))) as admin:
        admin.expect(201, "POST", "/projects", {"slug": "shop", "name": "Shop"})
        admin.expect(201, "POST", "/projects/shop/environments", {"slug": "prod", "name": "Prod"})
        # The first value takes the key into use, without which nothing is sealed.
        admin.expect(200, "POST", f"{PROD}/secrets:batch", {"mode": "merge", "set": {"A": "x"}})
        assert admin.expect(200, "GET", f"{PROD}/secrets/A").json["value"] == "x"
        assert eventually(lambda: None not in indexes(admin), pause=0.2)
    assert eventually(lambda: asked(process, "/ready")[0] == 200)
    assert b'secretsvc_requests_total{method="GET"' in asked(process, "/metrics")[1]
    assert process.stop() == 0
    assert "stopping: what is under way has 7 seconds" in messages(process)
    assert len([line for line in messages(process) if line.startswith("started: secretsvc ")]) == 1


def test_several_applications_behind_filters_end_the_start_by_name(make_process):
    composite = (
        "[composite:main]\npaste.composite_factory = load.filters:make_both\n\n"
        "[app:one]\nuse = egg:secretsvc\nsqlalchemy.url = sqlite://\n\n[app:two]\nuse = egg:secretsvc\n"
    )
    process = make_process(composite)
    command = [
        sys.executable,
        "-m",
        "pyramid.scripts.pserve",
        process.ini,
        f"listen=127.0.0.1:{process.port}",
    ]
    done = subprocess.run(
        command, env=process._environment(), capture_output=True, timeout=START_SECONDS, check=False
    )
    assert done.returncode
    last = done.stderr.decode().splitlines()[-1]
    assert last.endswith("filters surround 2 applications of secretsvc: a process serves one")
