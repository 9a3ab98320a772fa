"""What the log needs of versions whose environment was deleted and whose values are elsewhere (contract 5.11).

Of what was deleted before this nothing is left.
"""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
lost = "who met the values of environments that were deleted"

KEY = sa.String(length=256).with_variant(sa.String(length=256, collation="C"), "postgresql")
# An environment takes its history along. What is elsewhere by a copy is a value that was met here, too.
KEEP_DEPARTED = f"""
    INSERT INTO departed_version (environment_id, secret_id, "key", version, rev, next_rev, created_at,
        created_by, origin_environment_id, origin_secret_id, origin_version)
    SELECT OLD.id, own.secret_id, secret."key", own.version, own.rev, coalesce((
            SELECT min(later.rev) FROM secret_version later
            WHERE later.secret_id = own.secret_id AND later.rev > own.rev
        ), {2**62}), own.created_at, own.created_by, coalesce(own.origin_environment_id, OLD.id),
        coalesce(own.origin_secret_id, own.secret_id), coalesce(own.origin_version, own.version)
    FROM secret JOIN secret_version own ON own.secret_id = secret.id
    WHERE secret.environment_id = OLD.id AND own.kid IS NOT NULL
        AND (own.origin_environment_id <> OLD.id OR EXISTS (
            SELECT 1 FROM secret_version made JOIN secret there ON there.id = made.secret_id
            WHERE made.origin_secret_id = coalesce(own.origin_secret_id, own.secret_id)
                AND made.origin_version = coalesce(own.origin_version, own.version)
                AND made.origin_environment_id = coalesce(own.origin_environment_id, OLD.id)
                AND there.environment_id <> OLD.id
        ));
"""
POSTGRESQL_DEPARTURE = (
    f"""
    CREATE FUNCTION environment_departs() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN {KEEP_DEPARTED} RETURN OLD; END $$
    """,
    """
    CREATE TRIGGER environment_departs BEFORE DELETE ON environment
    FOR EACH ROW EXECUTE FUNCTION environment_departs()
    """,
)
SQLITE_DEPARTURE = (
    f"CREATE TRIGGER environment_departs BEFORE DELETE ON environment BEGIN {KEEP_DEPARTED} END",
)


def upgrade():
    op.create_table(
        "departed_version",
        sa.Column("environment_id", sa.Uuid(), nullable=False),
        sa.Column("secret_id", sa.BigInteger(), nullable=False),
        sa.Column("key", KEY, nullable=False),
        *(
            sa.Column(name, sa.BigInteger(), nullable=False)
            for name in ("version", "rev", "next_rev", "created_at")
        ),
        sa.Column("created_by", sa.Uuid(), nullable=True),
        sa.Column("origin_environment_id", sa.Uuid(), nullable=False),
        sa.Column("origin_secret_id", sa.BigInteger(), nullable=False),
        sa.Column("origin_version", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint(
            "origin_secret_id",
            "origin_version",
            "environment_id",
            "secret_id",
            "version",
            name="pk_departed_version",
        ),
        sqlite_with_rowid=False,
    )
    for statement in SQLITE_DEPARTURE if op.get_bind().dialect.name == "sqlite" else POSTGRESQL_DEPARTURE:
        op.execute(statement)


def downgrade():
    if op.get_bind().dialect.name == "postgresql":
        op.execute("DROP TRIGGER environment_departs ON environment")
        op.execute("DROP FUNCTION environment_departs()")
    else:
        op.execute("DROP TRIGGER environment_departs")
    op.drop_table("departed_version")
