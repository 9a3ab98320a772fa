"""Rows that cannot be opened: shown as such, never served, never left out (specification, "Secrets" 1, 3)."""

from __future__ import annotations

import base64
import gc
from contextlib import closing

import pytest
from rotation import adopt
from secrets_client import BOTH_SPELLINGS, Vault, overwrite, records, state, tamper, version_row
from service import MASTER_KEY

OTHER_KEY = base64.b64encode(bytes(range(32, 64))).decode()


def flip_the_tag(service):
    tamper(service, "A")


def flip_the_ciphertext(service):
    tamper(service, "A", at=22)


def flip_the_nonce(service):
    tamper(service, "A", at=9)


def flip_the_key_id(service):
    tamper(service, "A", at=1)


def flip_the_format(service):
    tamper(service, "A", at=0)


def cut_it_short(service):
    overwrite(service, "A", envelope=version_row(service, "A")["envelope"][:20])


def empty_it(service):
    overwrite(service, "A", envelope=b"")


def change_the_kid_column(service):
    overwrite(service, "A", kid="0123456789abcdef")


def take_another_keys_envelope(service):
    overwrite(service, "A", envelope=version_row(service, "B")["envelope"])


def take_another_versions_envelope(service):
    Vault(service.user()).set(A="again")
    overwrite(service, "A", version=2, envelope=version_row(service, "A")["envelope"])


def take_another_environments_envelope(service):
    Vault(service.user(), "/projects/shop/environments/dev").set(ELSE="x")
    Vault(service.user(), "/projects/shop/environments/dev").rename("ELSE", "ONLY_THERE")
    overwrite(service, "A", envelope=version_row(service, "ONLY_THERE")["envelope"])


def take_an_unknown_key(service):
    envelope = version_row(service, "A")["envelope"]
    forged = envelope[:1] + bytes.fromhex("0123456789abcdef") + envelope[9:]
    overwrite(service, "A", kid="0123456789abcdef", envelope=forged)


DAMAGES = [
    (flip_the_tag, "DECRYPT_FAILED"),
    (flip_the_ciphertext, "DECRYPT_FAILED"),
    (flip_the_nonce, "DECRYPT_FAILED"),
    (flip_the_key_id, "DECRYPT_FAILED"),
    (flip_the_format, "DECRYPT_FAILED"),
    (cut_it_short, "DECRYPT_FAILED"),
    (empty_it, "DECRYPT_FAILED"),
    (change_the_kid_column, "DECRYPT_FAILED"),
    (take_another_keys_envelope, "DECRYPT_FAILED"),
    (take_another_versions_envelope, "DECRYPT_FAILED"),
    (take_another_environments_envelope, "DECRYPT_FAILED"),
    (take_an_unknown_key, "UNKNOWN_KID"),
]


@BOTH_SPELLINGS
@pytest.mark.parametrize(("damage", "code"), DAMAGES)
def test_a_damaged_row_is_listed_as_unreadable_and_fails_every_read_of_it(vault, service, damage, code):
    vault.set(A="one", B="two")
    damage(service)
    known = len(records(service))
    listed = vault.listed()
    assert {key: (one["readable"], one["error"]) for key, one in listed.items()} == {
        "A": (False, code),
        "B": (True, None),
    }
    for path in ("secrets/A", "secrets/A:reveal", "secrets:export", "secrets:export?format=env"):
        answer = vault.get(path, 500)
        assert answer.json["code"] == code
        assert "two" not in answer.text
    assert len(records(service)) == known
    assert vault.value("B") == "two"


