"""The table of notes."""

import sqlalchemy as sa

from alembic import op

revision = "a001"
down_revision = None
branch_labels = ("acme_notes",)
depends_on = "0001"


def upgrade():
    environment = sa.ForeignKey("environment.id", ondelete="CASCADE")
    op.create_table(
        "acme_note",
        sa.Column("id", sa.Uuid(), primary_key=True),
        sa.Column("environment_id", sa.Uuid(), environment, nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
    )


def downgrade():
    op.drop_table("acme_note")
