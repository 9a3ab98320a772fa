"""Searching by names: how much is found of each kind, and in how many statements."""

from __future__ import annotations

import pytest
from calls import call_of
from secrets_client import Vault
from service import arrange
from sqlalchemy import insert
from statements import recorded

from secretsvc.home.domain.search import KINDS, search
from secretsvc.kernel.ids import new_id
from secretsvc.tables.projects import project

pytestmark = pytest.mark.both_engines

ADA = "ada@example.com"


def counted(service, text, limit, subject="root@example.com"):
    """How many are found of each kind."""
    with call_of(service, subject) as call:
        found = search(call, text, limit)
    assert found == sorted(found, key=lambda one: KINDS.index(one.kind))
    return {kind: sum(one.kind == kind for one in found) for kind in KINDS}


def test_at_most_so_many_of_each_kind_are_found(service, admin):
    rows = [
        {"id": new_id(), "slug": f"many-{number}", "name": "Many", "created_at": 1, "updated_at": 1}
        for number in range(5)
    ]
    service.execute(insert(project), rows)
    Vault(admin).batch(set={f"MANY_{number}": "x" for number in range(3)})
    assert counted(service, "many", 4) == {"project": 4, "environment": 0, "secret": 3}
    assert counted(service, "many", 9) == {"project": 5, "environment": 0, "secret": 3}


@pytest.mark.parametrize("scope", ["global", "shop", "shop/prod"])
def test_a_search_takes_one_statement(service, admin, scope):
    arrange(service, "depot", "prod")
    service.grant(ADA, "reader", scope)
    with call_of(service, ADA) as call, recorded(service.engine) as statements:
        search(call, "o", 100)
    assert len(statements) == 1
    if service.engine.name == "postgresql":
        # The server of the suite sorts by code point anyway; most others pass over hyphens.
        assert statements[0].count('slug COLLATE "C" AS') == 5
