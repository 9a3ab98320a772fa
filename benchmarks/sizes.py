"""What the database grows by: a secret, a further version, the sealed record of one read. Nothing is timed.

Each is asked for by requests, as many as make the pages of the database a matter of no importance. Bytes on
disk, indexes included; values are 80 bytes long.
"""

from __future__ import annotations

from bench import ENGINES, Service, databases, options_of, service_over
from sealing import seal_all
from service import Client, arrange
from sqlalchemy import text

KEYS, TURNS, READS = 500, 10, 20_000
PROD = "/projects/shop/environments/e{number}"
VALUE = "x" * 80


def size(service: Service) -> int:
    """The bytes of the database when every record is sealed, less what is free in it."""
    seal_all(service)
    with service.engine.connect() as connection:
        if service.engine.name == "postgresql":
            # What waited to be sealed has left room that those take who wait after it.
            used = "pg_database_size(current_database()) - pg_total_relation_size('audit_unsealed')"
            return int(connection.execute(text(f"SELECT {used}")).scalar_one())
        used = [
            connection.execute(text(f"PRAGMA {name}")).scalar_one()
            for name in ("page_count", "freelist_count")
        ]
        page = connection.execute(text("PRAGMA page_size")).scalar_one()
        return int((used[0] - used[1]) * page)


def write(admin: Client, number: int) -> None:
    """All keys of one environment, anew."""
    values = {f"KEY_{key:03}": VALUE for key in range(KEYS)}
    admin.post(f"{PROD.format(number=number)}/secrets:batch", {"mode": "merge", "set": values})


def measure(engine: str, reads: int) -> None:
    """Prints the line of one engine."""
    with databases(engine) as made, service_over(made, RATE_LIMIT="") as service:
        admin = arrange(service, "shop", *(f"e{number}" for number in range(TURNS)))
        empty = size(service)
        for number in range(TURNS):
            write(admin, number)
        filled = size(service)
        for number in range(TURNS):
            write(admin, number)
        versions = size(service)
        for read in range(reads):
            admin.get(f"{PROD.format(number=0)}/secrets/KEY_{read % KEYS:03}")
        read_all = size(service)
    figures = (
        (filled - empty) / (KEYS * TURNS),
        (versions - filled) / (KEYS * TURNS),
        (read_all - versions) / reads,
    )
    print(f"{engine:<11}" + "".join(f"{figure:>12.0f}" for figure in figures), flush=True)


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("--reads", type=int, default=READS)
    options = parser.parse_args()
    print(f"{'bytes of':<11}{'a secret':>12}{'a version':>12}{'a read':>12}")
    for engine in options.engine or ENGINES:
        measure(engine, options.reads)


if __name__ == "__main__":
    main()
