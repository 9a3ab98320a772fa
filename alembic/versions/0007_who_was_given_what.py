"""Which keys a record tells of, what it gave, and which version first had a value (contract 5.11).

What a rollback wrote before this stays a value of its own: its record does not name the version.
"""

import json
from uuid import UUID

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
lost = "which keys a copy took, and where copied, renamed and rolled back values came from"

KEY = sa.String(length=256).with_variant(sa.String(length=256, collation="C"), "postgresql")
#: The indexes over the rows whose first column here is set.
PARTIAL = (
    ("key", "ix_audit_record_key", "audit_record", ["environment_id", "key", "id"]),
    (
        "given",
        "ix_audit_record_given",
        "audit_record",
        ["identity_id", "environment_id", "key", "given", "created_at"],
    ),
    ("copied_from", "ix_revision_copied_from", "revision", ["environment_id"]),
    (
        "origin_secret_id",
        "ix_secret_version_origin",
        "secret_version",
        ["origin_secret_id", "origin_version", "secret_id", "version"],
    ),
)
POSTGRESQL_APPEND_ONLY = (
    """
    CREATE FUNCTION audit_key_is_append_only() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION 'audit_key is append-only'; END $$
    """,
    """
    CREATE TRIGGER audit_key_no_change BEFORE UPDATE OR DELETE ON audit_key
    FOR EACH ROW EXECUTE FUNCTION audit_key_is_append_only()
    """,
    """
    CREATE TRIGGER audit_key_no_truncate BEFORE TRUNCATE ON audit_key
    FOR EACH STATEMENT EXECUTE FUNCTION audit_key_is_append_only()
    """,
)
SQLITE_APPEND_ONLY = (
    """
    CREATE TRIGGER audit_key_no_update BEFORE UPDATE ON audit_key
    BEGIN SELECT RAISE(ABORT, 'audit_key is append-only'); END
    """,
    """
    CREATE TRIGGER audit_key_no_delete BEFORE DELETE ON audit_key
    BEGIN SELECT RAISE(ABORT, 'audit_key is append-only'); END
    """,
    """
    CREATE TRIGGER audit_key_no_replace BEFORE INSERT ON audit_key
    WHEN EXISTS (SELECT 1 FROM audit_key
        WHERE record_id = NEW.record_id AND key = NEW.key)
    BEGIN SELECT RAISE(ABORT, 'audit_key is append-only'); END
    """,
)
# As 0001 has it: records are changed here, and nowhere else.
RECORDS_MAY_CHANGE = {
    "sqlite": "DROP TRIGGER audit_record_no_update",
    "postgresql": "ALTER TABLE audit_record DISABLE TRIGGER audit_record_no_change",
}
RECORDS_MAY_NOT = {
    "sqlite": """
        CREATE TRIGGER audit_record_no_update BEFORE UPDATE ON audit_record
        BEGIN SELECT RAISE(ABORT, 'audit_record is append-only'); END
    """,
    "postgresql": "ALTER TABLE audit_record ENABLE TRIGGER audit_record_no_change",
}
MEMBER = {"sqlite": "json_extract(detail, '$.{}')", "postgresql": "(detail::json ->> '{}')"}
REVEALS = """
    UPDATE audit_record SET key = {key}, given = CAST({version} AS bigint)
    WHERE action = 'secret.reveal' AND outcome = 'success' AND detail LIKE '{{"key":"%'
"""
# A record does not say whether its revision was asked for; what matters is that those of '' never fall.
EXPORTS = """
    UPDATE audit_record SET given = found.rev, key = CASE WHEN found.rev < found.highest THEN '@' ELSE '' END
    FROM (
        SELECT id, rev, max(rev) OVER (PARTITION BY identity_id, environment_id ORDER BY id) AS highest
        FROM (
            SELECT id, identity_id, environment_id, CAST({rev} AS bigint) AS rev FROM audit_record
            WHERE action = 'secret.export' AND outcome = 'success' AND detail LIKE '{{"rev":%'
                AND detail NOT LIKE '%"copied_to":%'
        ) export
    ) found WHERE audit_record.id = found.id
"""
REVISIONS = """
    UPDATE revision SET record_id = found.id
    FROM (
        SELECT id, environment_id, CAST({rev} AS bigint) AS rev FROM audit_record
        WHERE outcome = 'success' AND action LIKE 'secret.%' AND detail LIKE '{{"rev":%,"changes":[%'
    ) found WHERE revision.environment_id = found.environment_id AND revision.rev = found.rev
"""
#: Of what is read one by one, in the order in which it happened.
TOLD = """
    SELECT id, environment_id, identity_id, created_at, action, detail FROM audit_record
    WHERE outcome = 'success' AND (action IN ('secret.rename', 'secret.restore', 'secret.copy')
        OR action = 'secret.export' AND detail LIKE '%"copied_to":%'
        OR action IN ('secret.batch', 'secret.import') AND detail LIKE '%"described":%')
    ORDER BY id
"""

record = sa.table(
    "audit_record",
    *(sa.column(name, sa.Uuid()) for name in ("id", "environment_id", "identity_id")),
    *(sa.column(name) for name in ("created_at", "action", "detail")),
)
audit_key = sa.table(
    "audit_key",
    *(sa.column(name, sa.Uuid()) for name in ("environment_id", "record_id", "identity_id")),
    *(sa.column(name) for name in ("key", "given", "created_at")),
)
revisions = sa.table(
    "revision",
    sa.column("environment_id", sa.Uuid()),
    sa.column("rev"),
    sa.column("copied_from", sa.Uuid()),
)
secret = sa.table("secret", sa.column("id"), sa.column("environment_id", sa.Uuid()), sa.column("key"))
version = sa.table(
    "secret_version",
    *(sa.column(name) for name in ("secret_id", "version", "rev", "kid")),
    sa.column("origin_environment_id", sa.Uuid()),
    *(sa.column(name) for name in ("origin_secret_id", "origin_version")),
)


