"""How the snapshot, the one statement that authorizes a request, grows with grants of no concern to it.

The caller holds two grants and is in two groups; 10^2 against 10^5 grants belong to others. Prints medians
of the statement on one connection, sent in turns, and their ratio; the goal is 1.3 at most.
"""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Iterator

from bench import ENGINES, Report, Service, databases, options_of, service_over
from sqlalchemy import Connection

from secretsvc.authorization.rules.snapshot import load_standing
from secretsvc.db.engine import read_once, write_transaction
from secretsvc.kernel.actors import Kind, Principal
from secretsvc.kernel.clock import now_ms
from secretsvc.kernel.ids import new_id
from secretsvc.tables.grants import grant, group, group_member
from secretsvc.tables.identities import identity
from secretsvc.tables.projects import project

SIZES = (100, 100_000)
PROJECTS, COUNT, GOAL = 200, 2_000, 1.3
ADA = Principal(Kind.USER, "ada@example.com")


def fill(service: Service, count: int) -> None:
    """As many grants as asked for: to identities and to groups, one in fifty global, few of them admins."""
    generator = random.Random(7)
    times = {"created_at": 1, "updated_at": 1}
    projects = [{"id": new_id(), "slug": f"p-{n}", "name": "Name", **times} for n in range(PROJECTS)]
    people = [
        {
            "id": new_id(),
            "kind": "user",
            "subject": f"user-{number}@example.com",
            "disabled": False,
            "created_at": 1,
            "last_seen_at": 1,
        }
        for number in range(max(10, count // 20))
    ]
    groups = [
        {"id": new_id(), "slug": f"g-{n}", "name": "Name", **times} for n in range(max(3, count // 100))
    ]
    holders = [(one["id"], None) for one in people] + [(None, one["id"]) for one in groups]
    wanted: dict[tuple[object, ...], dict[str, object]] = {}
    while len(wanted) < count:
        identity_id, group_id = generator.choice(holders)
        role = generator.choice(("reader", "writer", "admin"))
        everywhere = generator.random() < 0.02
        project_id = None if everywhere else generator.choice(projects)["id"]
        wanted[identity_id, group_id, project_id, role] = {
            "id": new_id(),
            "identity_id": identity_id,
            "group_id": group_id,
            "scope_type": "global" if everywhere else "project",
            "project_id": project_id,
            "environment_id": None,
            "role": role,
            "expires_at": None,
            "created_at": 1,
            "created_by": None,
        }
    members = [
        {"group_id": one["id"], "identity_id": member["id"], "created_at": 1}
        for one in groups
        for member in generator.sample(people, 5)
    ]
    with write_transaction(service.engine) as connection:
        for table, rows in (
            (project, projects),
            (identity, people),
            (group, groups),
            (group_member, members),
            (grant, list(wanted.values())),
        ):
            connection.execute(table.insert(), rows)
    for slug in ("p-0", "p-1"):
        service.grant(ADA.subject, "reader", slug)
        service.grant(service.group(f"ours-{slug}", ADA.subject), "writer", slug, group=True)
    service.execute("ANALYZE")


def statement_us(connection: Connection) -> float:
    """The time of one snapshot, which must hold what it should."""
    began = time.perf_counter()
    standing = load_standing(connection, ADA, now_ms())
    took = (time.perf_counter() - began) * 1e6
    if len(standing.grants) != 4:
        raise SystemExit(f"{len(standing.grants)} grants instead of 4")
    return took


def measure(engine: str) -> Iterator[float]:
    """The medians, sent in turns so that a machine that has other things to do slows both."""
    with databases(engine) as made, service_over(made) as small, service_over(made) as large:
        for service, count in zip((small, large), SIZES, strict=True):
            fill(service, count)
        times: tuple[list[float], list[float]] = ([], [])
        with read_once(small.engine) as one, read_once(large.engine) as other:
            for _ in range(COUNT):
                for connection, taken in zip((one, other), times, strict=True):
                    taken.append(statement_us(connection))
        yield from (statistics.median(taken[COUNT // 10 :]) for taken in times)


def main() -> None:
    options = options_of(__doc__).parse_args()
    report = Report(__file__, *(f"{size} grants" for size in SIZES))
    for engine in options.engine or ENGINES:
        report.add(engine, "snapshot", *measure(engine), goal=GOAL)
    report.save(options.json)


if __name__ == "__main__":
    main()
