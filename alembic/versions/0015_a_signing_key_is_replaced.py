"""The key that signs the log may be replaced, by whoever migrates, if a note on that stays (contract 7.2).

The former keys are in a table that only grows. A key is put there while it still signs; then, and only then, may
another take its place, which is none of the former ones.
"""

import base64
import json

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"
lost = "which keys signed the log before, as far as their records are pruned: what these signed is then nobody's"

REFUSED = "the sealed log only grows"
REPLACED = "audit.replace_key"
MAY_CHANGE = """
    EXISTS (SELECT 1 FROM audit_former_signer WHERE public_key = OLD.public_key)
    AND NOT EXISTS (SELECT 1 FROM audit_former_signer WHERE public_key = NEW.public_key)
"""
SIGNS = "EXISTS (SELECT 1 FROM audit_signer WHERE public_key = NEW.public_key)"
POSTGRESQL = (
    f"""
    CREATE FUNCTION audit_signer_holds() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF {MAY_CHANGE} THEN RETURN NEW; END IF;
        RAISE EXCEPTION '{REFUSED}';
    END $$
    """,
    f"""
    CREATE FUNCTION audit_former_signer_holds() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF {SIGNS} AND current_user =
            (SELECT pg_get_userbyid(relowner) FROM pg_class WHERE oid = 'audit_signer'::regclass)
        THEN RETURN NEW; END IF;
        RAISE EXCEPTION 'only whoever migrates replaces the signing key';
    END $$
    """,
    "DROP TRIGGER audit_signer_no_change ON audit_signer",
    """
    CREATE TRIGGER audit_signer_no_change BEFORE UPDATE ON audit_signer
    FOR EACH ROW WHEN (NEW.public_key <> OLD.public_key) EXECUTE FUNCTION audit_signer_holds()
    """,
    """
    CREATE TRIGGER audit_former_signer_holds BEFORE INSERT ON audit_former_signer
    FOR EACH ROW EXECUTE FUNCTION audit_former_signer_holds()
    """,
    """
    CREATE TRIGGER audit_former_signer_no_change BEFORE UPDATE OR DELETE ON audit_former_signer
    FOR EACH ROW EXECUTE FUNCTION audit_seal_is_append_only()
    """,
    """
    CREATE TRIGGER audit_former_signer_no_truncate BEFORE TRUNCATE ON audit_former_signer
    FOR EACH STATEMENT EXECUTE FUNCTION audit_seal_is_append_only()
    """,
)
REFUSE = f"BEGIN SELECT RAISE(ABORT, '{REFUSED}'); END"
CHANGED = "NEW.public_key <> OLD.public_key"
SQLITE = (
    "DROP TRIGGER audit_signer_no_change",
    f"CREATE TRIGGER audit_signer_no_change BEFORE UPDATE ON audit_signer"
    f" WHEN {CHANGED} AND NOT ({MAY_CHANGE}) {REFUSE}",
    f"CREATE TRIGGER audit_former_signer_holds BEFORE INSERT ON audit_former_signer WHEN NOT {SIGNS} {REFUSE}",
    f"CREATE TRIGGER audit_former_signer_no_update BEFORE UPDATE ON audit_former_signer {REFUSE}",
    f"CREATE TRIGGER audit_former_signer_no_delete BEFORE DELETE ON audit_former_signer {REFUSE}",
    f"CREATE TRIGGER audit_former_signer_no_replace BEFORE INSERT ON audit_former_signer"
    f" WHEN EXISTS (SELECT 1 FROM audit_former_signer WHERE public_key = NEW.public_key) {REFUSE}",
)


def upgrade():
    former = op.create_table(
        "audit_former_signer",
        sa.Column("public_key", sa.LargeBinary(), nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("public_key", name="pk_audit_former_signer"),
    )
    # Of before a downgrade.
    told = sa.text("SELECT detail, created_at FROM audit_record WHERE action = :action ORDER BY id")
    for detail, created_at in op.get_bind().execute(told, {"action": REPLACED}).all():
        found = json.loads(detail)
        public_key = base64.b64decode(found["old"].split("+", 2)[2])[1:]
        row = {"public_key": public_key, "note": found["note"], "created_at": created_at}
        op.get_bind().execute(sa.insert(former).values(row))
    for statement in SQLITE if op.get_bind().dialect.name == "sqlite" else POSTGRESQL:
        op.execute(statement)


def downgrade():
    op.drop_table("audit_former_signer")
    if op.get_bind().dialect.name == "sqlite":
        op.execute("DROP TRIGGER audit_signer_no_change")
        op.execute(f"CREATE TRIGGER audit_signer_no_change BEFORE UPDATE ON audit_signer WHEN {CHANGED} {REFUSE}")
        return
    op.execute("DROP TRIGGER audit_signer_no_change ON audit_signer")
    op.execute(
        "CREATE TRIGGER audit_signer_no_change BEFORE UPDATE ON audit_signer FOR EACH ROW"
        f" WHEN ({CHANGED}) EXECUTE FUNCTION audit_seal_is_append_only()"
    )
    for name in ("audit_former_signer_holds", "audit_signer_holds"):
        op.execute(f"DROP FUNCTION {name}()")
