"""Service tokens: digests of what machines bring."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
lost = "every service token"


def upgrade():
    op.create_table(
        "service_token",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("identity_id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.Column("prefix", sa.String(length=8), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("created_by", sa.Uuid(), nullable=True),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.Column("last_used_at", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(["identity_id"], ["identity.id"], name="fk_service_token_identity_id"),
        sa.PrimaryKeyConstraint("id", name="pk_service_token"),
        sa.UniqueConstraint("digest", name="uq_service_token_digest"),
        postgresql_with={"fillfactor": 70},
    )
    op.create_index("ix_service_token_expires_at", "service_token", ["expires_at"])
    op.create_index("ix_service_token_identity_id", "service_token", ["identity_id"])


def downgrade():
    op.drop_table("service_token")
