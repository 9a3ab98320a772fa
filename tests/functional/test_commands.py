"""The console script, as an operator runs it: with an ini file and the environment."""

from __future__ import annotations

import json
import re

import pytest
from click.testing import CliRunner
from doc_blocks import blocks
from rotation import NEW_KEY, NEXT_KEY, PROD, fill, rotated
from sealing_routes import adopted, kid_of
from service import MASTER_KEY

from secretsvc.commands import main
from secretsvc.kernel.parsers import master_key
from secretsvc.secrets.models import secret_version


def test_keygen_prints_a_key_that_the_service_takes(secretsvc):
    first, second = (secretsvc("keygen").stdout for _ in range(2))
    assert len(master_key(first)) == 32
    assert first != second


def test_rekey_goes_on_to_the_end_and_is_recorded_as_the_system(secretsvc, service, admin):
    fill(admin)
    done = secretsvc("rekey", "production.ini", "--page", "4", MASTER_KEY=NEW_KEY, MASTER_KEY_OLD=MASTER_KEY)
    assert done.returncode == 0, done.stderr
    assert "Every envelope is under the active key." in done.stdout
    rows = service.audit("keyring.rekey")
    assert [(row["actor_subject"], row["identity_id"]) for row in rows] == [("system", None)] * 3
    alone = service.restarted(MASTER_KEY=NEW_KEY).user()
    assert len(alone.get(f"{PROD}/secrets:export").json["secrets"]) == 4


def test_rekey_with_nothing_to_do_is_done(secretsvc, service, admin):
    fill(admin)
    assert secretsvc("rekey", "production.ini").returncode == 0
    assert service.audit("keyring.rekey") == []


def test_rekey_stops_at_what_it_cannot_open_and_says_which_key_is_wanted(secretsvc, service, admin):
    fill(admin)
    kid = admin.get("/admin/keyring").json["active_kid"]
    failed = secretsvc("rekey", "production.ini", MASTER_KEY=NEW_KEY)
    assert failed.returncode == 1
    assert f"UNKNOWN_KID: The envelope names master key {kid}" in failed.stderr
    assert "Traceback" not in failed.stderr


@pytest.mark.slow
def test_verify_opens_everything(operator, service, admin):
    fill(admin)
    done = operator.run("verify", "production.ini", MASTER_KEY=MASTER_KEY)
    assert (done.returncode, done.stdout) == (0, "9 envelopes, 0 unreadable.\n")


@pytest.mark.both_engines
def test_verify_names_each_bad_row_and_no_value(secretsvc, service, admin, here):
    fill(admin)
    bad = secret_version.c.version == 2, secret_version.c.kid.is_not(None)
    service.execute(secret_version.update().where(*bad).values(envelope=b"\x01broken"))
    done = secretsvc("verify", "production.ini")
    assert done.returncode == 1
    *lines, summary = done.stdout.splitlines()
    assert lines == [f"DECRYPT_FAILED shop/prod KEY_{number} version 2" for number in (1, 2, 3, 4)]
    assert summary == "9 envelopes, 4 unreadable."
    page = (here / "docs" / "operations" / "backup.md").read_text("utf-8")
    (shown,) = blocks(page, "After a restore", "text")
    row, total = (re.sub(r"\d+", r"\\d+", line) for line in shown.splitlines())
    row = row.replace("UNKNOWN_KID", "DECRYPT_FAILED").replace("DATABASE_URL", r"KEY_\d")
    assert re.fullmatch(row, lines[0])
    assert re.fullmatch(total, summary)
    assert "two" not in done.stdout + done.stderr


