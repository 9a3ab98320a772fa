"""Revisions are rows, a version is found by its revision, and environments may be protected."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
lost = "the action and the reason of each revision, and which environments are protected"

# Of each revision that wrote a version: all that one write made have its time and its author.
FROM_VERSIONS = """
    INSERT INTO revision (environment_id, rev, action, reason, created_at, created_by)
    SELECT DISTINCT secret.environment_id, version.rev, NULL, NULL, version.created_at, version.created_by
    FROM secret_version version JOIN secret ON secret.id = version.secret_id
    WHERE true ON CONFLICT DO NOTHING
"""
# One that changed descriptions alone wrote none: only its record tells of it.
FROM_RECORDS = """
    INSERT INTO revision (environment_id, rev, action, reason, created_at, created_by)
    SELECT environment_id, rev, NULL, NULL, created_at, identity_id FROM (
        SELECT record.environment_id, {} AS rev, record.created_at, record.identity_id,
            environment.rev AS newest
        FROM audit_record record JOIN environment ON environment.id = record.environment_id
        WHERE record.action = 'secret.batch' AND record.outcome = 'success'
            AND record.detail LIKE '{{"rev":%,"changes":[],"described":%'
    ) found
    WHERE rev BETWEEN 1 AND newest ON CONFLICT DO NOTHING
"""
REV_OF_RECORD = {
    "sqlite": "CAST(substr(record.detail, 8) AS INTEGER)",
    "postgresql": """CAST(substring(record.detail from '^{"rev":([0-9]{1,16}),') AS bigint)""",
}


def upgrade():
    op.add_column(
        "environment", sa.Column("protected", sa.Boolean(), server_default=sa.false(), nullable=False)
    )
    op.create_index("ix_secret_version_rev", "secret_version", ["secret_id", "rev", "version"])
    op.create_table(
        "revision",
        sa.Column("environment_id", sa.Uuid(), nullable=False),
        sa.Column("rev", sa.BigInteger(), nullable=False),
        sa.Column("action", sa.String(length=64), nullable=True),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("created_by", sa.Uuid(), nullable=True),
        sa.ForeignKeyConstraint(
            ["environment_id"], ["environment.id"], name="fk_revision_environment_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("environment_id", "rev", name="pk_revision"),
        sqlite_with_rowid=False,
    )
    op.execute(FROM_VERSIONS)
    op.execute(FROM_RECORDS.format(REV_OF_RECORD[op.get_bind().dialect.name]))


def downgrade():
    op.drop_table("revision")
    op.drop_index("ix_secret_version_rev", "secret_version")
    op.drop_column("environment", "protected")
