"""How much one page of exposure reads: the versions that the identity met, not those between them."""

from __future__ import annotations

import pytest
from query_plans import lengthen
from secrets_client import Vault
from service import arrange
from statements import recorded

from secretsvc.exposure import domain

ADA = "ada@example.com"
LATER = 3_000


@pytest.fixture
def service(make_service):
    return make_service(LAST_SEEN_RESOLUTION="3600000")


@pytest.mark.parametrize("way", ["secrets:export", "secrets:export?rev=1", "written"])
def test_versions_after_the_one_that_was_met_take_no_pass(service, way):
    root = arrange(service, "shop", "prod")
    service.grant(ADA, "writer", "shop")
    ada = Vault(service.user(ADA))
    (ada if way == "written" else Vault(root)).set(A="1")
    if way == "secrets:export?rev=1":
        Vault(root).set(B="1")
    if way != "written":
        ada.get(way)
    Vault(root).set(A="2")
    lengthen(service, LATER)
    path = f"/identities/{service.identity_id(ADA)}/exposure"
    root.get(path)
    with recorded(service.engine) as statements:
        items = root.get(path).json["items"]
    assert [(one["key"], one["version"]) for one in items] == [("A", 1)]
    # The snapshot, the identity, and of one pass: environments, keys, versions and older states.
    assert len(statements) <= 6


def test_a_pass_reads_the_versions_that_were_met(service, monkeypatch):
    root = arrange(service, "shop", "prod")
    service.grant(ADA, "reader", "shop")
    ada, vault = Vault(service.user(ADA)), Vault(root)
    for number in range(12):
        vault.set(A=str(number))
        if number in (2, 7):
            ada.values()
    # Two that were exported, and the one that is in force.
    monkeypatch.setattr(domain, "VERSIONS", 4)
    path = f"/identities/{service.identity_id(ADA)}/exposure"
    root.get(path)
    with recorded(service.engine) as statements:
        items = root.get(path).json["items"]
    assert [one["version"] for one in items] == [3, 8]
    assert len(statements) <= 6
