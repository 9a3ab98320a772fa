"""The master keys in use: those that sealed what is there are adopted."""

import json
import time

import sqlalchemy as sa
from alembic import op

from secretsvc.kernel.ids import new_id

revision = "0002"
down_revision = "0001"
lost = "which master keys are in use"

RECORD = sa.table(
    "audit_record",
    sa.column("id", sa.Uuid()),
    *map(sa.column, ("created_at", "action", "outcome", "actor_subject", "request_id", "detail")),
)
# A kid whose envelope is newest is the newest adopted; what rekeying moves keeps its time.
KIDS = "SELECT kid FROM secret_version WHERE kid IS NOT NULL GROUP BY kid ORDER BY max(created_at), kid"


def upgrade():
    keys = op.create_table(
        "master_key",
        sa.Column("kid", sa.String(length=16), nullable=False),
        sa.Column("place", sa.BigInteger(), nullable=False),
        sa.Column("adopted_at", sa.BigInteger(), nullable=False),
        sa.Column("retired_at", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("kid", name="pk_master_key"),
        sa.UniqueConstraint("place", name="uq_master_key_place"),
    )
    kids = op.get_bind().execute(sa.text(KIDS)).scalars().all()
    now, request_id = time.time_ns() // 1_000_000, str(new_id())
    for place, kid in enumerate(kids, start=1):
        op.execute(keys.insert().values(kid=kid, place=place, adopted_at=now))
        op.execute(
            RECORD.insert().values(
                id=new_id(),
                created_at=now,
                action="keyring.adopt",
                outcome="success",
                actor_subject="system",
                request_id=request_id,
                detail=json.dumps({"kid": kid, "by": "migration"}, separators=(",", ":")),
            )
        )


def downgrade():
    # The records stay: what was adopted was.
    op.drop_table("master_key")
