"""A primary that is gone, and its standby in its place."""

from __future__ import annotations

import time

from faults.fault import Fault, Scene
from postgresql_server import PostgresqlServer

#: After so long somebody, or something, promotes the standby.
PROMOTED_AFTER = 3.0


def _followed(scene: Scene, *, synchronous: bool) -> None:
    primary = scene.postgresql
    scene.standby = primary.standby(primary.folder.parent / "standby", synchronous=synchronous)
    scene.stack.callback(scene.standby.kill)
    hosts = f"host=127.0.0.1:{primary.port}&host=127.0.0.1:{scene.standby.port}"
    url = f"postgresql+psycopg://postgres@/secretsvc?{hosts}&target_session_attrs=read-write"
    # A host that does not answer is given up soon, or all connections wait for it first.
    scene.deployment.settings["DATABASE_URL"] = f"{url}&connect_timeout=2"


def _synchronously(scene: Scene) -> None:
    _followed(scene, synchronous=True)


def _asynchronously(scene: Scene) -> None:
    _followed(scene, synchronous=False)


def _standby(scene: Scene) -> PostgresqlServer:
    assert scene.standby is not None
    # What happened is read where the service is now.
    scene.deployment.url = scene.standby.url()
    return scene.standby


def _killed(scene: Scene) -> None:
    with scene.cause():
        scene.postgresql.kill()
        time.sleep(PROMOTED_AFTER)
        _standby(scene).promote()


def _silent(scene: Scene) -> None:
    """It says nothing any more, and nobody hangs up: as where the machine has lost its network."""
    with scene.cause():
        scene.postgresql.freeze()
        time.sleep(PROMOTED_AFTER)
        _standby(scene).promote()
    scene.wait()
    scene.postgresql.kill()


def _behind(scene: Scene) -> None:
    """The standby hears nothing more, and the primary goes on acknowledging."""
    standby = _standby(scene)
    standby.execute("ALTER SYSTEM SET primary_conninfo = ''", "postgres")
    standby.execute("SELECT pg_reload_conf()", "postgres")
    time.sleep(2)
    with scene.cause():
        scene.postgresql.kill()
        standby.promote()


FAILOVER = Fault(
    "failover",
    f"the primary is killed, its synchronous standby promoted after {PROMOTED_AFTER:g} s",
    _killed,
    prepare=_synchronously,
    recovery=5,
)
FAILOVERS = (
    FAILOVER,
    Fault(
        "silent death of the primary",
        f"SIGSTOP to it, its synchronous standby promoted after {PROMOTED_AFTER:g} s, killed later",
        _silent,
        prepare=_synchronously,
        seconds=30,
        recovery=25,
    ),
    Fault(
        "failover, asynchronous: the proof that a loss is seen",
        "the standby is cut off for 2 s, the primary killed, the standby promoted",
        _behind,
        prepare=_asynchronously,
        breaks="I1",
        met=frozenset(),
    ),
)
