"""What a copy holds of plaintext is bounded as an export is; a comparison holds none (contract 8.1)."""

from __future__ import annotations

import pytest
from secrets_client import Vault, records, state
from service import ADMIN

DEV = "/projects/shop/environments/dev"
FROM_DEV = {"from": {"project": "shop", "environment": "dev"}}
WITH_DEV = "secrets:compare?project=shop&environment=dev"
#: A quarter of it, one identity's share, has room for three values of 1,000 bytes with their envelopes.
BOUND, SIZE = 12_800, 1_000


@pytest.fixture
def service(make_service):
    return make_service(PLAINTEXT_MAX_BYTES=str(BOUND), LAST_SEEN_RESOLUTION="3600000")


@pytest.fixture
def dev(vault):
    return Vault(vault.client, DEV)


@pytest.fixture
def budget(vault, service):
    """The process's, which every test leaves as it was found."""
    found = service.app.registry.plaintext_budget
    yield found
    assert found.held == 0


def values(letters, *, of="x"):
    return dict.fromkeys(letters, of * SIZE)


def test_what_is_written_is_admitted_and_given_back(vault, dev, budget):
    dev.set(**values("ABC"))
    assert len(vault.post("copy", FROM_DEV).json["changes"]) == 3


@pytest.mark.parametrize("dry_run", [False, True])
def test_a_copy_of_more_than_one_identity_may_hold_is_503_and_writes_nothing(
    vault, dev, service, budget, dry_run
):
    dev.set(**values("ABCD"))
    before, known = state(service), len(records(service))
    refused = vault.post("copy", FROM_DEV | {"dry_run": dry_run}, 503)
    assert (refused.json["code"], refused.headers["Retry-After"]) == ("UNAVAILABLE", "5")
    assert "PLAINTEXT_MAX_BYTES" in refused.json["hint"]
    assert state(service) == before
    assert len(records(service)) == known


def test_only_what_is_to_be_copied_counts(vault, dev, budget):
    dev.set(**values("ABCDEF"))
    assert len(vault.post("copy", FROM_DEV | {"keys": ["A", "B"]}).json["changes"]) == 2
    vault.set(C="mine", D="mine", E="mine", F="mine")
    assert vault.post("copy", FROM_DEV | {"existing": "skip"}).json["changes"] == []


def test_values_count_as_long_as_the_process_keeps_them(vault, dev, budget):
    dev.set(A="\U0001f600" + "x" * SIZE)
    assert "PLAINTEXT_MAX_BYTES" in vault.post("copy", FROM_DEV, 503).json["hint"]


def test_a_restore_counts_what_has_another_version(vault, budget):
    vault.batch(set=values("ABC"))
    vault.batch(set=values("DEF"))
    vault.set(A="other")
    assert len(vault.post("restore", {"to_rev": 2}).json["changes"]) == 1
    vault.post("restore", {"to_rev": 0})
    assert "PLAINTEXT_MAX_BYTES" in vault.post("restore", {"to_rev": 2}, 503).json["hint"]


def test_a_comparison_holds_no_values_and_goes_on_at_the_bound(vault, dev, service, budget):
    dev.batch(set=values("ABC"))
    dev.batch(set=values("DEF"))
    vault.batch(set=values("ABC"))
    vault.batch(set=values("DEF", of="y"))
    identity = service.identity_id(ADMIN)
    held = budget.admission(identity)
    held.grow(BOUND // 4)
    items = vault.get(WITH_DEV).json["items"]
    assert [item["kind"] for item in items] == ["same"] * 3 + ["differs"] * 3
    held.release()
