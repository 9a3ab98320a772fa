"""An identity keeps the workload issuer by which it first came, whose names stay reserved (contract 17.5).

Of identities that are there the issuer is not known: the next visit by a token of a workload issuer fills it in.
"""

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"
lost = "by which issuer each machine first came: the next visit decides again"


def upgrade():
    op.add_column("identity", sa.Column("issuer_name", sa.String(length=64), nullable=True))
    op.add_column("identity", sa.Column("issuer", sa.Text(), nullable=True))
    condition = sa.text("issuer_name IS NOT NULL")
    op.create_index(
        "ix_identity_issuer_name",
        "identity",
        ["issuer_name"],
        postgresql_where=condition,
        sqlite_where=condition,
    )


def downgrade():
    op.drop_index("ix_identity_issuer_name", "identity")
    op.drop_column("identity", "issuer")
    op.drop_column("identity", "issuer_name")
