"""Deleted keys as statements read them."""

from __future__ import annotations

from sqlalchemy import FromClause, bindparam, func, select

from secretsvc.db.types import Query
from secretsvc.secrets.models import secret
from secretsvc.secrets.queries.rows import IS_CURRENT, lateral_versions


def select_deleted(dialect_name: str) -> tuple[Query, FromClause]:
    """The deleted keys of an environment from after one, sorted; and their tombstones, which it joins."""
    version, is_current = lateral_versions(dialect_name, IS_CURRENT)
    deleted_at = func.coalesce(version.c.created_at, secret.c.updated_at)
    found = (
        select(secret.c.key, secret.c.version, deleted_at.label("deleted_at"), version.c.created_by)
        .outerjoin_from(secret, version, is_current)
        .where(
            secret.c.environment_id == bindparam("environment_id"),
            secret.c.deleted,
            secret.c.key > bindparam("after"),
        )
        .order_by(secret.c.key)
        .limit(bindparam("limit"))
    )
    return found, version