@pytest.fixture
def hoarded():
    """Nothing is collected meanwhile, so that whatever a failed request left open stays open."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.slow
@pytest.mark.both_engines
@pytest.mark.usefixtures("hoarded")
@pytest.mark.parametrize("path", ["secrets:export", "secrets:export?format=env", "secrets", "secrets/A"])
def test_a_read_that_met_a_damaged_row_leaves_no_old_snapshot_to_the_next_request(vault, service, path):
    vault.set(A="one", B="two", C="three")
    tamper(service, "A")
    vault.client.get(f"{vault.base}/{path}", "*")
    with closing(service.restarted()) as other:
        Vault(other.user()).set(B="newer")
    assert vault.value("B") == "newer"
    assert vault.set(B="newest") == 3


def test_two_envelopes_that_changed_places_are_both_unreadable(vault, service):
    vault.set(A="one", B="two", C="three")
    first, second = (version_row(service, key)["envelope"] for key in "AB")
    overwrite(service, "A", envelope=second)
    overwrite(service, "B", envelope=first)
    readable = {key: one["readable"] for key, one in vault.listed().items()}
    assert readable == {"A": False, "B": False, "C": True}


@pytest.mark.both_engines
def test_a_row_whose_current_version_is_gone_is_still_listed(vault, service):
    vault.set(A="one", B="two")
    service.execute("UPDATE secret SET version = 7 WHERE key = 'A'")
    entry = vault.listed()["A"]
    assert (entry["version"], entry["kid"]) == (7, None)
    assert (entry["readable"], entry["error"]) == (False, "DECRYPT_FAILED")
    for path in ("secrets/A", "secrets:export"):
        assert vault.get(path, 500).json["code"] == "DECRYPT_FAILED"
    assert vault.value("B") == "two"


def test_a_damaged_secret_can_be_written_over_removed_and_rolled_back(vault, service):
    vault.set(A="one", B="two")
    vault.set(A="newer", B="newer")
    tamper(service, "A", version=2)
    tamper(service, "B", version=2)
    vault.rollback("A", 1)
    assert vault.value("A") == "one"
    vault.batch(delete=["B"])
    vault.set(B="fresh")
    assert vault.values() == {"A": "one", "B": "fresh"}


def test_what_must_open_a_damaged_row_to_write_fails_and_writes_nothing(vault, service):
    vault.set(A="one")
    tamper(service, "A")
    before, known = state(service), len(records(service))
    assert vault.rename("A", "B", 500).json["code"] == "DECRYPT_FAILED"
    assert vault.rollback("A", 1, 500).json["code"] == "DECRYPT_FAILED"
    assert state(service) == before
    assert len(records(service)) == known


def test_a_key_that_left_the_ring_is_named_beside_those_that_are_on_it(vault, service):
    vault.set(A="one")
    wanted = vault.listed()["A"]["kid"]
    with closing(service.restarted(MASTER_KEY=OTHER_KEY)) as other:
        adopt(other)
        there = Vault(other.user())
        there.set(B="two")
        held = there.listed()["B"]["kid"]
        assert wanted != held
        assert there.listed()["A"]["error"] == "UNKNOWN_KID"
        assert there.value("B") == "two"
        for path in ("secrets/A", "secrets:export"):
            answer = there.get(path, 500).json
            assert answer["code"] == "UNKNOWN_KID"
            assert wanted in answer["message"]
            assert held in answer["message"]
        assert there.rename("A", "C", 500).json["code"] == "UNKNOWN_KID"
        assert there.rollback("A", 1, 500).json["code"] == "UNKNOWN_KID"


def test_the_old_master_key_opens_and_the_new_one_seals(vault, service):
    vault.set(A="one", B="two", C="three")
    old = vault.listed()["A"]["kid"]
    with closing(service.restarted(MASTER_KEY=OTHER_KEY, MASTER_KEY_OLD=MASTER_KEY)) as other:
        there = Vault(other.user())
        assert there.values() == {"A": "one", "B": "two", "C": "three"}
        there.set(A="uno")
        there.rollback("B", 1)
        there.rename("C", "D")
        there.load("E=five")
        kids = {key: one["kid"] for key, one in there.listed().items()}
        assert old not in kids.values()
        assert len(set(kids.values())) == 1
    with closing(service.restarted(MASTER_KEY=OTHER_KEY)) as later:
        assert Vault(later.user()).values() == {"A": "uno", "B": "two", "D": "three", "E": "five"}
    assert {one["error"] for one in vault.listed().values()} == {"UNKNOWN_KID"}


def test_a_kid_is_sixteen_lower_case_hexadecimal_digits(vault):
    vault.set(A="one")
    kid = vault.listed()["A"]["kid"]
    assert len(kid) == 16
    assert set(kid) <= set("0123456789abcdef")


def test_equal_values_have_unlike_envelopes(vault, service):
    vault.set(A="same", B="same")
    first, second = (version_row(service, key)["envelope"] for key in "AB")
    assert first[9:] != second[9:]
    assert b"same" not in first


@pytest.mark.parametrize("key", ["", "c2hvcnQ=", "not base64", base64.b64encode(bytes(31)).decode()])
def test_without_a_master_key_what_needs_it_says_so(vault, service, key):
    vault.set(A="one")
    before = state(service)
    with closing(service.restarted(MASTER_KEY=key)) as other:
        there = Vault(other.user())
        for path in ("secrets", "secrets/A", "secrets:export"):
            assert there.get(path, 500).json["code"] == "SERVER_MISCONFIGURED"
        assert there.batch(500, set={"B": "x"}).json["code"] == "SERVER_MISCONFIGURED"
        assert there.rename("A", "B", 500).json["code"] == "SERVER_MISCONFIGURED"
        there.get("secrets/A/versions")
    assert state(service) == before


@pytest.mark.parametrize("path", ["/secrets", "/secrets:export"])
def test_an_empty_environment_needs_the_ring_too(service, admin, path):
    broken = service.restarted(MASTER_KEY="c2hvcnQ=").user()
    answer = broken.get(f"/projects/shop/environments/dev{path}", 500)
    assert answer.json["code"] == "SERVER_MISCONFIGURED"
