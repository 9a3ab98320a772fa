"""A database that misbehaves."""

from __future__ import annotations

import signal
import time

import psycopg
from faults.fault import EXPECTED, Fault, Scene


def _refused(scene: Scene) -> None:
    with scene.cause():
        scene.wire.refuse()
        scene.wait()
        scene.wire.listen()


#: Each answer is so late.
SLOW_SECONDS = 0.5
#: Connections that a role may have at once.
ROLE_LIMIT = 3


def _black_hole(scene: Scene) -> None:
    with scene.cause():
        scene.wire.hush()
        scene.watch_ready("database_unavailable")
        scene.wire.speak()


def _slow(scene: Scene) -> None:
    with scene.cause():
        scene.wire.delay = SLOW_SECONDS
        scene.watch_ready()
        scene.wire.delay = 0.0


def _frozen(scene: Scene) -> None:
    with scene.cause():
        scene.postgresql.freeze()
        scene.watch_ready("database_unavailable")
        scene.postgresql.thaw()


def _stopped(scene: Scene) -> None:
    with scene.cause():
        scene.postgresql.stop()
        scene.wait()
        scene.postgresql.start()


def _crashed(scene: Scene) -> None:
    with scene.cause():
        scene.postgresql.stop(signal.SIGQUIT)
        scene.postgresql.start()


def _terminated(scene: Scene) -> None:
    with scene.cause():
        for _ in range(10):
            scene.postgresql.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = 'secretsvc' AND pid <> pg_backend_pid()"
            )
            time.sleep(scene.seconds / 10)


def _read_only(scene: Scene) -> None:
    server = scene.postgresql
    with scene.cause():
        server.execute("ALTER DATABASE secretsvc SET default_transaction_read_only = on", "postgres")
        # As where the server was restarted for it: who is connected learns of it, too.
        server.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = 'secretsvc' AND pid <> pg_backend_pid()",
            "postgres",
        )
        scene.wait()
        scene.read_names()
        server.execute("ALTER DATABASE secretsvc RESET default_transaction_read_only", "postgres")


def _few_connections(scene: Scene) -> None:
    """The one connection of the pool is busy, for longer than others wait for it."""
    with scene.cause():
        _locked(scene, "LOCK TABLE environment IN ACCESS EXCLUSIVE MODE")


def _by_a_role(scene: Scene) -> None:
    server = scene.postgresql
    server.execute("CREATE ROLE few LOGIN")
    server.execute("GRANT ALL ON ALL TABLES IN SCHEMA public TO few")
    server.execute("GRANT ALL ON ALL SEQUENCES IN SCHEMA public TO few")
    scene.deployment.settings["DATABASE_URL"] = scene.deployment.url.replace("postgres@", "few@")


def _limited_role(scene: Scene) -> None:
    server = scene.postgresql
    with scene.cause():
        server.execute(f"ALTER ROLE few CONNECTION LIMIT {ROLE_LIMIT}")
        server.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'few'")
        scene.wait()
        server.execute("ALTER ROLE few CONNECTION LIMIT -1")


def _locked_row(scene: Scene) -> None:
    with scene.cause():
        _locked(scene, "SELECT rev FROM environment FOR UPDATE")


def _locked_audit(scene: Scene) -> None:
    with scene.cause():
        _locked(scene, "LOCK TABLE audit_record IN ACCESS EXCLUSIVE MODE")


def _locked(scene: Scene, statement: str) -> None:
    url = f"postgresql://postgres@127.0.0.1:{scene.postgresql.port}/secretsvc"
    with psycopg.connect(url) as connection:
        connection.execute(statement)  # type: ignore[arg-type]  # one of the two above
        scene.wait()


def _hanging_insert(scene: Scene) -> None:
    server = scene.postgresql
    server.execute(
        "CREATE FUNCTION hang() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(60); END'"
    )
    with scene.cause():
        server.execute(
            "CREATE TRIGGER hang BEFORE INSERT ON secret_version FOR EACH STATEMENT EXECUTE FUNCTION hang()"
        )
        scene.wait()
        server.execute("SET lock_timeout = '60s'; DROP TRIGGER hang ON secret_version")


DOWN = Fault(
    "database refuses",
    "the way to it is closed, and everybody is hung up on",
    _refused,
    seconds=20,
    slowest=12,
    recovery=1,
    is_relayed=True,
)
BLACK_HOLE = Fault(
    "black hole",
    "what is sent is acknowledged, and nothing comes back; `/ready` is watched",
    _black_hole,
    seconds=120,
    is_relayed=True,
)
READ_ONLY = Fault(
    "database only reads",
    "`default_transaction_read_only`, backends ended, then lifted; names are read meanwhile",
    _read_only,
    seconds=6,
    recovery=2,
)
SMALL_POOL = Fault(
    "pool smaller than the load",
    "one connection for 8 clients, `DATABASE_TIMEOUT=1`, and a lock that it waits for",
    _few_connections,
    seconds=5,
    statuses=EXPECTED | {503},
    settings={"DATABASE_POOL_SIZE": "1", "DATABASE_TIMEOUT": "1"},
)
DATABASE = (
    Fault("none", "nothing", lambda scene: None, statuses=EXPECTED, met=frozenset({200}), slowest=10),
    DOWN,
    Fault("PostgreSQL stopped", "SIGINT, started again after that time", _stopped, slowest=12, recovery=1),
    Fault("PostgreSQL crashed", "SIGQUIT, started again at once", _crashed, slowest=12, recovery=1),
    Fault("backends ended", "`pg_terminate_backend` on all, 10 times", _terminated, slowest=12, recovery=1),
    BLACK_HOLE,
    Fault(
        "slow database",
        f"each answer comes {SLOW_SECONDS:g} s late; `/ready` is watched, and must be 200",
        _slow,
        seconds=30,
        met=frozenset({200}),
        is_relayed=True,
    ),
    Fault("PostgreSQL frozen", "SIGSTOP to all its processes, then SIGCONT", _frozen, seconds=70),
    READ_ONLY,
    SMALL_POOL,
    Fault(
        "few connections for the role",
        f"`CONNECTION LIMIT {ROLE_LIMIT}` for 8 clients, backends ended, then lifted",
        _limited_role,
        prepare=_by_a_role,
        recovery=2,
    ),
    Fault("environment's row locked", "`SELECT … FOR UPDATE` elsewhere", _locked_row, seconds=25, slowest=20),
    Fault("audit table locked", "`LOCK TABLE` elsewhere", _locked_audit, seconds=30, slowest=22),
    Fault(
        "an insert that hangs",
        "a trigger that sleeps",
        _hanging_insert,
        seconds=20,
        statuses=EXPECTED | {503},
    ),
)