def upgrade():
    connection = op.get_bind()
    dialect = connection.dialect.name
    _extend()
    op.execute(RECORDS_MAY_CHANGE[dialect])
    member = MEMBER[dialect]
    op.execute(REVEALS.format(key=member.format("key"), version=member.format("version")))
    for statement in (EXPORTS, REVISIONS):
        op.execute(statement.format(rev=member.format("rev")))
    op.execute(RECORDS_MAY_NOT[dialect])
    for column, name, table, columns in PARTIAL:
        condition = sa.text(f"{column} IS NOT NULL")
        op.create_index(name, table, columns, postgresql_where=condition, sqlite_where=condition)
    op.create_index("ix_revision_created_by", "revision", ["created_by", "environment_id"])
    told = sa.text(TOLD).columns(*record.c)
    for row in connection.execute(told).all():
        _take(connection, row, json.loads(row.detail))
    for statement in SQLITE_APPEND_ONLY if dialect == "sqlite" else POSTGRESQL_APPEND_ONLY:
        op.execute(statement)


def _extend():
    op.add_column("audit_record", sa.Column("key", KEY, nullable=True))
    op.add_column("audit_record", sa.Column("given", sa.BigInteger(), nullable=True))
    op.add_column("revision", sa.Column("record_id", sa.Uuid(), nullable=True))
    op.add_column("revision", sa.Column("copied_from", sa.Uuid(), nullable=True))
    op.add_column("secret_version", sa.Column("origin_environment_id", sa.Uuid(), nullable=True))
    op.add_column("secret_version", sa.Column("origin_secret_id", sa.BigInteger(), nullable=True))
    op.add_column("secret_version", sa.Column("origin_version", sa.BigInteger(), nullable=True))
    op.create_table(
        "audit_key",
        sa.Column("record_id", sa.Uuid(), nullable=False),
        sa.Column("key", KEY, nullable=False),
        sa.Column("environment_id", sa.Uuid(), nullable=False),
        sa.Column("identity_id", sa.Uuid(), nullable=True),
        sa.Column("given", sa.BigInteger(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("record_id", "key", name="pk_audit_key"),
        sqlite_with_rowid=False,
    )
    op.create_index(
        "ix_audit_key_environment_id",
        "audit_key",
        ["environment_id", "key", "identity_id", "given", "created_at"],
    )


def _take(connection, row, detail):
    """What one record tells beside its own columns."""
    if row.action == "secret.export":
        given = {
            key: getattr(_in_force(connection, row.environment_id, key, detail["rev"]), "version", None)
            for key in detail["keys"]
        }
        _concern(connection, row, given)
        return
    if "described" in detail:
        _concern(connection, row, dict.fromkeys(detail["described"]))
    written = {one["key"]: one["version"] for one in detail["changes"] if one["kind"] != "removed"}
    if row.action == "secret.rename":
        (source,) = [one for one in detail["changes"] if one["kind"] == "removed"]
        _descend(connection, row, written, row.environment_id, detail["rev"] - 1, source["key"])
    elif row.action == "secret.restore":
        _descend(connection, row, written, row.environment_id, detail["to_rev"])
    elif row.action == "secret.copy":
        origin = UUID(detail["from"]["environment_id"])
        _descend(connection, row, written, origin, detail["from"]["rev"])
        if origin != row.environment_id:
            here = (revisions.c.environment_id == row.environment_id) & (revisions.c.rev == detail["rev"])
            connection.execute(sa.update(revisions).where(here).values(copied_from=origin))


def _concern(connection, row, given):
    common = {
        "environment_id": row.environment_id,
        "record_id": row.id,
        "identity_id": row.identity_id,
        "created_at": row.created_at,
    }
    rows = [{**common, "key": key, "given": number} for key, number in given.items()]
    if rows:
        connection.execute(sa.insert(audit_key), rows)


def _descend(connection, row, written, environment_id, rev, source=None):
    """Says of what was written that it is what was in force there, as far as that is known."""
    for key, number in written.items():
        parent = _in_force(connection, environment_id, source or key, rev)
        if parent is None or parent.kid is None:
            continue
        origin = {
            "origin_environment_id": parent.origin_environment_id or environment_id,
            "origin_secret_id": parent.origin_secret_id or parent.secret_id,
            "origin_version": parent.origin_version or parent.version,
        }
        inside = sa.select(secret.c.id).where(
            secret.c.environment_id == row.environment_id, secret.c.key == key
        )
        own = (version.c.secret_id == inside.scalar_subquery()) & (version.c.version == number)
        connection.execute(sa.update(version).where(own).values(origin))


def _in_force(connection, environment_id, key, rev):
    found = (
        sa.select(version)
        .join_from(secret, version, version.c.secret_id == secret.c.id)
        .where(secret.c.environment_id == environment_id, secret.c.key == key, version.c.rev <= rev)
        .order_by(version.c.rev.desc(), version.c.version.desc())
    )
    return connection.execute(found.limit(1)).first()


def downgrade():
    op.drop_table("audit_key")
    if op.get_bind().dialect.name == "postgresql":
        op.execute("DROP FUNCTION audit_key_is_append_only()")
    for _, name, table, _ in PARTIAL:
        op.drop_index(name, table)
    op.drop_index("ix_revision_created_by", "revision")
    for table, columns in (
        ("secret_version", ("origin_version", "origin_secret_id", "origin_environment_id")),
        ("revision", ("copied_from", "record_id")),
        ("audit_record", ("given", "key")),
    ):
        for column in columns:
            op.drop_column(table, column)