@pytest.mark.slow
def test_verify_retires_a_key_that_no_envelope_names_but_not_the_newest(secretsvc, service, admin):
    fill(admin)
    now = rotated(service)
    fill(now.user())
    kids = [kid_of(service), kid_of(now)]
    both = {"MASTER_KEY": NEW_KEY, "MASTER_KEY_OLD": MASTER_KEY}
    assert secretsvc("verify", "production.ini", **both).returncode == 0
    assert adopted(service) == [(kid, True) for kid in kids]
    service.execute(secret_version.delete())
    wrong = secretsvc("verify", "production.ini", MASTER_KEY=NEXT_KEY)
    assert wrong.stdout == "0 envelopes, 0 unreadable.\n"
    assert adopted(service) == [(kid, True) for kid in kids]
    done = secretsvc("verify", "production.ini", **both)
    assert (done.returncode, done.stdout) == (0, "0 envelopes, 0 unreadable.\n")
    assert f"master key {kids[0]} has no envelope and is retired: it seals no more" in done.stderr
    assert adopted(service) == [(kids[0], False), (kids[1], True)]


@pytest.mark.slow
@pytest.mark.both_engines
def test_adopt_takes_a_key_into_use_at_once_and_says_both_kids(secretsvc, service, admin):
    fill(admin)
    other = service.restarted(MASTER_KEY=NEXT_KEY)
    body = {"mode": "merge", "set": {"KEY_0": "x"}}
    other.user().post(f"{PROD}/secrets:batch", body, 500)
    done = secretsvc("adopt", "production.ini", MASTER_KEY=NEXT_KEY)
    first, second = kid_of(service), kid_of(other)
    assert done.stdout == f"Master key {second} is adopted. The newest before it: {first}.\n", done.stderr
    assert done.returncode == 0
    other.user().post(f"{PROD}/secrets:batch", body)
    row = service.audit("keyring.adopt")[-1]
    assert json.loads(row["detail"]) == {"kid": second, "by": "command"}
    assert (row["actor_subject"], row["identity_id"]) == ("system", None)
    again = secretsvc("adopt", "production.ini", MASTER_KEY=NEXT_KEY)
    assert again.stdout == f"Master key {second} is the newest adopted already: nothing to do.\n"
    assert (again.returncode, len(service.audit("keyring.adopt"))) == (0, 2)


@pytest.mark.slow
def test_adopt_takes_a_first_key_and_revives_a_retired_one(secretsvc, service, admin):
    first, second = kid_of(service), kid_of(service.restarted(MASTER_KEY=NEW_KEY))
    assert (
        f"Master key {first} is adopted. The newest before it: none."
        in secretsvc("adopt", "production.ini").stdout
    )
    fill(admin)
    rotated(service).user().post("/admin/rekey", {"limit": 1000})
    assert adopted(service) == [(first, False), (second, True)]
    said = secretsvc("adopt", "production.ini").stdout
    assert (
        said
        == f"Master key {first} is adopted again, after it was retired. The newest before it: {second}.\n"
    )
    assert adopted(service) == [(second, True), (first, True)]


def test_adopt_refuses_a_ring_that_is_none(secretsvc, service):
    failed = secretsvc("adopt", "production.ini", MASTER_KEY="c2hvcnQ=")
    assert failed.returncode == 1
    assert "SERVER_MISCONFIGURED" in failed.stderr
    assert adopted(service) == []


@pytest.mark.parametrize(
    "command", ["adopt", "backup", "check", "init", "keygen", "migrate", "rekey", "verify"]
)
def test_each_command_has_help_with_an_example(command):
    shown = CliRunner().invoke(main, [command, "--help"], prog_name="secretsvc-server")
    assert shown.exit_code == 0
    assert f"Usage: secretsvc-server {command}" in shown.output
    assert f"secretsvc-server {command}" in shown.output.partition("Example:\n")[2]


def test_a_missing_key_is_said_by_its_name(secretsvc, service):
    failed = secretsvc("verify", "production.ini", MASTER_KEY="")
    assert failed.returncode == 1
    assert "MASTER_KEY is malformed" in failed.stderr
    assert "SERVER_MISCONFIGURED" in failed.stderr
