"""What somebody does who may do everything in the database, and has no master key."""

from __future__ import annotations

from typing import Any

from service import Service
from sqlalchemy import Executable, text

from secretsvc.db.engine import write_transaction

OFF = {"sqlite": "DROP TRIGGER {}", "postgresql": "ALTER TABLE {} DISABLE TRIGGER USER"}
TRIGGERS = "SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name = :table"


def tampered(service: Service, statement: str | Executable, *tables: str, **values: Any) -> None:
    """Executes a statement after the triggers of these tables were taken out of its way."""
    engine = service.engine.name
    with write_transaction(service.engine) as connection:
        for table in tables:
            names = [table]
            if engine == "sqlite":
                names = [*connection.execute(text(TRIGGERS), {"table": table}).scalars()]
            for name in names:
                connection.execute(text(OFF[engine].format(name)))
        connection.execute(text(statement) if isinstance(statement, str) else statement, values)
