"""What was sealed and exported may be pruned: by the role that migrates alone, and by one function (contract 7.5).

Records go from the oldest on, by their positions in the log; these, with the hashes of their leaves, stay. The
rule is the same on both databases: a record may go that lies below `audit_pruned.position` and is older than
`audit_pruned.complete_since`, and the first of these never passes what was exported.
"""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
lost = "how far the log was exported and pruned, so that nothing tells since when it is whole"

REFUSED = "only what is sealed and exported is pruned, by whoever migrates"
IS_PRUNED = """EXISTS (
    SELECT 1 FROM audit_seal JOIN audit_pruned ON audit_seal.position < audit_pruned.position
    WHERE audit_seal.record_id = {record_id} AND {created_at} < audit_pruned.complete_since
)"""
TABLES = {"audit_record": "OLD.id", "audit_key": "OLD.record_id"}
#: What is never written, with `OLD` where there was a row.
BEYOND_THE_HEAD = "NEW.size > coalesce((SELECT size FROM audit_head), 0)"
BEYOND_THE_EXPORT = "NEW.position > coalesce((SELECT size FROM audit_export), 0)"
SMALLER = {
    "audit_export": "NEW.size < OLD.size",
    "audit_pruned": "NEW.position < OLD.position OR NEW.complete_since < OLD.complete_since",
}
BEYOND = {"audit_export": BEYOND_THE_HEAD, "audit_pruned": BEYOND_THE_EXPORT}

#: A batch: as many records as have, with what they say of keys, `most` rows; one in any case.
POSTGRESQL = (
    """
    CREATE FUNCTION audit_may_prune() RETURNS boolean LANGUAGE sql STABLE AS $$
        SELECT coalesce(current_setting('secretsvc.pruning', true) = 'on', false) AND current_user =
            (SELECT pg_get_userbyid(relowner) FROM pg_class WHERE oid = 'audit_record'::regclass)
    $$
    """,
    f"""
    CREATE FUNCTION audit_retention_holds() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION '{REFUSED}'; END $$
    """,
    *(
        f"""
        CREATE OR REPLACE FUNCTION {table}_is_append_only() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            IF TG_OP = 'DELETE' THEN
                IF audit_may_prune() AND {IS_PRUNED.format(record_id=record_id, created_at="OLD.created_at")}
                THEN RETURN OLD; END IF;
            END IF;
            RAISE EXCEPTION '{table} is append-only';
        END $$
        """
        for table, record_id in TABLES.items()
    ),
    f"""
    CREATE FUNCTION audit_export_holds() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF {BEYOND_THE_HEAD} THEN RAISE EXCEPTION '{REFUSED}'; END IF;
        RETURN NEW;
    END $$
    """,
    f"""
    CREATE FUNCTION audit_pruned_holds() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF {BEYOND_THE_EXPORT} OR NOT audit_may_prune() THEN RAISE EXCEPTION '{REFUSED}'; END IF;
        RETURN NEW;
    END $$
    """,
    *(
        statement
        for table, condition in SMALLER.items()
        for statement in (
            f"""
            CREATE TRIGGER {table}_holds BEFORE INSERT OR UPDATE ON {table}
            FOR EACH ROW EXECUTE FUNCTION {table}_holds()
            """,
            f"""
            CREATE TRIGGER {table}_no_return BEFORE UPDATE ON {table}
            FOR EACH ROW WHEN ({condition}) EXECUTE FUNCTION audit_retention_holds()
            """,
            f"""
            CREATE TRIGGER {table}_no_delete BEFORE DELETE ON {table}
            FOR EACH ROW EXECUTE FUNCTION audit_retention_holds()
            """,
            f"""
            CREATE TRIGGER {table}_no_truncate BEFORE TRUNCATE ON {table}
            FOR EACH STATEMENT EXECUTE FUNCTION audit_retention_holds()
            """,
        )
    ),
)
PRUNE = """
    CREATE FUNCTION audit_prune(up_to bigint, before bigint, most integer) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = {schema}, pg_temp AS $$
    DECLARE beginning bigint; ending bigint; gone uuid[];
    BEGIN
        IF up_to > coalesce((SELECT size FROM audit_export), 0) THEN RAISE EXCEPTION '{refused}'; END IF;
        PERFORM set_config('secretsvc.pruning', 'on', true);
        INSERT INTO audit_pruned AS at (id, position, complete_since) VALUES (1, 0, before)
        ON CONFLICT (id) DO UPDATE SET complete_since = greatest(at.complete_since, before)
        RETURNING at.position INTO beginning;
        SELECT coalesce(max(batch.position), beginning) + 1, array_agg(batch.record_id) INTO ending, gone FROM (
            SELECT s.position, s.record_id, s.position - beginning AS others,
            sum(1 + (SELECT count(*) FROM audit_key k WHERE k.record_id = s.record_id))
            OVER (ORDER BY s.position) AS total FROM audit_seal s
            WHERE s.position >= beginning AND s.position < least(up_to, beginning + least(most, 1000))
        ) batch WHERE batch.total <= least(most, 1000) OR batch.others = 0;
        IF gone IS NOT NULL THEN
            UPDATE audit_pruned SET position = ending;
            IF EXISTS (SELECT 1 FROM audit_record r WHERE r.id = ANY (gone) AND r.created_at >= before) THEN
                RAISE EXCEPTION '{refused}';
            END IF;
            DELETE FROM audit_key k WHERE k.record_id = ANY (gone);
            DELETE FROM audit_record r WHERE r.id = ANY (gone);
            beginning := ending;
        END IF;
        PERFORM set_config('secretsvc.pruning', 'off', true);
        RETURN beginning;
    END $$
"""
REFUSE = f"BEGIN SELECT RAISE(ABORT, '{REFUSED}'); END"
SQLITE = (
    *(f"DROP TRIGGER {table}_no_delete" for table in TABLES),
    *(
        f"CREATE TRIGGER {table}_no_delete BEFORE DELETE ON {table}"
        f" WHEN NOT {IS_PRUNED.format(record_id=record_id, created_at='OLD.created_at')}"
        f" BEGIN SELECT RAISE(ABORT, '{table} is append-only'); END"
        for table, record_id in TABLES.items()
    ),
    *(
        statement
        for table in BEYOND
        for statement in (
            f"CREATE TRIGGER {table}_holds BEFORE INSERT ON {table} WHEN {BEYOND[table]} {REFUSE}",
            f"CREATE TRIGGER {table}_no_return BEFORE UPDATE ON {table}"
            f" WHEN {BEYOND[table]} OR {SMALLER[table]} {REFUSE}",
            f"CREATE TRIGGER {table}_no_delete BEFORE DELETE ON {table} {REFUSE}",
            f"CREATE TRIGGER {table}_no_replace BEFORE INSERT ON {table}"
            f" WHEN EXISTS (SELECT 1 FROM {table} WHERE id = NEW.id) {REFUSE}",
        )
    ),
)


