"""Service tokens and tallies of denials that were written by SQL, and what a verification says of each."""

from __future__ import annotations

import pytest
from audited_writers import verified
from secrets_client import CANONICAL, Vault
from service import arrange
from sqlalchemy import delete, insert, update

from secretsvc.audit.models import EVERYWHERE, REFUSALS, denial_tally
from secretsvc.kernel.clock import now_ms
from secretsvc.kernel.ids import new_id
from secretsvc.sealedlog.replay.snapshots import adopt_state
from secretsvc.sealedlog.rules.heads import Sealing
from secretsvc.tables.service_tokens import service_token

pytestmark = pytest.mark.both_engines

DAY = 86_400_000


@pytest.fixture
def service(make_service):
    """Two tokens, one of which was removed, and two denials in one environment."""
    service = make_service(SERVICE_TOKENS="on")
    admin = arrange(service, "shop", "prod", "dev")
    robot = admin.post("/identities", {"kind": "service", "subject": "robot"}, 201).json["id"]
    Vault(admin).set(A="x")
    make_token(admin, robot, "ci")
    admin.delete(f"/identities/{robot}/tokens/{make_token(admin, robot, 'gone')}")
    for _ in range(2):
        service.user("eve@example.com").get(f"{CANONICAL}/secrets", 404)
    service.user("eve@example.com").get("/projects/absent", 404)
    service.user("eve@example.com").get("/audit/checkpoint", 403)
    return service


def make_token(admin, holder, name):
    body = {"name": name, "expires_at": now_ms() + DAY}
    return admin.post(f"/identities/{holder}/tokens", body, 201).json["id"]


def problems(service):
    while service.app.registry.audit_sealer.step():
        pass
    return verified(service)


def tally(service):
    """The row of the environment that was denied."""
    [row] = [row for row in service.rows(denial_tally) if row["scope_id"] not in (EVERYWHERE, REFUSALS)]
    return row, f"denials of identity {row['identity_id']} at {row['scope_id']}"


def token_added(service):
    [row] = service.rows(service_token)
    forged = {**row, "id": new_id(), "digest": bytes(32)}
    service.execute(insert(service_token), forged)
    return f"service token {forged['id']}: the log does not tell of it"


def token_removed(service):
    [row] = service.rows(service_token)
    service.execute(delete(service_token))
    return f"service token {row['id']}: it is missing, and the log does not tell why"


def token_changed(**columns):
    def change(service):
        [row] = service.rows(service_token)
        service.execute(update(service_token).values(columns))
        return f"service token {row['id']}: the log has another {', '.join(columns)}"

    change.__name__ = f"token_with_another_{'_'.join(columns)}"
    return change


def token_given_away(service):
    [row] = service.rows(service_token)
    service.execute(update(service_token).values(identity_id=service.identity_id("root@example.com")))
    return f"service token {row['id']}: the log has another identity_id"


def tally_removed(service):
    _, thing = tally(service)
    service.execute(delete(denial_tally))
    return f"{thing}: it is missing, and the log does not tell why"


def tally_changed(**columns):
    def change(service):
        row, thing = tally(service)
        service.execute(
            update(denial_tally).where(denial_tally.c.scope_id == row["scope_id"]).values(columns)
        )
        return f"{thing}: the log has another {', '.join(columns)}"

    change.__name__ = f"tally_with_another_{'_'.join(columns)}"
    return change


def tally_added(service):
    row, _ = tally(service)
    forged = {**row, "identity_id": new_id()}
    service.execute(insert(denial_tally), forged)
    return f"denials of identity {forged['identity_id']} at {row['scope_id']}: the log does not tell of it"


TAMPERINGS = [
    token_added, token_removed, token_given_away, token_changed(name="forged"),
    token_changed(prefix="forged"), token_changed(expires_at=4_000_000_000_000),
    token_changed(created_at=1), token_changed(created_by=None), token_changed(digest=bytes(32)),
    tally_removed, tally_changed(denials=1), tally_changed(first_denied_at=1),
    tally_changed(last_denied_at=4_000_000_000_000), tally_added,
]  # fmt: skip


@pytest.mark.slow
def test_a_token_or_a_tally_that_was_tampered_with_is_named(service):
    assert problems(service) == []
    kept = {table: service.rows(table) for table in (service_token, denial_tally)}
    for tampering in TAMPERINGS:
        wanted = tampering(service)
        assert wanted in problems(service), tampering.__name__
        for table, rows in kept.items():
            service.execute(delete(table))
            for row in rows:
                service.execute(insert(table), dict(row))
    assert problems(service) == []


@pytest.mark.slow
def test_tokens_and_tallies_that_were_adopted_are_compared(service):
    sealing = Sealing(service.app.registry.load_ring(), "secretsvc")
    while service.app.registry.audit_sealer.step():
        pass
    assert adopt_state(service.engine, sealing, "by-a-test")
    service.user("eve@example.com").get(f"{CANONICAL}/secrets", 404)
    assert problems(service) == []
    for tampering in (token_removed, tally_added):
        assert tampering(service) in problems(service)
