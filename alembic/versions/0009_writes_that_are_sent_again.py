"""The first success of each write that its client may send again (contract 8.2)."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
lost = "the first successes of writes that are sent again within 24 hours"


def upgrade():
    op.create_table(
        "idempotent_write",
        sa.Column("environment_id", sa.Uuid(), nullable=False),
        sa.Column("identity_id", sa.Uuid(), nullable=False),
        sa.Column("action", sa.String(length=64), nullable=False),
        sa.Column("key", sa.String(length=64), nullable=False),
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.Column("kid", sa.String(length=16), nullable=False),
        sa.Column("rev", sa.BigInteger(), nullable=False),
        sa.Column("made", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["environment_id"],
            ["environment.id"],
            name="fk_idempotent_write_environment_id",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint(
            "environment_id", "identity_id", "action", "key", name="pk_idempotent_write"
        ),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_idempotent_write_created_at", "idempotent_write", ["created_at"])


def downgrade():
    op.drop_table("idempotent_write")