def upgrade():
    op.create_table(
        "audit_export",
        sa.Column("id", sa.SmallInteger(), autoincrement=False, nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("root", sa.LargeBinary(), nullable=False),
        sa.Column("exported_at", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("id = 1", name=op.f("ck_audit_export_single")),
        sa.PrimaryKeyConstraint("id", name="pk_audit_export"),
    )
    op.create_table(
        "audit_pruned",
        sa.Column("id", sa.SmallInteger(), autoincrement=False, nullable=False),
        sa.Column("position", sa.BigInteger(), nullable=False),
        sa.Column("complete_since", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("id = 1", name=op.f("ck_audit_pruned_single")),
        sa.PrimaryKeyConstraint("id", name="pk_audit_pruned"),
    )
    bind = op.get_bind()
    if bind.dialect.name == "sqlite":
        for statement in SQLITE:
            op.execute(statement)
        return
    for statement in POSTGRESQL:
        op.execute(statement)
    schema = bind.execute(sa.text("SELECT quote_ident(current_schema())")).scalar_one()
    op.execute(PRUNE.format(schema=schema, refused=REFUSED))
    op.execute("REVOKE ALL ON FUNCTION audit_prune(bigint, bigint, integer) FROM PUBLIC")


def downgrade():
    is_sqlite = op.get_bind().dialect.name == "sqlite"
    for table in TABLES:
        refuse = f"'{table} is append-only'"
        if is_sqlite:
            op.execute(f"DROP TRIGGER {table}_no_delete")
            op.execute(
                f"CREATE TRIGGER {table}_no_delete BEFORE DELETE ON {table}"
                f" BEGIN SELECT RAISE(ABORT, {refuse}); END"
            )
        else:
            op.execute(
                f"CREATE OR REPLACE FUNCTION {table}_is_append_only() RETURNS trigger LANGUAGE plpgsql AS"
                f" $$ BEGIN RAISE EXCEPTION {refuse}; END $$"
            )
    for table in ("audit_pruned", "audit_export"):
        op.drop_table(table)
    if not is_sqlite:
        op.execute("DROP FUNCTION audit_prune(bigint, bigint, integer)")
        for name in ("audit_pruned_holds", "audit_export_holds", "audit_retention_holds", "audit_may_prune"):
            op.execute(f"DROP FUNCTION {name}()")
