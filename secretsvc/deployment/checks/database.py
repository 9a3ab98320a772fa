"""The database: whether it answers, has the schema and its triggers, and keeps what it commits; the clock."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator

from sqlalchemy import Connection, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import SQLAlchemyError

from secretsvc.db.engine import set_mode
from secretsvc.db.schema import REVISION, TRIGGERS, recorded, schema_release
from secretsvc.db.sqlite_files import file_of
from secretsvc.deployment.checks.findings import Finding, fail, ok, warn
from secretsvc.deployment.checks.privileges import check_rights
from secretsvc.deployment.migrate import heads
from secretsvc.kernel.clock import now_ms
from secretsvc.kernel.errors import ServerMisconfigured
from secretsvc.kernel.release import docs_page
from secretsvc.kernel.transaction_mode import Mode
from secretsvc.server.readiness import key_may_seal
from secretsvc.web.error_logging import cause_of
from secretsvc.web.request import ServiceRegistry

#: What tokens may be off by unless ACCESS_LEEWAY says otherwise.
CLOCK_SECONDS = 30
_ROTATION = docs_page("operations/key-rotation.md")
#: How long the database may take to answer while the service starts.
START_SECONDS = 1.0
_TRIGGERS = {
    "sqlite": "SELECT name, tbl_name FROM sqlite_master WHERE type = 'trigger'",
    "postgresql": """
        SELECT tgname, relname FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid
        WHERE tgenabled IN ('O', 'A') AND NOT tgisinternal AND pg_table_is_visible(tgrelid)
        UNION ALL SELECT rulename, relname FROM pg_rewrite JOIN pg_class ON pg_class.oid = ev_class
        WHERE ev_enabled <> 'D' AND relkind IN ('r', 'p') AND pg_table_is_visible(ev_class)
    """,
}
_KIDS = text(
    """
    SELECT kid, count(*) FROM (SELECT kid FROM secret_version UNION ALL SELECT kid FROM audit_signer) AS named
    WHERE kid IS NOT NULL GROUP BY kid ORDER BY kid
    """
)
_NEWEST = text("SELECT created_at FROM audit_record ORDER BY id DESC LIMIT 1")


def check_database(registry: ServiceRegistry, *, start: bool = False) -> Iterator[Finding]:
    """What can be asked of the database; at the `start` within seconds, and without the counts."""
    try:
        url = make_url(registry.service_settings.database_url)
    except ServerMisconfigured:
        yield fail("database", "it was not asked: mend DATABASE_URL first", True)
        return
    path = file_of(url) if url.get_backend_name() == "sqlite" else None
    # SQLite would make an empty one.
    if path is not None and not os.path.exists(path):
        yield fail("database", f"{path} is not there: make it by secretsvc-server migrate", True)
        return
    database = registry.database
    try:
        engine = database.engine_to_watch_by(START_SECONDS) if start else database.engine
        with engine.connect() as connection:
            yield from _checks(registry, set_mode(connection, Mode.AUTOCOMMIT), start=start)
    except ServerMisconfigured as error:
        yield fail("database", getattr(error, "reason", "its settings cannot be used"), True)
    except SQLAlchemyError as error:
        yield fail("database", f"{cause_of(error)}: mend DATABASE_URL or the database")


def _checks(registry: ServiceRegistry, connection: Connection, *, start: bool) -> Iterator[Finding]:
    connection.execute(text("SELECT 1"))
    yield ok("database", f"{connection.dialect.name} answers")
    yield from check_durability(connection)
    found = heads(connection)
    if not registry.models.is_served(found, recorded(connection)):
        at = ", ".join(found) or "none"
        yield fail(
            "schema", f"it is at {at}, which this release does not serve: secretsvc-server migrate", True
        )
        return
    yield ok("schema", f"at {', '.join(found)}, which this release serves")
    checks: tuple[Callable[[], Iterator[Finding]], ...] = (
        lambda: check_triggers(connection, registry.models.own),
        lambda: check_rights(connection, {*registry.models.names, schema_release.name}),
        lambda: check_admins(registry, connection),
        lambda: check_clock(connection),
        lambda: check_adoption(registry, connection),
        lambda: check_ring(registry, connection),
    )
    # The last counts every envelope.
    for check in checks[:-1] if start else checks:
        yield from check()


def check_triggers(connection: Connection, own: Collection[str]) -> Iterator[Finding]:
    """Whether the tables that are `own` have exactly the triggers that promises rest on, and no rules."""
    name = connection.dialect.name
    there = {(row[0], row[1]) for row in connection.execute(text(_TRIGGERS[name]))}
    missing = _listed(TRIGGERS[name] - there)
    foreign = _listed((trigger, table) for trigger, table in there - TRIGGERS[name] if table in own)
    found = recorded(connection)
    if missing:
        yield fail("triggers", f"missing or disabled: {missing}: restore a copy that has them")
    if foreign and found is not None and found.revision > REVISION:
        yield warn("triggers", f"unknown, perhaps of a newer release: {foreign}: check with that release")
    elif foreign:
        advice = "find out who made them, drop them, and verify the audit log"
        yield fail("triggers", f"not of this service: {foreign}: {advice}")
    if not missing and not foreign:
        yield ok("triggers", "the audit log refuses to be changed, and no other trigger is on our tables")


def _listed(triggers: Iterable[tuple[str, str]]) -> str:
    return ", ".join(sorted(f"{trigger} on {table}" for trigger, table in triggers))


def check_admins(registry: ServiceRegistry, connection: Connection) -> Iterator[Finding]:
    """Whether anyone can administer the service: without an admin every request is refused."""
    try:
        named = registry.service_settings.bootstrap_admins
    except ServerMisconfigured:
        return
    if named or registry.admin_exists(connection, now_ms()):
        yield ok("admins", "BOOTSTRAP_ADMINS names one" if named else "a global admin can sign in")
    else:
        yield fail("admins", "no global admin: name one in BOOTSTRAP_ADMINS, who then grants the role", True)


def check_durability(connection: Connection) -> Iterator[Finding]:
    """Whether what was committed survives a power cut: a value is sent once its record does."""
    if connection.dialect.name == "sqlite":
        found = {
            name: str(connection.execute(text(f"PRAGMA {name}")).scalar_one())
            for name in ("journal_mode", "synchronous")
        }
        bad = found != {"journal_mode": "wal", "synchronous": "2"}
        advice = "put the file on a local file system that has shared memory"
    else:
        names = ("fsync", "full_page_writes", "synchronous_commit")
        found = {
            name: str(connection.execute(text("SELECT current_setting(:name)"), {"name": name}).scalar_one())
            for name in names
        }
        bad = "off" in found.values()
        advice = "switch it on in the server's configuration, and for this role and database"
    told = ", ".join(f"{name} = {value}" for name, value in found.items())
    yield fail("durability", f"{told}: {advice}") if bad else ok("durability", told)


def check_clock(connection: Connection) -> Iterator[Finding]:
    """This machine's against the database's, and against the newest record."""
    before = now_ms()
    newest = connection.execute(_NEWEST).scalar()
    if newest is not None and newest > before + CLOCK_SECONDS * 1000:
        behind = (newest - before) // 1000
        yield fail("clock", f"the newest record is {behind} s ahead of this machine: synchronise its clock")
        return
    if connection.dialect.name == "sqlite":
        yield ok("clock", "it is not behind the newest record")
        return
    theirs = connection.execute(text("SELECT extract(epoch FROM clock_timestamp()) * 1000")).scalar_one()
    apart = abs(float(theirs) - (before + now_ms()) / 2) / 1000
    if apart > CLOCK_SECONDS:
        yield fail("clock", f"{apart:.0f} s apart from the database's: synchronise both")
    else:
        yield ok("clock", f"{apart:.1f} s apart from the database's")


def check_adoption(registry: ServiceRegistry, connection: Connection) -> Iterator[Finding]:
    """Whether the active master key may seal into this database, or would by its first value."""
    try:
        kid = registry.load_ring().active_kid
    except ServerMisconfigured:
        return
    if key_may_seal(registry, connection):
        yield ok("adoption", f"master key {kid} may seal into this database")
    else:
        advice = f"start with the right key, or see {_ROTATION}"
        yield fail("adoption", f"master key {kid} is not in use in this database: {advice}")


def check_ring(registry: ServiceRegistry, connection: Connection) -> Iterator[Finding]:
    """Whether every envelope, with that of the key that signs the log, is under a key that is held here."""
    try:
        ring = registry.load_ring()
    except ServerMisconfigured:
        return
    lost = [(kid, count) for kid, count in connection.execute(_KIDS) if kid not in ring.kids]
    for kid, count in lost:
        told = f"{count} envelopes are under master key {kid}, which is not on the ring"
        yield fail("ring", f"{told}: give it as MASTER_KEY_OLD, and see {_ROTATION}")
    if not lost:
        yield ok("ring", "every envelope is under a key that is on the ring")
