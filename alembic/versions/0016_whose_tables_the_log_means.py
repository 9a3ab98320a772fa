"""The log's functions mean its own tables, with which only their owner may do more than a service does.

A trigger's function looks for tables by the path of whoever writes, on which a temporary table of the same name
comes first: a role could show it a log of its own. Now each has its schema on a path of its own.
"""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"
lost = "that no role can have its own tables taken for those of the log; and no data"

REFUSED = "the sealed log only grows"
#: All that migrations before this made, but `audit_prune`, which has its path.
FUNCTIONS = (
    "audit_export_holds",
    "audit_former_signer_holds",
    "audit_key_is_append_only",
    "audit_may_prune",
    "audit_pruned_holds",
    "audit_record_is_append_only",
    "audit_record_waits",
    "audit_retention_holds",
    "audit_seal_is_append_only",
    "audit_signer_holds",
    "audit_unsealed_waits",
    "environment_departs",
)
#: What a service never does with a table, although it may read it.
NEVER = {
    "audit_export": "DELETE, TRUNCATE",
    "audit_former_signer": "INSERT, UPDATE, DELETE, TRUNCATE",
    "audit_head": "DELETE, TRUNCATE",
    "audit_key": "UPDATE, DELETE, TRUNCATE",
    "audit_pruned": "INSERT, UPDATE, DELETE, TRUNCATE",
    "audit_record": "UPDATE, DELETE, TRUNCATE",
    "audit_seal": "UPDATE, DELETE, TRUNCATE",
    "audit_signer": "DELETE, TRUNCATE",
    "audit_snapshot": "UPDATE, DELETE, TRUNCATE",
    # What waits is listed by the trigger, which does so as the owner.
    "audit_unsealed": "INSERT, UPDATE, TRUNCATE",
    "digest_key": "UPDATE, DELETE, TRUNCATE",
}
#: What releases before this ask for, by their `check` or to list what waits.
ASKED_BEFORE = {
    "audit_export": "DELETE",
    "audit_former_signer": "INSERT",
    "audit_head": "DELETE",
    "audit_pruned": "INSERT, UPDATE, DELETE",
    "audit_signer": "DELETE",
    "audit_unsealed": "INSERT, UPDATE",
}
HOLDERS = """
    SELECT DISTINCT CASE grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)) END
    FROM pg_class, aclexplode(relacl)
    WHERE pg_class.oid = to_regclass(:table) AND grantee <> relowner AND privilege_type <> 'SELECT'
"""
POSTGRESQL = (
    # No constraint: rows that are there are a verification's to name, and keep nobody from migrating.
    """
    CREATE TRIGGER audit_seal_from_zero BEFORE INSERT ON audit_seal
    FOR EACH ROW WHEN (NEW.position < 0) EXECUTE FUNCTION audit_seal_is_append_only()
    """,
    """
    CREATE TRIGGER audit_unsealed_no_change BEFORE UPDATE ON audit_unsealed
    FOR EACH ROW EXECUTE FUNCTION audit_seal_is_append_only()
    """,
    "ALTER FUNCTION audit_record_waits() SECURITY DEFINER",
    # Else anybody could make it the trigger of a table of their own, and list what they like.
    "REVOKE ALL ON FUNCTION audit_record_waits() FROM PUBLIC",
)
POSTGRESQL_BACK = (
    "GRANT EXECUTE ON FUNCTION audit_record_waits() TO PUBLIC",
    "ALTER FUNCTION audit_record_waits() SECURITY INVOKER",
    "DROP TRIGGER audit_unsealed_no_change ON audit_unsealed",
    "DROP TRIGGER audit_seal_from_zero ON audit_seal",
)
REFUSE = f"BEGIN SELECT RAISE(ABORT, '{REFUSED}'); END"
SQLITE = (
    f"CREATE TRIGGER audit_unsealed_no_change BEFORE UPDATE ON audit_unsealed {REFUSE}",
    f"CREATE TRIGGER audit_seal_from_zero BEFORE INSERT ON audit_seal"
    f" WHEN typeof(NEW.position) <> 'integer' OR NEW.position < 0 {REFUSE}",
)


def upgrade():
    bind = op.get_bind()
    if bind.dialect.name == "sqlite":
        for statement in SQLITE:
            op.execute(statement)
        return
    schema = bind.execute(sa.text("SELECT quote_ident(current_schema())")).scalar_one()
    for name in FUNCTIONS:
        op.execute(f"ALTER FUNCTION {name}() SET search_path = {schema}, pg_temp")
    for statement in POSTGRESQL:
        op.execute(statement)
    for table, rights in NEVER.items():
        for role in _holders(bind, table):
            op.execute(f"REVOKE {rights} ON {table} FROM {role}")


def _holders(bind, table):
    """The roles that somebody has allowed to write to a table."""
    return bind.execute(sa.text(HOLDERS), {"table": table}).scalars().all()


def downgrade():
    bind = op.get_bind()
    if bind.dialect.name == "sqlite":
        for name in ("audit_seal_from_zero", "audit_unsealed_no_change"):
            op.execute(f"DROP TRIGGER {name}")
        return
    for role in _holders(bind, "audit_record"):
        for table, rights in ASKED_BEFORE.items():
            op.execute(f"GRANT {rights} ON {table} TO {role}")
    for statement in POSTGRESQL_BACK:
        op.execute(statement)
    for name in FUNCTIONS:
        op.execute(f"ALTER FUNCTION {name}() RESET search_path")
