"""Rows changed behind the service's back: whatever was done to them, no value comes of it.

Beside `test_damaged_secrets`, which tries one byte of each part of an envelope and every read of it.
"""

from __future__ import annotations

import itertools
import random

import pytest
from rotation import rotated
from secrets_client import Vault, overwrite, state, version_row

from secretsvc.secrets.models import secret, secret_version
from secretsvc.tables.projects import environment

VALUE = "correct horse battery staple"
HEAD, NONCE, TAG = 9, 12, 16
LENGTH = HEAD + NONCE + len(VALUE) + TAG
ERRORS = {"DECRYPT_FAILED", "UNKNOWN_KID"}
READS = ("secrets/A", "secrets/A:reveal", "secrets:export", "secrets:export?format=env")
ENVIRONMENTS = "/projects/shop/environments"


@pytest.fixture
def rotating(service):
    """The service that would move the rows to another key."""
    return rotated(service).user()


@pytest.fixture
def filled(vault):
    """Two live secrets and a deleted one, and an old version of each."""
    vault.set(A="the first", B="another", GONE="deleted since")
    vault.set(A=VALUE, B="yet another", GONE="and this too")
    vault.batch(delete=["GONE"])
    return vault


def refused(vault, service, rotating) -> None:
    """A is listed as unreadable, B as ever; nothing opens A, and no page is rekeyed over it."""
    before, pages = state(service), len(service.audit("keyring.rekey"))
    listed = vault.listed()
    assert {key: one["readable"] for key, one in listed.items()} == {"A": False, "B": True}
    code = listed["A"]["error"]
    assert code in ERRORS
    requests = [vault.get(path, 500) for path in READS]
    requests += [vault.rollback("A", 2, 500), vault.rename("A", "C", 500)]
    requests.append(rotating.post("/admin/rekey", {"limit": 1000}, 500))
    for answer in requests:
        assert answer.json["code"] == code
        assert not any(text in answer.text for text in (VALUE, "the first", "another"))
    assert state(service) == before
    assert len(service.audit("keyring.rekey")) == pages


def positions(count: int) -> list[int]:
    """The borders of each part, and some bytes within: others each time that the suite is run."""
    ends = list(itertools.accumulate((1, HEAD - 1, NONCE, len(VALUE), TAG)))
    borders = {0, *ends} | {end - 1 for end in ends}
    some = random.sample(range(LENGTH), count)
    return sorted({*borders, *some} & {*range(LENGTH)})


@pytest.mark.slow
@pytest.mark.both_engines
def test_a_flipped_bit_of_any_part_is_never_served(filled, service, rotating):
    envelope = version_row(service, "A", 2)["envelope"]
    assert len(envelope) == LENGTH
    for at in positions(6):
        changed = bytearray(envelope)
        changed[at] ^= 1 << at % 8
        # As it is, and with the row's kid changed along: then it names a key that nobody has.
        overwrite(service, "A", version=2, envelope=bytes(changed))
        refused(filled, service, rotating)
        if 0 < at < HEAD:
            overwrite(service, "A", version=2, kid=changed[1:HEAD].hex())
            refused(filled, service, rotating)
            assert filled.listed()["A"]["error"] == "UNKNOWN_KID"
            overwrite(service, "A", version=2, kid=envelope[1:HEAD].hex())
    overwrite(service, "A", version=2, envelope=envelope)
    assert filled.value("A") == VALUE


@pytest.mark.parametrize("how", ["cut", "prefixed", "grown"])
def test_a_cut_or_grown_envelope_is_never_served(filled, service, rotating, how):
    envelope = version_row(service, "A", 2)["envelope"]
    lengths = positions(3) if how == "cut" else [1, TAG]
    for length in lengths:
        made = {
            "cut": envelope[:length],
            "prefixed": bytes(length) + envelope,
            "grown": envelope + bytes(length),
        }
        overwrite(service, "A", version=2, envelope=made[how])
        refused(filled, service, rotating)


@pytest.mark.slow
def test_no_two_envelopes_can_change_places_whatever_key_version_or_environment_they_are_of(filled, service):
    elsewhere = Vault(filled.client, f"{ENVIRONMENTS}/dev")
    elsewhere.set(A="the first of dev", B="another of dev")
    elsewhere.set(A="dev", B="dev too")
    rows = service.rows(secret_version, secret_version.c.envelope.is_not(None))
    assert len(rows) == 10
    for one, other in itertools.combinations(rows, 2):
        put(service, one, other)
        put(service, other, one)
        for row in (one, other):
            unreadable_at(service, row)
        put(service, one, one)
        put(service, other, other)
    assert filled.value("A") == VALUE
    assert elsewhere.values() == {"A": "dev", "B": "dev too"}


def put(service, target, source) -> None:
    mine = secret_version.c.secret_id == target["secret_id"], secret_version.c.version == target["version"]
    columns = {"envelope": source["envelope"], "kid": source["kid"]}
    service.execute(secret_version.update().where(*mine).values(**columns))


def unreadable_at(service, row) -> None:
    """The version opens by no way: neither as the current one nor by a rollback to it."""
    (owner,) = service.rows(secret, secret.c.id == row["secret_id"])
    (inner,) = service.rows(environment, environment.c.id == owner["environment_id"])
    vault = Vault(service.user(), f"{ENVIRONMENTS}/{inner['slug']}")
    assert vault.rollback(owner["key"], row["version"], 500).json["code"] == "DECRYPT_FAILED"
    listed = vault.listed()
    assert set(listed) == {"A", "B"}
    if row["version"] == owner["version"]:
        assert listed[owner["key"]]["error"] == "DECRYPT_FAILED"
        assert vault.get(f"secrets/{owner['key']}", 500).json["code"] == "DECRYPT_FAILED"


def test_an_envelope_in_place_of_a_tombstone_brings_nothing_back(filled, service):
    source = version_row(service, "GONE", 2)
    overwrite(service, "GONE", version=3, envelope=source["envelope"], kid=source["kid"])
    assert filled.get("secrets/GONE", 404).json["code"] == "NOT_FOUND"
    assert filled.rollback("GONE", 3, 500).json["code"] == "DECRYPT_FAILED"
    assert set(filled.values()) == {"A", "B"}
