"""Settings that contradict each other, or the unit that stops the service."""

from __future__ import annotations

import pytest

from secretsvc.deployment.checks.contradictions import STOP_SECONDS, contradictions
from secretsvc.deployment.checks.findings import Level
from secretsvc.kernel.settings import Settings


def found(tmp_path, **settings):
    return [
        (one.level, one.text.partition(":")[0]) for one in contradictions(Settings({}, settings), tmp_path)
    ]


@pytest.mark.parametrize("provider", ["file", "vault"])
def test_a_key_that_the_provider_does_not_use_fails(tmp_path, provider):
    told = "MASTER_KEY is set, and the key provider does not use it"
    given = {"KEY_PROVIDER": provider, "MASTER_KEY": "x", "MASTER_KEY_OLD": "", "MASTER_KEY_FILE": "y"}
    assert found(tmp_path, **given) == [(Level.FAIL, told)]


def test_a_key_file_that_the_provider_does_not_use_fails(tmp_path):
    told = "MASTER_KEY_FILE is set, and the key provider does not use it"
    assert found(tmp_path, MASTER_KEY="x", MASTER_KEY_FILE="y") == [(Level.FAIL, told)]


def test_bodies_that_are_smaller_than_a_value_fail(tmp_path):
    ((level, told),) = found(tmp_path, BODY_MAX_BYTES="1000", SECRET_MAX_BYTES="1001")
    assert (level, told.startswith("BODY_MAX_BYTES is below")) == (Level.FAIL, True)
    assert found(tmp_path, BODY_MAX_BYTES="1000", SECRET_MAX_BYTES="1000") == []


@pytest.mark.parametrize(
    ("timeout", "drain", "fails"),
    [
        ("TimeoutStopSec=45", "44", False),
        ("TimeoutStopSec=45", "45", True),
        ("TimeoutStopSec = 1min 30s", "89", False),
        ("TimeoutStopSec=1min 30s", "90", True),
        ("TimeoutStopSec=2m", "120", True),
        ("TimeoutSec=20s", "30", True),
        ("TimeoutStopSec=infinity", "9000", False),
        ("TimeoutStopSec=0", "9000", False),
        ("# TimeoutStopSec=10", "89", False),
        ("", "90", True),
    ],
)
def test_a_unit_that_waits_less_than_the_drain_fails(tmp_path, timeout, drain, fails):
    (tmp_path / "secretsvc@.service").write_text(f"[Service]\n{timeout}\n")
    told = found(tmp_path, DRAIN_SECONDS=drain)
    assert [level for level, _ in told] == ([Level.FAIL] if fails else [])


def test_a_drop_in_of_the_unit_counts(tmp_path):
    (tmp_path / "secretsvc.service").write_text("[Service]\nTimeoutStopSec=45\n")
    folder = tmp_path / "secretsvc.service.d"
    folder.mkdir()
    (folder / "stop.conf").write_text("[Service]\nTimeoutStopSec=200\n")
    assert found(tmp_path, DRAIN_SECONDS="120") == []


def test_without_a_unit_it_is_compared_with_the_files_of_deploy(tmp_path):
    told = "DRAIN_SECONDS is 120, and the files of deploy/ end the process after 45 s"
    assert found(tmp_path, DRAIN_SECONDS="120") == [(Level.WARN, told)]
    assert found(tmp_path, DRAIN_SECONDS=str(int(STOP_SECONDS) - 1)) == []
