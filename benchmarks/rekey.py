"""How fast envelopes move to another master key, and how much memory that and `verify` take.

Ours is the use case as the console script drives it: pages of 500, each a transaction. The floor is what
no program can do without: open and seal the same envelopes in a bare loop, with one bulk UPDATE by the raw
driver for each page. The goals: at least a third of the floor's rate, and memory that does not grow with
the rows.
"""

from __future__ import annotations

import argparse
import os
import sqlite3
import statistics
import time
import tracemalloc
from base64 import b64decode
from collections.abc import Callable
from contextlib import closing
from functools import cache
from typing import Any
from uuid import UUID

import psycopg
from bench import ENGINES, Service, databases, service_over
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from envelopes import Context, associated_data, sealed
from rotation import NEW_KEY
from service import MASTER_KEY, arrange
from sqlalchemy import insert, select

from secretsvc import commands
from secretsvc.kernel.crypto import KeyRing
from secretsvc.keyring import domain
from secretsvc.secrets.models import secret, secret_version
from secretsvc.tables.projects import environment

OLD, NEW = KeyRing(b64decode(MASTER_KEY), None), KeyRing(b64decode(NEW_KEY), None)
PAGE, VERSIONS, SECRETS = 500, 4, 500
VALUE = b"postgresql://shop:0123456789abcdef@db.example.com:5432/shop?sslmode=verify-full"
GOAL = 1 / 3
#: Growth of the peak that is still chance.
SLACK = 1.5


