"""An identity may be announced: it was not seen yet."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
lost = "which identities were announced and never came: they count as seen when they were announced"


def upgrade():
    if op.get_bind().dialect.name == "sqlite":
        _replace(sa.Column("seen", sa.BigInteger(), nullable=True), "last_seen_at")
    else:
        op.alter_column("identity", "last_seen_at", nullable=True)


def downgrade():
    # Who never came is taken for one that came when it was announced, and stays so after another upgrade.
    if op.get_bind().dialect.name == "sqlite":
        # SQLite takes no such column without a default, which nobody asks for and the upgrade takes away.
        column = sa.Column("seen", sa.BigInteger(), nullable=False, server_default="0")
        _replace(column, "coalesce(last_seen_at, created_at)")
    else:
        op.execute("UPDATE identity SET last_seen_at = created_at WHERE last_seen_at IS NULL")
        op.alter_column("identity", "last_seen_at", nullable=False)


def _replace(column, value):
    """Another column in the place of the last: a table made anew would take the grants along, by their keys."""
    op.add_column("identity", column)
    op.execute(f"UPDATE identity SET seen = {value}")  # noqa: S608
    op.drop_column("identity", "last_seen_at")
    op.alter_column("identity", "seen", new_column_name="last_seen_at")
