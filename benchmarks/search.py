"""How long a search takes among 10^5 keys, on both engines, beside the 100 ms that it may take.

Each environment has 200 keys, one in ten of them deleted, and each project five environments. A global
admin, and a caller with a grant on one environment, look for what is in every key, in one, and in none, and
for what is in the name of every project and environment. The admin also asks the page of the search for keys
that are missing and for those that somebody changed last, which has no limit. Each key has two versions, and
each project one key that one environment lacks; Wendy wrote to one environment alone. Prints medians of the
whole request in process, for pages of 100. `growth.py` has the curve.
"""

from __future__ import annotations

import statistics
from argparse import Namespace
from collections.abc import Iterator
from typing import Any

from bench import (
    ENGINES,
    PageRequest,
    Report,
    Request,
    Service,
    databases,
    in_turn,
    options_of,
    service_over,
)

from secretsvc.db.engine import write_transaction
from secretsvc.kernel.ids import new_id
from secretsvc.secrets.models import revision, secret, secret_version
from secretsvc.tables.projects import environment, project

SIZE, MOST_US = 100_000, 100_000
ENVIRONMENTS, KEYS = 5, 200
ROOT, ADA, WENDY = "root@example.com", "ada@example.com", "wendy@example.com"
WORDS = ("DATABASE", "STRIPE", "SMTP", "QUEUE", "SESSION", "METRICS", "UPSTREAM", "FEATURE")
NAMES = [f"{one}_{other}_KEY_{n}" for n in range(4) for one in WORDS for other in WORDS][:KEYS]
QUESTIONS = {"in every key": "_key", "in one key": "needle", "in none": "absent", "in other names": "name"}
#: What only the page understands.
PAGE_QUESTIONS = {
    "missing": "is:missing",
    "missing, in one project": "in:p-000+is:missing",
    "missing from one environment": "is:missing+env:e-1",
    "by somebody": "by:root",
    "by somebody who wrote to one environment": "by:wendy",
    "by nobody": "by:absent",
}


def fill(service: Service, count: int) -> None:
    """So many keys, a thousand for each project; Ada reads the first environment."""
    common = {"name": "A name", "created_at": 1, "updated_at": 1}
    projects = [
        {"id": new_id(), "slug": f"p-{number:03}", **common}
        for number in range(count // (ENVIRONMENTS * KEYS))
    ]
    environments = [
        {"id": new_id(), "project_id": one["id"], "slug": f"e-{number}", "rev": 1, **common}
        for one in projects
        for number in range(ENVIRONMENTS)
    ]
    keys = [
        {
            "id": row * KEYS + number + 1,
            "environment_id": one["id"],
            "key": name,
            "version": 2,
            "deleted": number % 10 == 9,
            "created_at": 1,
            "updated_at": 1,
        }
        for row, one in enumerate(environments)
        for number, name in enumerate(NAMES)
    ]
    for first in range(0, count, ENVIRONMENTS * KEYS):
        keys[first]["deleted"] = True
    keys[-KEYS]["key"] = "THE_NEEDLE"
    with write_transaction(service.engine) as connection:
        for table, rows in ((project, projects), (environment, environments), (secret, keys)):
            connection.execute(table.insert(), rows)
    service.grant(ROOT, "admin")
    service.grant(ADA, "reader", "p-000/e-0")
    made = list(versions(service, keys))
    inside = {one["id"]: one["environment_id"] for one in keys}
    written = {(inside[one["secret_id"]], one["rev"]): one["created_by"] for one in made}
    with write_transaction(service.engine) as connection:
        connection.execute(secret_version.insert(), made)
        connection.execute(
            revision.insert(),
            [
                {"environment_id": within, "rev": rev, "created_at": 1, "created_by": author}
                for (within, rev), author in written.items()
            ],
        )
    service.execute("ANALYZE")


def versions(service: Service, keys: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Two of each key, the present one by the admin, but in the last environment."""
    ada, root, wendy = (service.identity_id(subject) for subject in (ADA, ROOT, WENDY))
    last = keys[-1]["environment_id"]
    for one in keys:
        for version, author in enumerate((ada, wendy if one["environment_id"] == last else root), 1):
            is_tombstone = one["deleted"] and version == one["version"]
            yield {
                "secret_id": one["id"],
                "version": version,
                "rev": version,
                "envelope": None if is_tombstone else bytes(100),
                "kid": None if is_tombstone else "0" * 16,
                "created_at": 1,
                "created_by": author,
            }


def questions(service: Service) -> Iterator[tuple[str, Request]]:
    """The name of each search and the request for it."""
    for who, subject in (("global admin", ROOT), ("one environment", ADA)):
        for name, text in QUESTIONS.items():
            yield f"{who}: {name}", Request(service, subject, "GET", f"/search?q={text}&limit=100", 200)


def page_questions(service: Service) -> Iterator[tuple[str, Request]]:
    """The same of the page."""
    for name, text in PAGE_QUESTIONS.items():
        yield f"page: {name}", PageRequest(service, ROOT, "GET", f"/search?q={text}", 200)


def measure(engine: str, options: Namespace) -> Iterator[tuple[str, float, float | None]]:
    """The name of each search, its median, and its goal in parts of what it may take."""
    with databases(engine) as made, service_over(made) as service:
        fill(service, options.size)
        for asked, goal in ((questions(service), 1.0), (page_questions(service), None)):
            for name, request in asked:
                rounds = in_turn((request,), rounds=options.rounds, seconds=options.seconds)
                yield name, statistics.median(times[0] for times in rounds), goal


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("--size", type=int, default=SIZE)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.3, help="of each round")
    options = parser.parse_args()
    report = Report(__file__, "at most", f"{options.size} keys")
    for engine in options.engine or ENGINES:
        for name, took, goal in measure(engine, options):
            report.add(engine, name, MOST_US, took, goal=goal)
    report.save(options.json)


if __name__ == "__main__":
    main()
