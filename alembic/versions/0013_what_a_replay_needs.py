"""The state that a replay of the log begins with, and keys of digests that outlive master keys."""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
lost = "the signed state that replays of the log begin with, and keys of digests of older master keys"

REFUSED = "the sealed log only grows"
#: Each with what its rows are told apart by.
TABLES = {"audit_snapshot": "id = NEW.id", "digest_key": "kid = NEW.kid AND held_by = NEW.held_by"}
POSTGRESQL = (
    *(
        f"""
        CREATE TRIGGER {table}_no_change BEFORE UPDATE OR DELETE ON {table}
        FOR EACH ROW EXECUTE FUNCTION audit_seal_is_append_only()
        """
        for table in TABLES
    ),
    *(
        f"""
        CREATE TRIGGER {table}_no_truncate BEFORE TRUNCATE ON {table}
        FOR EACH STATEMENT EXECUTE FUNCTION audit_seal_is_append_only()
        """
        for table in TABLES
    ),
)
REFUSE = f"BEGIN SELECT RAISE(ABORT, '{REFUSED}'); END"
SQLITE = (
    *(f"CREATE TRIGGER {table}_no_update BEFORE UPDATE ON {table} {REFUSE}" for table in TABLES),
    *(f"CREATE TRIGGER {table}_no_delete BEFORE DELETE ON {table} {REFUSE}" for table in TABLES),
    *(
        f"CREATE TRIGGER {table}_no_replace BEFORE INSERT ON {table}"
        f" WHEN EXISTS (SELECT 1 FROM {table} WHERE {same}) {REFUSE}"
        for table, same in TABLES.items()
    ),
)


def upgrade():
    op.create_table(
        "audit_snapshot",
        sa.Column("id", sa.SmallInteger(), autoincrement=False, nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("id = 1", name=op.f("ck_audit_snapshot_single")),
        sa.PrimaryKeyConstraint("id", name="pk_audit_snapshot"),
    )
    op.create_table(
        "digest_key",
        sa.Column("kid", sa.String(length=16), nullable=False),
        sa.Column("held_by", sa.String(length=16), nullable=False),
        sa.Column("envelope", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("kid", "held_by", name="pk_digest_key"),
        sqlite_with_rowid=False,
    )
    for statement in SQLITE if op.get_bind().dialect.name == "sqlite" else POSTGRESQL:
        op.execute(statement)


def downgrade():
    for table in TABLES:
        op.drop_table(table)
