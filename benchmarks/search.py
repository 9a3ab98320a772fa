"""How long a search takes among 10^5 keys, on both engines, beside the 100 ms that it may take.

Each environment has 200 keys, one in ten of them deleted, and each project five environments. A global
admin, and a caller with a grant on one environment, look for what is in every key, in one, and in none, and
for what is in the name of every project and environment. Prints medians of the whole request in process, for
pages of 100. `growth.py` has the curve.
"""

from __future__ import annotations

import statistics
from argparse import Namespace
from collections.abc import Iterator

from bench import ENGINES, Report, Request, Service, databases, in_turn, options_of, service_over

from secretsvc.db.engine import write_transaction
from secretsvc.kernel.ids import new_id
from secretsvc.secrets.models import secret
from secretsvc.tables.projects import environment, project

SIZE, MOST_US = 100_000, 100_000
ENVIRONMENTS, KEYS = 5, 200
ROOT, ADA = "root@example.com", "ada@example.com"
WORDS = ("DATABASE", "STRIPE", "SMTP", "QUEUE", "SESSION", "METRICS", "UPSTREAM", "FEATURE")
NAMES = [f"{one}_{other}_KEY_{n}" for n in range(4) for one in WORDS for other in WORDS][:KEYS]
QUESTIONS = {"in every key": "_key", "in one key": "needle", "in none": "absent", "in other names": "name"}


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
            "environment_id": one["id"],
            "key": name,
            "version": 1,
            "deleted": number % 10 == 9,
            "created_at": 1,
            "updated_at": 1,
        }
        for one in environments
        for number, name in enumerate(NAMES)
    ]
    keys[-KEYS]["key"] = "THE_NEEDLE"
    with write_transaction(service.engine) as connection:
        for table, rows in ((project, projects), (environment, environments), (secret, keys)):
            connection.execute(table.insert(), rows)
    service.grant(ROOT, "admin")
    service.grant(ADA, "reader", "p-000/e-0")
    service.execute("ANALYZE")


def questions(service: Service) -> Iterator[tuple[str, Request]]:
    """The name of each search and the request for it."""
    for who, subject in (("global admin", ROOT), ("one environment", ADA)):
        for name, text in QUESTIONS.items():
            yield f"{who}: {name}", Request(service, subject, "GET", f"/search?q={text}&limit=100", 200)


def measure(engine: str, options: Namespace) -> Iterator[tuple[str, float]]:
    """The name of each search, and its median."""
    with databases(engine) as made, service_over(made) as service:
        fill(service, options.size)
        for name, request in questions(service):
            rounds = in_turn((request,), rounds=options.rounds, seconds=options.seconds)
            yield name, statistics.median(times[0] for times in rounds)


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("--size", type=int, default=SIZE)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.3, help="of each round")
    options = parser.parse_args()
    report = Report(__file__, "at most", f"{options.size} keys")
    for engine in options.engine or ENGINES:
        for name, took in measure(engine, options):
            report.add(engine, name, MOST_US, took, goal=1)
    report.save(options.json)


if __name__ == "__main__":
    main()
