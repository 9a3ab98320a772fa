"""The console script, as an operator runs it: with an ini file and the environment."""

from __future__ import annotations

import pytest
from rotation import NEW_KEY, PROD, Operator, fill
from service import MASTER_KEY

from secretsvc.kernel.settings import master_key
from secretsvc.secrets.models import secret_version


@pytest.fixture
def secretsvc(tmp_path, database_url):
    """Runs the script with settings as an operator would export them."""
    operator = Operator(tmp_path, database_url)
    return lambda *arguments, **settings: operator.run(*arguments, **{"MASTER_KEY": MASTER_KEY} | settings)


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


def test_verify_opens_everything(secretsvc, service, admin):
    fill(admin)
    done = secretsvc("verify", "production.ini")
    assert (done.returncode, done.stdout) == (0, "9 envelopes, 0 unreadable.\n")


def test_verify_names_each_bad_row_and_no_value(secretsvc, service, admin):
    fill(admin)
    bad = secret_version.c.version == 2, secret_version.c.kid.is_not(None)
    service.execute(secret_version.update().where(*bad).values(envelope=b"\x01broken"))
    done = secretsvc("verify", "production.ini")
    assert done.returncode == 1
    *lines, summary = done.stdout.splitlines()
    assert lines == [f"DECRYPT_FAILED shop/prod KEY_{number} version 2" for number in (1, 2, 3, 4)]
    assert summary == "9 envelopes, 4 unreadable."
    assert "two" not in done.stdout + done.stderr


def test_a_missing_key_is_said_by_its_name(secretsvc, service):
    failed = secretsvc("verify", "production.ini", MASTER_KEY="")
    assert failed.returncode == 1
    assert "MASTER_KEY is malformed" in failed.stderr
    assert "SERVER_MISCONFIGURED" in failed.stderr
