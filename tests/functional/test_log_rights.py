"""What the role that serves may do with the log on PostgreSQL: what the service does, and no detour."""

from __future__ import annotations

import psycopg
import pytest
from databases import alembic_config
from resource_fields import log
from secrets_client import Vault
from service import Service, arrange
from sqlalchemy import select, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DBAPIError

from alembic import command
from secretsvc.audit.models import audit_key, audit_record
from secretsvc.db.engine import read_once, write_transaction
from secretsvc.db.schema import WRITES
from secretsvc.deployment.checks.privileges import check_rights
from secretsvc.kernel.ids import new_id
from secretsvc.sealedlog.models import (
    audit_export,
    audit_former_signer,
    audit_pruned,
    audit_signer,
    audit_unsealed,
)
from secretsvc.secrets.models import departed_version

pytestmark = pytest.mark.parametrize("databases", ["postgresql"], indirect=True)
RIGHTS = ("INSERT", "UPDATE", "DELETE", "TRUNCATE")
PRUNED = (
    "CREATE TABLE {}.audit_record (id uuid)",
    "CREATE TABLE {}.audit_seal AS SELECT * FROM public.audit_seal",
    "CREATE TABLE {}.audit_pruned AS SELECT 1000000 AS position, 9000000000000000 AS complete_since",
    "CREATE TABLE {}.audit_export AS SELECT 1000000 AS size",
    "SET LOCAL secretsvc.pruning = 'on'",
)
#: Tables that pass for those of the log, somewhere, and what the triggers are then to let pass.
DETOURS = {
    "to-delete-records": (
        PRUNED,
        "DELETE FROM public.audit_record WHERE id IN (SELECT record_id FROM public.audit_seal)",
    ),
    "to-delete-keys": (PRUNED, "DELETE FROM public.audit_key"),
    "to-tell-of-a-pruning": (PRUNED, "INSERT INTO public.audit_pruned VALUES (1, 1, 1)"),
    "to-tell-of-an-export": (
        ("CREATE TABLE {}.audit_head AS SELECT 1000000 AS size",),
        "INSERT INTO public.audit_export VALUES (1, 1000000, '', 1)",
    ),
    "to-leave-a-record-out": (
        ("CREATE TABLE {}.audit_seal AS SELECT record_id FROM public.audit_unsealed",),
        "DELETE FROM public.audit_unsealed",
    ),
    "to-name-a-former-key": (
        ("CREATE TABLE {}.audit_signer AS SELECT public_key FROM public.audit_signer",),
        "INSERT INTO public.audit_former_signer SELECT public_key, 'x', 1 FROM public.audit_signer",
    ),
    "to-have-another-key-sign": (
        ("CREATE TABLE {}.audit_former_signer AS SELECT public_key FROM public.audit_signer",),
        "UPDATE public.audit_signer SET public_key = envelope",
    ),
}
TABLES = (
    audit_record,
    audit_key,
    audit_pruned,
    audit_export,
    audit_unsealed,
    audit_former_signer,
    audit_signer,
)


@pytest.fixture
def served(two_roles, issuer):
    """A service by the role that serves, and what changes the rights of that."""
    owner, serving = two_roles
    service = Service(serving, issuer)
    vault = Vault(arrange(service, "shop", "prod", "dev"))
    vault.set(A="x", B="y")
    source = {"project": "shop", "environment": "prod"}
    dev = Vault(vault.client, "/projects/shop/environments/dev")
    dev.post("copy", {"from": source, "from_rev": 1, "keys": ["A", "B"], "existing": "overwrite"})
    while service.app.registry.audit_sealer.step():
        pass
    log(service)
    service.owner = owner.replace("+psycopg", "")
    service.role = make_url(serving).username
    yield service
    service.close()


def as_owner(service, *statements):
    """Executes them as the role that migrates; `ROLE` is the other one."""
    with psycopg.connect(service.owner, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement.replace("ROLE", service.role))


def held(service):
    """What the role that serves may do with each table of the log, beside reading it."""
    asked = text("SELECT has_table_privilege(:table, :one)")
    with read_once(service.engine) as connection:
        return {
            table: tuple(
                one for one in RIGHTS if connection.execute(asked, {"table": table, "one": one}).scalar_one()
            )
            for table in WRITES
        }


def told(service):
    """What `check` says of the role's rights."""
    with read_once(service.engine) as connection:
        return [(found.level.value, found.text) for found in check_rights(connection, [audit_record.name])]


