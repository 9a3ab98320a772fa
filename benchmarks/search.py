"""How the search grows with what is stored: 10^3 against 10^5 keys, on both engines.

Each environment has 200 keys, each project five environments; one key in ten is deleted. A global admin, and
a caller with a grant on one environment, look for what is everywhere, for one key, and for what is nowhere.
Prints medians of the whole request in process, sent in turns, for a small and a large database.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator

from bench import ENGINES, Report, Request, Service, databases, in_turn, options_of, service_over

from secretsvc.db.engine import write_transaction
from secretsvc.kernel.ids import new_id
from secretsvc.secrets.models import secret
from secretsvc.tables.projects import environment, project

SIZES = (1_000, 100_000)
ENVIRONMENTS, KEYS = 5, 200
ROOT, ADA = "root@example.com", "ada@example.com"
WORDS = ("DATABASE", "STRIPE", "SMTP", "QUEUE", "SESSION", "METRICS", "UPSTREAM", "FEATURE")
QUESTIONS = {"everywhere": "_key", "one key": "needle", "nowhere": "absent", "projects and environments": "name"}


def fill(service: Service, count: int) -> None:
    """So many keys, a thousand for each project; the caller with one grant holds it on the first environment."""
    times = {"created_at": 1, "updated_at": 1}
    projects = [
        {"id": new_id(), "slug": f"p-{number:03}", "name": f"Name of {number}", **times}
        for number in range(count // (ENVIRONMENTS * KEYS))
    ]
    places = [
        {"id": new_id(), "project_id": one["id"], "slug": f"e-{number}", "name": f"Name {number}", "rev": 1, **times}
        for one in projects
        for number in range(ENVIRONMENTS)
    ]
    keys = [
        {"environment_id": place["id"], "key": _key(number), "version": 1, "deleted": number % 10 == 9, **times}
        for place in places
        for number in range(KEYS)
    ]
    keys[-KEYS]["key"] = "THE_NEEDLE"
    with write_transaction(service.engine) as connection:
        for table, rows in ((project, projects), (environment, places), (secret, keys)):
            connection.execute(table.insert(), rows)
    service.grant(ROOT, "admin")
    service.grant(ADA, "reader", "p-000/e-0")
    service.execute("ANALYZE")


def _key(number: int) -> str:
    return f"{WORDS[number % len(WORDS)]}_{WORDS[number // len(WORDS) % len(WORDS)]}_KEY_{number}"


def questions(service: Service) -> Iterator[tuple[str, Request]]:
    """The name of each search and the request for it."""
    for who, subject in (("global admin", ROOT), ("one environment", ADA)):
        for name, text in QUESTIONS.items():
            for limit in (20, 100):
                target = f"/search?q={text}&limit={limit}"
                yield f"{who}: {name}, {limit}", Request(service, subject, "GET", target, 200)