def fill(service: Service, rows: int) -> None:
    """Envelopes under the old key: four versions of each secret, 500 secrets in each environment."""
    names = [f"e{number}" for number in range(-(-rows // (SECRETS * VERSIONS)))]
    arrange(service, "shop", *names)
    environments = [row["id"] for row in service.rows(environment)]
    secrets, versions = [], []
    for number in range(rows // VERSIONS):
        environment_id, key = environments[number // SECRETS], f"KEY_{number:05}"
        columns = {"environment_id": environment_id, "key": key, "version": VERSIONS, "deleted": False}
        secrets.append({"id": number + 1, **columns, "created_at": 1, "updated_at": 1})
        for version in range(1, VERSIONS + 1):
            envelope, kid = sealed(OLD, VALUE, Context(environment_id, key, version))
            row = {"secret_id": number + 1, "version": version, "rev": 1, "created_at": 1}
            versions.append({**row, "envelope": envelope, "kid": kid})
    service.execute(insert(secret), secrets)
    service.execute(insert(secret_version), versions)
    if service.engine.name == "postgresql":
        service.execute("ANALYZE")


def rekey(service: Service) -> int:
    """Ours: as `secretsvc-server rekey` does it."""
    moved = 0
    while True:
        with commands.system_call(service.app.registry, writes=True) as call:
            done = domain.rekey(call, PAGE)
        moved += done.rekeyed
        if not done.remaining:
            return moved


def verify(service: Service) -> int:
    """Ours: as `secretsvc-server verify` does it."""
    with commands.system_call(service.app.registry, writes=False) as call:
        return sum(found is None for found in domain.verify_envelopes(call))


def envelopes(service: Service) -> list[Any]:
    """What the floor finds in memory: what the AAD of each envelope names, and the envelope."""
    columns = secret_version.c.secret_id, secret_version.c.version, secret.c.key, secret.c.environment_id
    with service.engine.connect() as connection:
        statement = select(*columns, secret_version.c.envelope).join_from(secret_version, secret)
        return list(connection.execute(statement.order_by(*columns[:2])))


@cache
def cipher(kid: str, environment_id: UUID) -> AESGCM:
    return (OLD if kid == OLD.active_kid else NEW).within(environment_id)._keys[kid].cipher


def resealed(row: Any) -> bytes:
    context, envelope = Context(row.environment_id, row.key, row.version), row.envelope
    opened = cipher(OLD.active_kid, row.environment_id).decrypt(
        envelope[9:21], envelope[21:], associated_data(envelope[:9], context)
    )
    head, nonce = b"\x01" + bytes.fromhex(NEW.active_kid), os.urandom(12)
    sealer = cipher(NEW.active_kid, row.environment_id)
    return head + nonce + sealer.encrypt(nonce, opened, associated_data(head, context))


def floor(service: Service, rows: list[Any]) -> int:
    """The bare loop; rows are at hand, and nothing is looked up, counted or recorded."""
    bare = _sqlite_floor if service.engine.name == "sqlite" else _postgresql_floor
    pages = [rows[start : start + PAGE] for start in range(0, len(rows), PAGE)]
    return bare(service.url, pages)


def _sqlite_floor(url: str, pages: list[list[Any]]) -> int:
    statement = "UPDATE secret_version SET envelope = ?, kid = ? WHERE secret_id = ? AND version = ?"
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None)) as connection:
        connection.execute("PRAGMA synchronous=FULL")
        for page in pages:
            connection.execute("BEGIN IMMEDIATE")
            moved = [(resealed(row), NEW.active_kid, row.secret_id, row.version) for row in page]
            connection.executemany(statement, moved)
            connection.execute("COMMIT")
    return sum(map(len, pages))


def _postgresql_floor(url: str, pages: list[list[Any]]) -> int:
    statement = (
        "UPDATE secret_version SET envelope = new.envelope, kid = %s"
        " FROM unnest(%s::bigint[], %s::bigint[], %s::bytea[]) AS new (secret_id, version, envelope)"
        " WHERE secret_version.secret_id = new.secret_id AND secret_version.version = new.version"
    )
    with psycopg.connect(url.replace("+psycopg", "")) as connection:
        for page in pages:
            moved = [resealed(row) for row in page]
            ids, versions = [row.secret_id for row in page], [row.version for row in page]
            connection.execute(statement, (NEW.active_kid, ids, versions, moved))
            connection.commit()
    return sum(map(len, pages))


def timed(work: Callable[[], int], rows: int) -> float:
    """Envelopes a second."""
    began = time.perf_counter()
    done = work()
    took = time.perf_counter() - began
    if done != rows:
        raise SystemExit(f"{done} envelopes instead of {rows}")
    return rows / took


def peak(work: Callable[[], int], rows: int) -> float:
    """The most memory that Python held for it at once, in MiB; much slower than without looking."""
    tracemalloc.start()
    try:
        timed(work, rows)
        return tracemalloc.get_traced_memory()[1] / 2**20
    finally:
        tracemalloc.stop()


def rates(made: Any, rows: int) -> tuple[float, float, float]:
    """Envelopes a second of the floor, of rekeying and of verifying, over the same rows."""
    with service_over(made) as service:
        fill(service, rows)
        found = envelopes(service)
        the_floor = timed(lambda: floor(service, found), rows)
    with service_over(made, MASTER_KEY=NEW_KEY, MASTER_KEY_OLD=MASTER_KEY) as service:
        fill(service, rows)
        return the_floor, timed(lambda: rekey(service), rows), timed(lambda: verify(service), rows)


def peaks(made: Any, work: Callable[[Service], int], small: int, large: int) -> tuple[float, float]:
    """The memory that a use case takes over few rows and over many."""
    found = []
    for rows in (small, large):
        with service_over(made, MASTER_KEY=NEW_KEY, MASTER_KEY_OLD=MASTER_KEY) as service:
            fill(service, rows)
            # What is made once, such as a compiled statement, is no matter of rows.
            verify(service)
            found.append(peak(lambda service=service: work(service), rows))
    return found[0], found[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--engine", choices=ENGINES, action="append")
    options = parser.parse_args()
    for engine in options.engine or ENGINES:
        with databases(engine) as made:
            measured = [rates(made, options.rows) for _ in range(options.rounds)]
            ratio = statistics.median(ours / bare for bare, ours, _ in measured)
            bare, ours, verified = (statistics.median(column) for column in zip(*measured, strict=True))
            verdict = "" if ratio >= GOAL else "  below the goal"
            print(f"{engine:<11}floor {bare:>7.0f}/s  rekey {ours:>7.0f}/s  ratio {ratio:.2f}{verdict}")
            print(f"{engine:<11}verify {verified:>6.0f}/s", flush=True)
            for name, work, large in (("rekey", rekey, options.rows), ("verify", verify, 2 * options.rows)):
                few, many = peaks(made, work, options.rows // 10, large)
                verdict = "" if many <= few * SLACK else "  it grows"
                print(
                    f"{engine:<11}{name:<7}{few:>6.2f} MiB for {options.rows // 10} rows,"
                    f" {many:.2f} MiB for {large}{verdict}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
