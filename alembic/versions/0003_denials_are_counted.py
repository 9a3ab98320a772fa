"""Denials are counted beside the log, and what is not there needs no table of its own."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
lost = "the count of denials that no record tells of"

EVERYWHERE = "00000000-0000-0000-0000-000000000000"


def upgrade():
    op.create_table(
        "denial_tally",
        sa.Column("identity_id", sa.Uuid(), nullable=False),
        sa.Column("scope_id", sa.Uuid(), nullable=False),
        sa.Column("denials", sa.BigInteger(), nullable=False),
        sa.Column("first_denied_at", sa.BigInteger(), nullable=False),
        sa.Column("last_denied_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("identity_id", "scope_id", name="pk_denial_tally"),
        sqlite_with_rowid=False,
        postgresql_with={"fillfactor": 70},
    )
    everywhere = f"'{EVERYWHERE}'::uuid" if op.get_bind().dialect.name == "postgresql" else f"'{'0' * 32}'"
    op.execute(
        "INSERT INTO denial_tally (identity_id, scope_id, denials, first_denied_at, last_denied_at)"  # noqa: S608
        f" SELECT identity_id, coalesce(environment_id, project_id, {everywhere}) AS scope_id,"
        " count(*), min(created_at), max(created_at) FROM audit_record"
        " WHERE outcome = 'denied' AND identity_id IS NOT NULL GROUP BY 1, 2"
    )
    op.drop_table("absence")


def downgrade():
    op.create_table(
        "absence",
        sa.Column("slot", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("noise", sa.String(length=36), nullable=False),
        sa.PrimaryKeyConstraint("slot", name="pk_absence"),
    )
    op.drop_table("denial_tally")
