"""The oldest release that may serve the schema, so that an older process goes on over a newer one."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
lost = "which releases may serve the schema"
oldest_release = "0.1.0"


def upgrade():
    op.create_table(
        "schema_release",
        sa.Column("revision", sa.String(length=32), nullable=False),
        sa.Column("oldest_release", sa.String(length=32), nullable=False),
        sa.PrimaryKeyConstraint("revision", name="pk_schema_release"),
    )


def downgrade():
    op.drop_table("schema_release")
