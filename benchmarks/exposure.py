"""How long a page of `key` in the audit and one of exposure take among 10^6 records, beside the 100 ms.

200 projects with 600 environments; the first has 500 keys and 10^4 revisions, 59 others 100 keys of three
versions. A tenth of the log are reveals of one hot key. Three identities have 10^4 reads each: one of many
keys, versions and states, one that exported the first environment at each of its revisions, and one that
revealed each version of one key. Prints medians of the whole request in process.
"""

from __future__ import annotations

import json
import random
import statistics
import time
from argparse import Namespace
from collections.abc import Iterator
from typing import Any
from uuid import UUID

from audit_pages import ROOT, STEP_MS, load, make_projects
from bench import ENGINES, Report, Request, Service, databases, in_turn, options_of, service_over
from sqlalchemy import insert

from secretsvc.db.engine import write_transaction
from secretsvc.secrets.models import secret, secret_version
from secretsvc.tables.projects import environment

SIZE, READS, MOST_US = 1_000_000, 10_000, 100_000
REVISIONS, ENVIRONMENTS, PAGES = 10_000, 60, 4
KEYS = [f"KEY_{number:03}" for number in range(500)]
HOT, RARE, LONG = KEYS[0], KEYS[1], KEYS[2]
BUSY, POLLER, ROTATOR = "busy@example.com", "poller@example.com", "rotator@example.com"
WHERE = "project=p-000&environment=e-0"


def _secrets(ids: list[str]) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """Each secret with its versions, which are the same bytes: no value is opened here."""
    number = 0
    for at, environment_id in enumerate(ids):
        for index, key in enumerate(KEYS if at == 0 else KEYS[:100]):
            number += 1
            if at:
                revs = [1, 2, 3]
            elif key == LONG:
                # Each revision changes this one, and one of the others.
                revs = [*range(1, REVISIONS + 1)]
            else:
                revs = [*range(1 + index, REVISIONS + 1, len(KEYS))]
            row = {"id": number, "environment_id": UUID(environment_id), "key": key, "version": len(revs)}
            versions = [
                {
                    "secret_id": number,
                    "version": version,
                    "rev": rev,
                    "envelope": b"x" * 64,
                    "kid": "0" * 16,
                    "created_at": rev,
                }
                for version, rev in enumerate(revs, 1)
            ]
            yield row | {"deleted": False, "created_at": 1, "updated_at": 1}, versions


def _reads(ids: list[str]) -> Iterator[tuple[str, str, str, str, int]]:
    """The action, the subject, the environment, and what was given, of each read of the three."""
    generator = random.Random(11)
    for number in range(READS):
        environment_id = ids[number % ENVIRONMENTS]
        first = environment_id == ids[0]
        if number % 2:
            yield "secret.reveal", BUSY, environment_id, generator.choice(KEYS[:100]), generator.randint(1, 3)
        else:
            rev = generator.randint(1, REVISIONS if first else 3)
            yield "secret.export", BUSY, environment_id, "@" if number % 4 else "", rev
        yield "secret.export", POLLER, ids[0], "", number + 1
        yield "secret.reveal", ROTATOR, ids[0], LONG, number + 1


def _records(count: int, ids: list[str], people: dict[str, str]) -> Iterator[tuple[Any, ...]]:
    """In the order of time, one a second: the reads of the three are spread among those of others."""
    generator, reads = random.Random(7), _reads(ids)
    first = int(time.time() * 1000) - count * STEP_MS
    due = iter(sorted(generator.sample(range(count), 3 * READS)))
    following = next(due)
    for number in range(count):
        at = first + number * STEP_MS
        action, subject, environment_id = "secret.reveal", f"user-{number % 300}@example.com", ids[0]
        key, given = HOT, 1
        if number == following:
            action, subject, environment_id, key, given = next(reads)
            following = next(due, -1)
        elif number % 10:
            environment_id, key = generator.choice(ids), generator.choice(KEYS[3:])
            if number % 10 < 3:
                action, key = "secret.export", ""
        identity_id = people.get(subject, f"{number % 300:032x}")
        made = f"{at:012x}7{number % 4096:03x}8{generator.getrandbits(60):015x}"
        detail = json.dumps({"key": key, "version": given})
        who = (identity_id, "user", subject)
        yield (made, at, action, "success", *who, None, environment_id, made, "reveal", detail, key, given)


def fill(service: Service, count: int) -> None:
    """The environments, their secrets and versions, and the log."""
    scopes = make_projects(service)
    ids = [one for _, environments in scopes for one in environments][:ENVIRONMENTS]
    found = list(_secrets(ids))
    with write_transaction(service.engine) as connection:
        connection.execute(insert(secret), [row for row, _ in found])
        connection.execute(insert(secret_version), [one for _, versions in found for one in versions])
        first = environment.c.id == UUID(ids[0])
        connection.execute(environment.update().where(first).values(rev=REVISIONS))
    people = {subject: service.identity_id(subject).hex for subject in (BUSY, POLLER, ROTATOR)}
    load(service, _records(count, ids, people))


def questions(service: Service, count: int) -> Iterator[tuple[str, Request]]:
    """The name of each page, and the request for it."""

    def ask(path: str) -> Request:
        return Request(service, ROOT, "GET", path, 200)

    at = int(time.time() * 1000) - count // 2 * STEP_MS
    middle = UUID(int=at << 80 | 7 << 76 | 2 << 62)
    yield "key, hot", ask(f"/audit?{WHERE}&key={HOT}")
    yield "key, hot, deep", ask(f"/audit?{WHERE}&key={HOT}&cursor={middle}")
    yield "key, hot, action", ask(f"/audit?{WHERE}&key={HOT}&action=secret.export")
    yield "key, hot, page of 500", ask(f"/audit?{WHERE}&key={HOT}&limit=500")
    yield "key, of 10^4 versions", ask(f"/audit?{WHERE}&key={LONG}")
    yield "key, rare", ask(f"/audit?{WHERE}&key={RARE}&action=secret.reveal")
    yield "key, absent", ask(f"/audit?{WHERE}&key=NEVER_WAS")
    for subject, name in ((BUSY, "of many keys"), (POLLER, "of one environment"), (ROTATOR, "of one key")):
        path = f"/identities/{service.identity_id(subject)}/exposure?limit=500"
        cursor: str | None = ""
        for number in range(1, PAGES + 1):
            request = ask(f"{path}&cursor={cursor}" if cursor else path)
            cursor = json.loads(request.send())["next_cursor"]
            yield f"exposure, reads {name}, page {number}", request
            if cursor is None:
                break


def measure(engine: str, options: Namespace) -> Iterator[tuple[str, float]]:
    """The name of each page, and its median."""
    with databases(engine) as made, service_over(made) as service:
        fill(service, options.size)
        for name, request in questions(service, options.size):
            rounds = in_turn((request,), rounds=options.rounds, seconds=options.seconds)
            yield name, statistics.median(times[0] for times in rounds)


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("--size", type=int, default=SIZE)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.3, help="of each round")
    options = parser.parse_args()
    report = Report(__file__, "at most", f"{options.size} records")
    for engine in options.engine or ENGINES:
        for name, took in measure(engine, options):
            report.add(engine, name, MOST_US, took, goal=1)
    report.save(options.json)


if __name__ == "__main__":
    main()
