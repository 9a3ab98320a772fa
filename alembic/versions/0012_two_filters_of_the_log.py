"""Indexes of the audit log for two filters at once.

They are made in the transaction of the migration: while that lasts PostgreSQL lets nobody write a record. Whoever
cannot wait makes them beforehand, under these names, and they are left as they are (docs/operations/database.md).
"""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
lost = "the indexes of two filters of the audit log, and no data"

PAIRS = (
    ("project_id", "actor_subject"),
    ("environment_id", "actor_subject"),
    ("project_id", "action"),
    ("environment_id", "action"),
    ("actor_subject", "action"),
)
OF_DENIALS = ("project_id", "environment_id", "actor_subject", "action")
# Not by what the index of all denials says, which PostgreSQL would take instead.
DENIED = sa.text("outcome <> 'success'")


def upgrade():
    for pair in PAIRS:
        name = f"ix_audit_record_{'_'.join(pair)}"
        op.create_index(name, "audit_record", [*pair, "id"], if_not_exists=True)
    for column in OF_DENIALS:
        op.create_index(
            f"ix_audit_record_{column}_denied",
            "audit_record",
            [column, "id"],
            if_not_exists=True,
            postgresql_where=DENIED,
            sqlite_where=DENIED,
        )


def downgrade():
    for pair in PAIRS:
        op.drop_index(f"ix_audit_record_{'_'.join(pair)}", "audit_record")
    for column in OF_DENIALS:
        op.drop_index(f"ix_audit_record_{column}_denied", "audit_record")
