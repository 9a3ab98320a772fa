"""The first schema, with an audit table that only grows."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
lost = "everything: projects, secrets with all their versions, identities, groups, grants and the audit log"

POSTGRESQL_APPEND_ONLY = (
    """
    CREATE FUNCTION audit_record_is_append_only() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION 'audit_record is append-only'; END $$
    """,
    """
    CREATE TRIGGER audit_record_no_change BEFORE UPDATE OR DELETE ON audit_record
    FOR EACH ROW EXECUTE FUNCTION audit_record_is_append_only()
    """,
    """
    CREATE TRIGGER audit_record_no_truncate BEFORE TRUNCATE ON audit_record
    FOR EACH STATEMENT EXECUTE FUNCTION audit_record_is_append_only()
    """,
)
# INSERT OR REPLACE deletes without firing the delete trigger: it is caught as an insert over what is there.
SQLITE_APPEND_ONLY = (
    """
    CREATE TRIGGER audit_record_no_update BEFORE UPDATE ON audit_record
    BEGIN SELECT RAISE(ABORT, 'audit_record is append-only'); END
    """,
    """
    CREATE TRIGGER audit_record_no_delete BEFORE DELETE ON audit_record
    BEGIN SELECT RAISE(ABORT, 'audit_record is append-only'); END
    """,
    """
    CREATE TRIGGER audit_record_no_replace BEFORE INSERT ON audit_record
    WHEN EXISTS (SELECT 1 FROM audit_record WHERE id = NEW.id)
    BEGIN SELECT RAISE(ABORT, 'audit_record is append-only'); END
    """,
)


def where(condition):
    """A partial index on both databases."""
    return {"postgresql_where": sa.text(condition), "sqlite_where": sa.text(condition)}


def upgrade():
    op.create_table(
        "absence",
        sa.Column("slot", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("noise", sa.String(length=36), nullable=False),
        sa.PrimaryKeyConstraint("slot", name="pk_absence"),
    )
    op.create_table(
        "audit_record",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("action", sa.String(length=64), nullable=False),
        sa.Column("outcome", sa.String(length=16), nullable=False),
        sa.Column("identity_id", sa.Uuid(), nullable=True),
        sa.Column("actor_kind", sa.String(length=16), nullable=True),
        sa.Column("actor_subject", sa.Text(), nullable=False),
        sa.Column("project_id", sa.Uuid(), nullable=True),
        sa.Column("environment_id", sa.Uuid(), nullable=True),
        sa.Column("request_id", sa.String(length=64), nullable=False),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("detail", sa.Text(), nullable=True),
        sa.CheckConstraint("outcome IN ('success', 'denied')", name=op.f("ck_audit_record_outcome")),
        sa.PrimaryKeyConstraint("id", name="pk_audit_record"),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_audit_record_action", "audit_record", ["action", "id"])
    op.create_index("ix_audit_record_actor_subject", "audit_record", ["actor_subject", "id"])
    op.create_index("ix_audit_record_denied", "audit_record", ["id"], **where("outcome = 'denied'"))
    op.create_index("ix_audit_record_environment_id", "audit_record", ["environment_id", "id"])
    op.create_index("ix_audit_record_project_id", "audit_record", ["project_id", "id"])
    op.create_table(
        "group",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("slug", sa.String(length=64), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("description", sa.Text(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_group"),
        sa.UniqueConstraint("slug", name="uq_group_slug"),
    )
    op.create_table(
        "identity",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("display_name", sa.Text(), nullable=True),
        sa.Column("disabled", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("last_seen_at", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("kind IN ('user', 'service')", name=op.f("ck_identity_kind")),
        sa.PrimaryKeyConstraint("id", name="pk_identity"),
        sa.UniqueConstraint("kind", "subject", name="uq_identity_kind_subject"),
        postgresql_with={"fillfactor": 70},
    )
    op.create_table(
        "project",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("slug", sa.String(length=64), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("description", sa.Text(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_project"),
        sa.UniqueConstraint("slug", name="uq_project_slug"),
    )
    op.create_table(
        "environment",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("project_id", sa.Uuid(), nullable=False),
        sa.Column("slug", sa.String(length=64), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("description", sa.Text(), nullable=True),
        sa.Column("rev", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["project_id"], ["project.id"], name="fk_environment_project_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_environment"),
        sa.UniqueConstraint("project_id", "slug", name="uq_environment_project_id_slug"),
        postgresql_with={"fillfactor": 70},
    )
    op.create_table(
        "group_member",
        sa.Column("group_id", sa.Uuid(), nullable=False),
        sa.Column("identity_id", sa.Uuid(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["group_id"], ["group.id"], name="fk_group_member_group_id", ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["identity_id"], ["identity.id"], name="fk_group_member_identity_id"),
        sa.PrimaryKeyConstraint("group_id", "identity_id", name="pk_group_member"),
    )
    op.create_index("ix_group_member_identity_id", "group_member", ["identity_id"])
    op.create_table(
        "grant",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("identity_id", sa.Uuid(), nullable=True),
        sa.Column("group_id", sa.Uuid(), nullable=True),
        sa.Column("scope_type", sa.String(length=16), nullable=False),
        sa.Column("project_id", sa.Uuid(), nullable=True),
        sa.Column("environment_id", sa.Uuid(), nullable=True),
        sa.Column("role", sa.String(length=16), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("created_by", sa.Uuid(), nullable=True),
        sa.CheckConstraint(
            "(scope_type = 'global' AND project_id IS NULL AND environment_id IS NULL) OR (scope_type = 'project' AND project_id IS NOT NULL AND environment_id IS NULL) OR (scope_type = 'environment' AND project_id IS NOT NULL AND environment_id IS NOT NULL)",
            name=op.f("ck_grant_scope"),
        ),
        sa.CheckConstraint("role IN ('reader', 'writer', 'admin')", name=op.f("ck_grant_role")),
        sa.CheckConstraint("(identity_id IS NULL) <> (group_id IS NULL)", name=op.f("ck_grant_holder")),
        sa.ForeignKeyConstraint(
            ["environment_id"], ["environment.id"], name="fk_grant_environment_id", ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["group_id"], ["group.id"], name="fk_grant_group_id", ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["identity_id"], ["identity.id"], name="fk_grant_identity_id"),
        sa.ForeignKeyConstraint(
            ["project_id"], ["project.id"], name="fk_grant_project_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_grant"),
    )
    op.create_index("ix_grant_environment_id", "grant", ["environment_id"])
    op.create_index(
        "ix_grant_global_admin",
        "grant",
        ["identity_id", "group_id"],
        **where("scope_type = 'global' AND role = 'admin'"),
    )
    op.create_index("ix_grant_group_id", "grant", ["group_id"])
    op.create_index("ix_grant_identity_id", "grant", ["identity_id"])
    op.create_index("ix_grant_project_id", "grant", ["project_id"])
    op.create_index(
        "uq_grant_group_id_environment",
        "grant",
        ["group_id", "environment_id", "role"],
        unique=True,
        **where("group_id IS NOT NULL AND scope_type = 'environment'"),
    )
    op.create_index(
        "uq_grant_group_id_global",
        "grant",
        ["group_id", "role"],
        unique=True,
        **where("group_id IS NOT NULL AND scope_type = 'global'"),
    )
    op.create_index(
        "uq_grant_group_id_project",
        "grant",
        ["group_id", "project_id", "role"],
        unique=True,
        **where("group_id IS NOT NULL AND scope_type = 'project'"),
    )
    op.create_index(
        "uq_grant_identity_id_environment",
        "grant",
        ["identity_id", "environment_id", "role"],
        unique=True,
        **where("identity_id IS NOT NULL AND scope_type = 'environment'"),
    )
    op.create_index(
        "uq_grant_identity_id_global",
        "grant",
        ["identity_id", "role"],
        unique=True,
        **where("identity_id IS NOT NULL AND scope_type = 'global'"),
    )
    op.create_index(
        "uq_grant_identity_id_project",
        "grant",
        ["identity_id", "project_id", "role"],
        unique=True,
        **where("identity_id IS NOT NULL AND scope_type = 'project'"),
    )
    op.create_table(
        "secret",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("environment_id", sa.Uuid(), nullable=False),
        sa.Column(
            "key",
            sa.String(length=256).with_variant(sa.String(length=256, collation="C"), "postgresql"),
            nullable=False,
        ),
        sa.Column("description", sa.Text(), nullable=True),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("deleted", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["environment_id"], ["environment.id"], name="fk_secret_environment_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_secret"),
        sa.UniqueConstraint("environment_id", "key", name="uq_secret_environment_id_key"),
        postgresql_with={"fillfactor": 70},
    )
    op.create_table(
        "secret_version",
        sa.Column(
            "secret_id",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            autoincrement=False,
            nullable=False,
        ),
        sa.Column("version", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("rev", sa.BigInteger(), nullable=False),
        sa.Column("envelope", sa.LargeBinary(), nullable=True),
        sa.Column("kid", sa.String(length=16), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("created_by", sa.Uuid(), nullable=True),
        sa.CheckConstraint("(envelope IS NULL) = (kid IS NULL)", name=op.f("ck_secret_version_tombstone")),
        sa.ForeignKeyConstraint(
            ["secret_id"], ["secret.id"], name="fk_secret_version_secret_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("secret_id", "version", name="pk_secret_version"),
    )
    op.create_index("ix_secret_version_kid", "secret_version", ["kid", "secret_id", "version"])
    for statement in SQLITE_APPEND_ONLY if op.get_bind().dialect.name == "sqlite" else POSTGRESQL_APPEND_ONLY:
        op.execute(statement)


def downgrade():
    for table in (
        "secret_version",
        "secret",
        "grant",
        "group_member",
        "environment",
        "project",
        "identity",
        "group",
        "audit_record",
        "absence",
    ):
        op.drop_table(table)
    if op.get_bind().dialect.name == "postgresql":
        op.execute("DROP FUNCTION audit_record_is_append_only()")
