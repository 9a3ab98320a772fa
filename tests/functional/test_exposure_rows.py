"""What a page of exposure reads does not grow with what others read, nor with what it does not show."""

from __future__ import annotations

import pytest
from query_plans import PLAN_MODES, executed, lengthen, rows_read, steps_of
from resource_fields import log
from secrets_client import Vault
from service import arrange

from secretsvc.kernel.ids import new_id

ADA = "ada@example.com"
KEYS, CROWD = 30, 4000
#: The tables that grow, by the names that statements give them.
NAMES = ("audit_record", "audit_key", "secret_version", "other", "later", "own", "made", "secret", "revision")


@pytest.fixture
def crowded(service):
    """Ada's reads among very many of others, in one environment of three with long histories."""
    admin = arrange(service, "shop", "prod", "dev", "test")
    vaults = [Vault(admin, f"/projects/shop/environments/{slug}") for slug in ("prod", "dev", "test")]
    for vault in vaults:
        vault.batch(set={f"K{number}": "x" for number in range(KEYS)})
    lengthen(service, 30)
    service.grant(ADA, "reader", "shop")
    # The histories are made up: an older state of before them can be opened.
    Vault(service.user(ADA)).get("secrets:export?rev=1")
    Vault(service.user(ADA)).get("secrets/K1?version=1")
    for slug in ("prod", "dev"):
        scope = {name: one for name, one in service.scope(f"shop/{slug}").items() if name != "scope_type"}
        common = {"action": "secret.reveal", "given": 1, "detail": "{}", **scope}
        for identity_id in (new_id(), new_id()):
            log(service, CROWD, **common, identity_id=identity_id, key="K1")
            log(service, CROWD, **common, identity_id=identity_id, key="")
    service.execute("ANALYZE")
    return service


@pytest.mark.slow
def test_a_page_looks_up_what_the_identity_met(crowded):
    path = f"/identities/{crowded.identity_id(ADA)}/exposure"
    crowded.user().get(path)
    with executed(crowded.engine, "environment_id") as statements:
        items = crowded.user().get(path).json["items"]
    assert len(items) == KEYS
    # Environments, keys, versions; nothing was copied.
    assert len(statements) == 3
    for statement in statements:
        if crowded.engine.name == "sqlite":
            steps = [step for name in NAMES for step in steps_of(crowded.engine, statement, name)]
            assert steps
            assert all(step.startswith("SEARCH ") for step in steps), steps
        else:
            for mode in PLAN_MODES:
                read = rows_read(crowded.engine, statement, "audit_record", mode)
                assert read <= 3 * 31 * KEYS + 50, mode
                read = rows_read(crowded.engine, statement, "secret_version", mode)
                assert read <= 3 * 31 * KEYS + 50, mode
