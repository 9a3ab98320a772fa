"""What makes a database refuse, and several requests come at once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from service import Service

_REFUSE = """
CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'refused'; END $$
"""


def refuse_inserts(service: Service, table: str) -> None:
    """From now on no row can be added to a table."""
    if service.engine.name == "sqlite":
        body = "BEGIN SELECT RAISE(ABORT, 'refused'); END"
        service.execute(f"CREATE TRIGGER refuse_{table} BEFORE INSERT ON {table} {body}")
        return
    service.execute(_REFUSE)
    service.execute(
        f"CREATE TRIGGER refuse_{table} BEFORE INSERT ON {table} FOR EACH ROW EXECUTE FUNCTION refuse()"
    )


def at_once(count: int, act: Callable[[int], Any]) -> list[Any]:
    """Runs `act` with 0, 1, … in as many threads, started together; the results in order."""
    start = threading.Barrier(count)
    results: list[Any] = [None] * count

    def run(number: int) -> None:
        start.wait()
        try:
            results[number] = act(number)
        except Exception as error:
            results[number] = error

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return results
