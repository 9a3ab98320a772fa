"""What a running server does beside requests: it forgets writes that nobody can send again (contract 8.2)."""

from __future__ import annotations

from secretsvc.db.engine import read_once, write_transaction
from secretsvc.db.session import Database
from secretsvc.kernel.clock import now_ms
from secretsvc.secrets.write.idempotency import is_any_old, sweep
from secretsvc.web.config import ServiceConfigurator

#: So many rows go at once, and where that was not all, the next after a moment.
BATCH_ROWS = 1000
MOMENT_SECONDS, HOUR_SECONDS = 1.0, 3600.0


class Sweeper:
    """Without it the rows of who sends no further write with a key would stay."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def step(self) -> int:
        """Removes some of what nobody can ask for any more, and says how many rows that were."""
        engine, now = self._database.engine, now_ms()
        # Asked first, so that no write has to wait where there is nothing to remove.
        with read_once(engine) as connection:
            if not is_any_old(connection, now):
                return 0
        with write_transaction(engine) as connection:
            return sweep(connection, now, BATCH_ROWS)

    def pause_after(self, swept: int) -> float:
        """Seconds until the next step."""
        return MOMENT_SECONDS if swept else HOUR_SECONDS


def includeme(config: ServiceConfigurator) -> None:
    """Puts it on the registry, for the server alone to run."""
    config.registry.write_sweeper = Sweeper(config.registry.database)
