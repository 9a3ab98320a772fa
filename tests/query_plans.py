"""What the databases say of how they execute a statement: how many rows they read, and by which index."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from psycopg import sql
from service import Service
from sqlalchemy import Engine, event

#: How PostgreSQL plans what is prepared: anew for its values, or once for all.
PLAN_MODES = ("force_custom_plan", "force_generic_plan")
LENGTHEN = """
    INSERT INTO secret_version (secret_id, version, rev, envelope, kid, created_at, created_by)
    WITH RECURSIVE step (number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM step WHERE number < :count)
    SELECT present.secret_id, present.version + step.number, environment.rev + step.number, present.envelope,
        present.kid, present.created_at, present.created_by
    FROM secret_version present CROSS JOIN step
    JOIN secret ON secret.id = present.secret_id AND secret.version = present.version AND NOT secret.deleted
    JOIN environment ON environment.id = secret.environment_id
    ORDER BY step.number, present.secret_id"""

LENGTHEN_REVISIONS = """
    INSERT INTO revision (environment_id, rev, created_at)
    WITH RECURSIVE step (number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM step WHERE number < :count)
    SELECT environment.id, environment.rev + step.number, environment.updated_at
    FROM environment CROSS JOIN step"""


class Executed(NamedTuple):
    """A statement as the driver got it."""

    text: str
    values: Any


@contextmanager
def executed(engine: Engine, table: str) -> Iterator[list[Executed]]:
    """The queries of a table that are executed meanwhile."""
    found: list[Executed] = []

    def note(_connection: Any, _cursor: Any, text: str, values: Any, *_rest: Any) -> None:
        words = text.replace("(", " ").replace(".", " ").split()
        if words[0] == "SELECT" and table in words:
            found.append(Executed(text, values))

    event.listen(engine, "before_cursor_execute", note)
    try:
        yield found
    finally:
        event.remove(engine, "before_cursor_execute", note)


def lengthen(service: Service, count: int) -> None:
    """Gives each undeleted secret so many versions more, of a revision each, which no envelope fits."""
    for statement in (LENGTHEN, LENGTHEN_REVISIONS):
        service.execute(statement.replace(":count", str(count)))
    service.execute(f"UPDATE environment SET rev = rev + {count}")  # noqa: S608
    service.execute(f"UPDATE secret SET version = version + {count} WHERE NOT deleted")  # noqa: S608
    service.execute("ANALYZE")


def steps_of(engine: Engine, statement: Executed, table: str) -> list[str]:
    """SQLite's steps over a table."""
    with engine.connect() as connection:
        driver: Any = connection.connection.dbapi_connection
        steps = [row[3] for row in driver.execute(f"EXPLAIN QUERY PLAN {statement.text}", statement.values)]
    return [step for step in steps if table in step.split()[:2]]


def rows_read(engine: Engine, statement: Executed, table: str, mode: str) -> int:
    """How many rows of a table PostgreSQL reads for a prepared statement, those left out included.

    It tells the mean of many lookups, whose decimals it rounds.
    """
    names = list(statement.values)
    numbered = statement.text % {name: f"${number}" for number, name in enumerate(names, 1)}
    values = sql.SQL(", ").join(map(sql.Literal, statement.values.values()))
    with engine.connect() as connection:
        driver: Any = connection.connection.dbapi_connection
        driver.execute(f"SET plan_cache_mode = {mode}")
        driver.execute(f"PREPARE probe AS {numbered}")
        explain = sql.SQL("EXPLAIN (ANALYZE, FORMAT JSON) EXECUTE probe ({})").format(values)
        (answer,) = driver.execute(explain).fetchone()
        driver.execute("DEALLOCATE probe")
        driver.execute("RESET plan_cache_mode")
    plan = json.loads(answer) if isinstance(answer, str) else answer
    return sum(_read(node) for node in _nodes(plan[0]["Plan"]) if node.get("Relation Name") == table)


def _nodes(node: Any) -> Iterator[Any]:
    yield node
    for below in node.get("Plans", ()):
        yield from _nodes(below)


def _read(node: Any) -> int:
    removed = sum(number for name, number in node.items() if name.startswith("Rows Removed by"))
    return round((node["Actual Rows"] + removed) * node["Actual Loops"])
