"""What an operator and an auditor paste from docs/audit.md."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest
from databases import one_engine
from doc_blocks import blocks, pasted
from processes import ROOT, Deployment
from resource_fields import log
from rotation import Operator
from service import ADMIN, MASTER_KEY

from secretsvc.kernel.ids import earliest_id

pytestmark = pytest.mark.long
ONE_ENGINE = one_engine()
PAGE = (ROOT / "docs" / "audit.md").read_text("utf-8")
WELL = "All is as it was sealed.\n"
#: In which all that the page has to be pasted stands.
SECTIONS = (
    *("What to do", "A file for a log collector", "Close an export", "For an auditor", "Retention"),
    "Another signing key",
)
#: Where the page has the addresses and the date of somebody else.
ORIGIN, EXPORT, LINES, DATE = (
    "https://secrets.example.com",
    "/srv/audit",
    "/var/log/secretsvc/audit.jsonl",
    "2026-01-01",
)


@ONE_ENGINE
def test_an_auditor_keeps_a_key_and_a_checkpoint_and_comes_again(vault, database_url, tmp_path):
    given = Operator(tmp_path, database_url).environment({"MASTER_KEY": MASTER_KEY})
    first, again, read = blocks(PAGE, "For an auditor")
    vault.set(A="x")
    pasted(first, tmp_path, given)
    vault.batch(set={"A": "y"}, descriptions={"A": "of A"})
    assert pasted(again, tmp_path, given).count(WELL) == 2
    assert "root@example.com" in pasted(read, tmp_path, given)


def shown(heading: str, folder: Path, origin: str) -> list[str]:
    """The blocks of a section, with addresses of this machine; what follows for ever ends."""
    replaced = {ORIGIN: origin, EXPORT: str(folder / "export"), LINES: str(folder / "lines"), " --follow": ""}
    # The records of a test are younger than the page.
    replaced[DATE] = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S}"
    pattern = "|".join(map(re.escape, replaced))
    return [re.sub(pattern, lambda found: replaced[found[0]], one) for one in blocks(PAGE, heading)]


@ONE_ENGINE
def test_an_operator_keeps_copies_sends_prunes_and_replaces_the_key(
    vault, service, database_url, issuer, tmp_path
):
    vault.set(A="x")
    given = Operator(tmp_path, database_url).environment({"MASTER_KEY": MASTER_KEY})
    with Deployment(tmp_path, database_url, issuer, AUDIT_SEAL_SECONDS="1").start(1) as deployed:
        origin = f"http://127.0.0.1:{deployed.processes[0].port}"
        key, checkpoint, export, verify = shown("What to do", tmp_path, origin)
        [tail] = shown("A file for a log collector", tmp_path, origin)
        pasted(export, tmp_path, given)
        given["ASSERTION"] = f"Proxy-Access-Jwt-Assertion: {issuer.sign(ADMIN)}"
        given["KEY"] = pasted(key, tmp_path, given)
        (tmp_path / "last-month").write_text(pasted(checkpoint, tmp_path, given))
        vault.set(A="y")
        pasted(export, tmp_path, given)
        assert pasted(verify, tmp_path, given).count(WELL) == 2
        pasted(tail, tmp_path, given)
        indexes = [json.loads(line)["index"] for line in (tmp_path / "lines").read_text().splitlines()]
        assert indexes == [*range(len(service.audit()))]
        [prune] = shown("Retention", tmp_path, origin)
        assert "records are pruned" in pasted(prune, tmp_path, given)
        [replace] = shown("Another signing key", tmp_path, origin)
        assert pasted(replace, tmp_path, given).strip().startswith("secretsvc+")


@ONE_ENGINE
def test_an_operator_closes_an_export_verifies_all_of_it_and_prunes(vault, service, database_url, tmp_path):
    given = Operator(tmp_path, database_url).environment({"MASTER_KEY": MASTER_KEY})
    close, verify, prune = shown("Close an export", tmp_path, "")
    export = shown("What to do", tmp_path, "")[2]
    vault.set(A="x")
    pasted(export, tmp_path, given)
    log(service, 300)
    pasted(export, tmp_path, given)
    assert "is closed. The next folder begins at index 256." in pasted(close, tmp_path, given)
    given["KEY"] = (tmp_path / "export" / "key").read_text().strip()
    assert pasted(verify, tmp_path, given).count(WELL) == 3
    assert "records are pruned" in pasted(prune, tmp_path, given)
    pasted(export, tmp_path, given)
    assert pasted(verify, tmp_path, given).count(WELL) == 3


def placed(unit: str, folder: Path) -> str:
    """The command of a unit of deploy/, as systemd gives it to a shell, over a folder of this machine."""
    [start] = re.findall(r"(?m)^ExecStart=(.*)$", (ROOT / "deploy" / unit).read_text("utf-8"))
    paths = {"/var/lib/secretsvc-audit": str(folder / "audit"), "/opt/secretsvc/bin/": ""}
    paths |= {"/etc/secretsvc/production.ini": str(folder / "production.ini"), "$$": "$", "%%": "%"}
    return re.sub("|".join(map(re.escape, paths)), lambda found: paths[found[0]], start)


@ONE_ENGINE
def test_the_units_close_the_export_and_prune_what_is_in_it(service, request, database_url, tmp_path):
    given = Operator(tmp_path, database_url).environment({"MASTER_KEY": MASTER_KEY, "KEEP_DAYS": "1"})
    (tmp_path / "audit").mkdir()
    export, close, prune, verify = (
        placed(f"secretsvc-audit-{task}.service", tmp_path) for task in ("export", "close", "prune", "verify")
    )
    log(service, 300, ids=[earliest_id(1000 * number) for number in range(300)])
    request.getfixturevalue("vault").set(A="x")
    pasted(export, tmp_path, given)
    log(service, 300)
    # As if it had been interrupted behind its first command.
    pasted(f"{export} --close", tmp_path, given)
    assert "entries are in next" in pasted(close, tmp_path, given)
    pasted(export, tmp_path, given)
    [closed] = (tmp_path / "audit" / "closed").iterdir()
    assert (closed / "closed").read_bytes() == (tmp_path / "audit" / "export" / "begin").read_bytes()
    assert "300 records are pruned" in pasted(prune, tmp_path, given)
    given["AUDIT_KEY"] = (tmp_path / "audit" / "export" / "key").read_text().strip()
    assert WELL in pasted(verify, tmp_path, given)
    log(service, 300)
    # A second one on the same day has no name.
    closed.rename(closed.with_name("2000-01-01"))
    assert "is closed" in pasted(close, tmp_path, given)
    assert "Nothing is left to prune" in pasted(prune, tmp_path, given)


def test_nothing_that_the_page_has_to_be_pasted_stands_elsewhere():
    assert sum(len(blocks(PAGE, heading)) for heading in SECTIONS) == PAGE.count("```bash\n")
