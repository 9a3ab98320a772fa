"""Running servers seal what they record, whichever of them is killed."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from http.client import HTTPException
from pathlib import Path

import pytest
from extent import amount
from processes import Deployment, ServiceProcess
from service import ADMIN
from sqlalchemy import func, select
from tokens import TestIssuer
from waiting import eventually

from secretsvc.audit.models import audit_record
from secretsvc.db.engine import make_engine
from secretsvc.sealedlog.models import audit_seal
from secretsvc.transparency.merkle import root_of
from secretsvc.transparency.signed_note import read_checkpoint, read_verifier

WRITERS, SECONDS = 16, amount(1.5, 60.0)
PROD = "/projects/shop/environments/prod"


@pytest.fixture
def deployment(database_url: str, issuer: TestIssuer, tmp_path: Path) -> Iterator[Deployment]:
    """Processes that seal every second."""
    with Deployment(tmp_path, database_url, issuer, AUDIT_SEAL_SECONDS="1") as made:
        yield made


def go_on(process: ServiceProcess, token: str, number: int) -> None:
    """Reads a value and writes one of its own, each with a record, until the process is gone."""
    values = {"mode": "merge", "set": {f"B_{number}": "x"}}
    client = process.client(token)
    until = time.monotonic() + SECONDS
    with closing(client), suppress(OSError, HTTPException):
        while time.monotonic() < until:
            client.request("GET", f"{PROD}/secrets/A")
            client.request("POST", f"{PROD}/secrets:batch", values)


@pytest.mark.long
def test_every_record_of_two_processes_is_sealed_once_though_one_is_killed(deployment, issuer):
    # Real processes, and one that is killed while both seal, take some seconds.
    one, other = deployment.add(), deployment.add()
    token = issuer.sign(ADMIN)
    admin = other.client(token)
    admin.expect(201, "POST", "/projects", {"slug": "shop", "name": "Shop"})
    admin.expect(201, "POST", "/projects/shop/environments", {"slug": "prod", "name": "Prod"})
    admin.expect(200, "POST", f"{PROD}/secrets:batch", {"mode": "merge", "set": {"A": "x"}})
    writers = [
        threading.Thread(target=go_on, args=((one, other)[number % 2], token, number))
        for number in range(WRITERS)
    ]
    for writer in writers:
        writer.start()
    time.sleep(SECONDS / 2)
    one.kill()
    for writer in writers:
        writer.join()
    engine = make_engine(deployment.url)
    with engine.connect() as connection:
        written = connection.execute(select(func.count()).select_from(audit_record)).scalar_one()
        connection.rollback()

        def sealed() -> int:
            connection.rollback()
            return connection.execute(select(func.count()).select_from(audit_seal)).scalar_one()

        assert eventually(lambda: sealed() == written, pause=0.1)
        connection.rollback()
        rows = connection.execute(select(audit_seal).order_by(audit_seal.c.position)).all()
        ids = set(connection.execute(select(audit_record.c.id)).scalars())
    engine.dispose()
    assert written > 10
    assert [row.position for row in rows] == [*range(written)]
    assert {row.record_id for row in rows} == ids
    key = admin.expect(200, "GET", "/audit/key").body.decode()
    head = admin.expect(200, "GET", "/audit/checkpoint").body.decode()
    checkpoint = read_checkpoint(head, read_verifier(key))
    admin.close()
    assert (checkpoint.size, checkpoint.root) == (written, root_of(row.leaf_hash for row in rows))
