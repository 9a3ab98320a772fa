"""What waits to be sealed has the number in which it was written, by which it is sealed.

Ids are in the order of the clocks of hosts, which differ. A number is given when a record is written, which is
after its transaction has locked what it changes: of two changes of one row the first has the lower number.
"""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"
lost = "in which order the records were written that wait to be sealed; they are sealed in that of their ids"

#: Numbers begin anew where nothing waits: they order only what waits together.
NEXT = "(SELECT coalesce(max(number), 0) + 1 FROM audit_unsealed)"
WAITS = "CREATE TRIGGER audit_record_waits AFTER INSERT ON audit_record BEGIN {}; END"
NUMBERED = f"INSERT INTO audit_unsealed (record_id, number) VALUES (NEW.id, {NEXT})"
UNNUMBERED = "INSERT INTO audit_unsealed (record_id) VALUES (NEW.id)"
SEQUENCE = (
    # It belongs to no column: the service, which lists nothing itself, needs no right on it.
    "CREATE SEQUENCE audit_unsealed_number",
    "ALTER TABLE audit_unsealed ALTER COLUMN number SET DEFAULT nextval('audit_unsealed_number')",
)
HOLDERS = """
    SELECT DISTINCT CASE grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)) END
    FROM pg_class, aclexplode(relacl)
    WHERE pg_class.oid = to_regclass('audit_unsealed_number') AND grantee <> relowner
"""


def upgrade():
    # What waits already comes first, in the order of its ids.
    op.add_column("audit_unsealed", sa.Column("number", sa.BigInteger(), nullable=False, server_default="0"))
    op.create_index("ix_audit_unsealed_number", "audit_unsealed", ["number", "record_id"])
    bind = op.get_bind()
    if bind.dialect.name == "sqlite":
        _exchange(NUMBERED)
        return
    for statement in SEQUENCE:
        op.execute(statement)
    for role in bind.execute(sa.text(HOLDERS)).scalars().all():
        op.execute(f"REVOKE ALL ON SEQUENCE audit_unsealed_number FROM {role}")


def downgrade():
    is_sqlite = op.get_bind().dialect.name == "sqlite"
    if is_sqlite:
        _exchange(UNNUMBERED)
    op.drop_index("ix_audit_unsealed_number", "audit_unsealed")
    op.drop_column("audit_unsealed", "number")
    if not is_sqlite:
        op.execute("DROP SEQUENCE audit_unsealed_number")


def _exchange(statement):
    """Has the trigger of SQLite's list a record by this statement."""
    op.execute("DROP TRIGGER audit_record_waits")
    op.execute(WAITS.format(statement))
