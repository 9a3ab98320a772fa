"""The order in which records are sealed, the head of their tree, and the key that signs it (contract 7).

What was recorded before is sealed like everything else, in the order of its ids. Records wait in a table of
their own, into which a trigger puts each in the transaction that writes it, so that none is skipped: neither
what commits late, nor what an older release or a plugin writes.
"""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
lost = "the order in which audit records were sealed, the log's head and signing key, and addresses of clients"

REFUSED = "the sealed log only grows"
WAITING = "INSERT INTO audit_unsealed (record_id) VALUES (NEW.id)"
IS_SEALED = "EXISTS (SELECT 1 FROM audit_seal WHERE record_id = OLD.record_id)"
#: What else than to be removed is refused to the one row of a table.
KEPT = (
    ("audit_head", "no_return", "NEW.size < OLD.size"),
    ("audit_signer", "no_change", "NEW.public_key <> OLD.public_key"),
)
POSTGRESQL = (
    f"""
    CREATE FUNCTION audit_seal_is_append_only() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION '{REFUSED}'; END $$
    """,
    f"""
    CREATE FUNCTION audit_unsealed_waits() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN IF {IS_SEALED} THEN RETURN OLD; END IF; RAISE EXCEPTION '{REFUSED}'; END $$
    """,
    f"""
    CREATE FUNCTION audit_record_waits() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN {WAITING}; RETURN NULL; END $$
    """,
    """
    CREATE TRIGGER audit_record_waits AFTER INSERT ON audit_record
    FOR EACH ROW EXECUTE FUNCTION audit_record_waits()
    """,
    """
    CREATE TRIGGER audit_unsealed_no_skip BEFORE DELETE ON audit_unsealed
    FOR EACH ROW EXECUTE FUNCTION audit_unsealed_waits()
    """,
    """
    CREATE TRIGGER audit_seal_no_change BEFORE UPDATE OR DELETE ON audit_seal
    FOR EACH ROW EXECUTE FUNCTION audit_seal_is_append_only()
    """,
    *(
        f"""
        CREATE TRIGGER {table}_{name} BEFORE UPDATE ON {table}
        FOR EACH ROW WHEN ({condition}) EXECUTE FUNCTION audit_seal_is_append_only()
        """
        for table, name, condition in KEPT
    ),
    *(
        f"""
        CREATE TRIGGER {table}_no_delete BEFORE DELETE ON {table}
        FOR EACH ROW EXECUTE FUNCTION audit_seal_is_append_only()
        """
        for table, _, _ in KEPT
    ),
    *(
        f"""
        CREATE TRIGGER {table}_no_truncate BEFORE TRUNCATE ON {table}
        FOR EACH STATEMENT EXECUTE FUNCTION audit_seal_is_append_only()
        """
        for table in ("audit_seal", "audit_unsealed", "audit_head", "audit_signer")
    ),
)
REFUSE = f"BEGIN SELECT RAISE(ABORT, '{REFUSED}'); END"
SQLITE = (
    f"CREATE TRIGGER audit_record_waits AFTER INSERT ON audit_record BEGIN {WAITING}; END",
    f"CREATE TRIGGER audit_unsealed_no_skip BEFORE DELETE ON audit_unsealed WHEN NOT {IS_SEALED} {REFUSE}",
    f"CREATE TRIGGER audit_seal_no_update BEFORE UPDATE ON audit_seal {REFUSE}",
    f"CREATE TRIGGER audit_seal_no_delete BEFORE DELETE ON audit_seal {REFUSE}",
    f"""
    CREATE TRIGGER audit_seal_no_replace BEFORE INSERT ON audit_seal
    WHEN EXISTS (SELECT 1 FROM audit_seal WHERE position = NEW.position OR record_id = NEW.record_id) {REFUSE}
    """,
    *(
        f"CREATE TRIGGER {table}_{name} BEFORE UPDATE ON {table} WHEN {condition} {REFUSE}"
        for table, name, condition in KEPT
    ),
    *(f"CREATE TRIGGER {table}_no_delete BEFORE DELETE ON {table} {REFUSE}" for table, _, _ in KEPT),
    *(
        f"CREATE TRIGGER {table}_no_replace BEFORE INSERT ON {table}"
        f" WHEN EXISTS (SELECT 1 FROM {table} WHERE id = NEW.id) {REFUSE}"
        for table, _, _ in KEPT
    ),
)


def upgrade():
    op.add_column("audit_record", sa.Column("client_address", sa.String(length=45), nullable=True))
    op.create_table(
        "audit_seal",
        sa.Column("position", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("record_id", sa.Uuid(), nullable=False),
        sa.Column("leaf_hash", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("position", name="pk_audit_seal"),
        sa.UniqueConstraint("record_id", name="uq_audit_seal_record_id"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "audit_unsealed",
        sa.Column("record_id", sa.Uuid(), nullable=False),
        sa.PrimaryKeyConstraint("record_id", name="pk_audit_unsealed"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "audit_head",
        sa.Column("id", sa.SmallInteger(), autoincrement=False, nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("frontier", sa.LargeBinary(), nullable=False),
        sa.Column("checkpoint", sa.Text(), nullable=False),
        sa.Column("sealed_at", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("id = 1", name=op.f("ck_audit_head_single")),
        sa.PrimaryKeyConstraint("id", name="pk_audit_head"),
    )
    op.create_table(
        "audit_signer",
        sa.Column("id", sa.SmallInteger(), autoincrement=False, nullable=False),
        sa.Column("public_key", sa.LargeBinary(), nullable=False),
        sa.Column("envelope", sa.LargeBinary(), nullable=False),
        sa.Column("kid", sa.String(length=16), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("id = 1", name=op.f("ck_audit_signer_single")),
        sa.PrimaryKeyConstraint("id", name="pk_audit_signer"),
    )
    # The trigger first: to make it, PostgreSQL waits for who writes records and keeps others out, so that the
    # statement after it sees all that were written without it.
    for statement in SQLITE if op.get_bind().dialect.name == "sqlite" else POSTGRESQL:
        op.execute(statement)
    op.execute("INSERT INTO audit_unsealed (record_id) SELECT id FROM audit_record")


def downgrade():
    if op.get_bind().dialect.name == "sqlite":
        op.execute("DROP TRIGGER audit_record_waits")
    else:
        op.execute("DROP TRIGGER audit_record_waits ON audit_record")
    for table in ("audit_signer", "audit_head", "audit_unsealed", "audit_seal"):
        op.drop_table(table)
    if op.get_bind().dialect.name == "postgresql":
        for name in ("audit_record_waits", "audit_unsealed_waits", "audit_seal_is_append_only"):
            op.execute(f"DROP FUNCTION {name}()")
    op.drop_column("audit_record", "client_address")