def shadowing(connection, schema, statements):
    """Has tables of the role's own, temporary ones or in a schema, come before those of the log."""
    if schema == "own":
        connection.execute(text("CREATE SCHEMA own"))
        connection.execute(text("SET LOCAL search_path = own, public"))
    for statement in statements:
        connection.execute(text(statement.format(schema)))


@pytest.fixture(params=["pg_temp", "own"])
def schema(request, served):
    """Where the role may make tables; it may write to every table of the log."""
    database = make_url(served.owner).database
    given = [f"GRANT {', '.join(RIGHTS)} ON {table} TO ROLE" for table in WRITES]
    as_owner(served, *given, f'GRANT CREATE ON DATABASE "{database}" TO ROLE')
    return request.param


@pytest.mark.slow
def test_who_serves_may_do_what_the_service_does_and_no_more(served):
    assert held(served) == WRITES
    [(level, _)] = told(served)
    assert level == "ok"


@pytest.mark.slow
def test_rights_that_are_too_wide_are_named(served):
    as_owner(served, "GRANT UPDATE, DELETE ON audit_seal TO ROLE", "GRANT TRUNCATE ON digest_key TO PUBLIC")
    wide = "REVOKE DELETE, UPDATE on audit_seal; TRUNCATE on digest_key from it"
    assert told(served) == [("warn", f"the role may do what the service never does: {wide}")]


def test_a_migration_takes_what_was_granted_and_its_way_down_gives_what_older_releases_need(served):
    as_owner(served, "GRANT ALL ON audit_record TO PUBLIC", "GRANT ALL ON audit_pruned TO ROLE")
    config = alembic_config(served.owner.replace("postgresql:", "postgresql+psycopg:"))
    command.downgrade(config, "0015")
    [listed] = log(served)
    assert held(served)["audit_unsealed"] == ("INSERT", "UPDATE", "DELETE")
    command.upgrade(config, "head")
    assert held(served) == WRITES
    log(served)
    assert listed in [row["record_id"] for row in served.rows(audit_unsealed)]
    assert sum(iter(served.app.registry.audit_sealer.step, 0)) == 3


@pytest.mark.parametrize("detour", DETOURS)
def test_no_table_of_a_roles_own_passes_for_one_of_the_log(served, schema, detour):
    statements, forbidden = DETOURS[detour]
    before = [served.rows(table) for table in TABLES]
    with write_transaction(served.engine) as connection:
        shadowing(connection, schema, statements)
        with pytest.raises(DBAPIError) as refused:
            connection.execute(text(forbidden))
    assert refused.value.orig.sqlstate == "P0001"
    assert [served.rows(table) for table in TABLES] == before


def test_what_triggers_write_goes_to_the_log_whatever_is_in_its_place(served, schema):
    made = new_id()
    with write_transaction(served.engine) as connection:
        tables = ("audit_unsealed", "departed_version", "secret", "secret_version")
        shadowing(connection, schema, [f"CREATE TABLE {{}}.{one} (LIKE public.{one})" for one in tables])
        row = connection.execute(select(audit_record).limit(1)).mappings().one()
        connection.execute(audit_record.insert(), {**row, "id": made})
        connection.execute(text("DELETE FROM public.environment WHERE slug = 'prod'"))
        for one in tables:
            connection.execute(text(f"DROP TABLE {schema}.{one}"))
    assert made in [row["record_id"] for row in served.rows(audit_unsealed)]
    assert len(served.rows(departed_version)) == 2


def test_every_function_of_the_schema_has_a_path_of_its_own(served):
    listed = text(
        "SELECT proname, proconfig FROM pg_proc WHERE pronamespace = 'public'::regnamespace ORDER BY 1"
    )
    with read_once(served.engine) as connection:
        found = connection.execute(listed).all()
    assert len(found) > 10
    assert [name for name, config in found if config != ["search_path=public, pg_temp"]] == []


def test_who_serves_cannot_list_what_it_likes_by_the_function_of_the_trigger(served):
    refused = pytest.raises(DBAPIError, match="permission denied for function audit_record_waits")
    with refused, write_transaction(served.engine) as connection:
        connection.execute(text("CREATE TEMP TABLE mine (id uuid)"))
        connection.execute(
            text(
                "CREATE TRIGGER lists AFTER INSERT ON mine FOR EACH ROW EXECUTE FUNCTION audit_record_waits()"
            )
        )


def test_the_role_that_serves_can_store_large_objects(two_roles):
    """The threat model says so: every role of PostgreSQL can, and takes no right on a table for it."""
    with psycopg.connect(two_roles[1].replace("+psycopg", "")) as connection:
        assert connection.execute("SELECT lo_from_bytea(0, 'x')").fetchone()
        connection.rollback()
