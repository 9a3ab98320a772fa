"""A page of the audit log with two filters reads only its own records, whatever each of them finds alone."""

from __future__ import annotations

import itertools
import re

import pytest
from alembic.config import Config
from databases import ROOT
from query_plans import PLAN_MODES, executed, rows_read, steps_of
from resource_fields import log
from service import arrange
from sqlalchemy import text

from alembic import command

pytestmark = pytest.mark.both_engines

MANY, LIMIT = 400, 5
FILTERS = {
    "project": "project=shop",
    "environment": "project=shop&environment=prod",
    "actor": "actor=Robot",
    "action": "action=test.rare",
    "outcome": "outcome=denied",
}
COLUMNS = {
    "project": "project_id",
    "environment": "environment_id",
    "actor": "actor_subject",
    "outcome": "denied",
}
DEFINITIONS = {
    "sqlite": "SELECT name, sql FROM sqlite_master WHERE tbl_name = 'audit_record' AND sql LIKE '% INDEX %'",
    "postgresql": "SELECT indexname, indexdef FROM pg_indexes WHERE tablename = 'audit_record'",
}
PAIRS = [pair for pair in itertools.combinations(FILTERS, 2) if pair != ("project", "environment")]


@pytest.fixture
def crowded(service):
    """Each filter finds many records, and no two of them, but of a scope, find the same one."""
    admin = arrange(service)
    here = {name: value for name, value in service.scope("shop/prod").items() if name != "scope_type"}
    project_id = service.scope("shop")["project_id"]
    log(service, MANY, **{**here, "project_id": project_id})
    log(service, MANY, actor_subject="Robot")
    log(service, MANY, action="test.rare")
    log(service, MANY, outcome="denied", action="test.denied")
    service.execute("ANALYZE")
    return admin


@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
def test_two_filters_read_no_record_that_only_one_of_them_finds(crowded, service, pair):
    query = "&".join(FILTERS[name] for name in pair)
    with executed(service.engine, "audit_record") as statements:
        assert crowded.get(f"/audit?{query}&limit={LIMIT}").json["items"] == []
    (statement,) = [one for one in statements if "audit_seal" not in one.text]
    if service.engine.name == "sqlite":
        steps = [one for one in steps_of(service.engine, statement, "audit_record") if "(id=?)" not in one]
        # That of a scope, where there is one, and how its second column is searched, or the first of denials.
        first, second = (COLUMNS.get(name, name) for name in pair)
        ranged = "(" if second == "denied" else f"({first}=? AND "
        column = first if second == "denied" else second
        index = f"ix_audit_record_{first}_{second} {ranged}{column}>? AND {column}<?)"
        assert any(one.endswith(index) for one in steps), steps
        assert all(f"_{second} {ranged[0]}" in one for one in steps), steps
    else:
        read = [rows_read(service.engine, statement, "audit_record", mode) for mode in PLAN_MODES]
        assert all(number <= 1 for number in read), read


@pytest.mark.slow
def test_indexes_that_an_operator_made_beforehand_are_those_of_the_migration(service, database_url):
    def definitions():
        with service.engine.connect() as connection:
            return sorted(connection.execute(text(DEFINITIONS[service.engine.name])).all())

    page = (ROOT / "docs" / "operations" / "database.md").read_text("utf-8")
    statements = re.findall(r"^CREATE INDEX CONCURRENTLY (.*);$", page, re.MULTILINE)
    config = Config(ROOT / "production.ini")
    config.attributes["url"] = database_url
    there = definitions()
    command.downgrade(config, "0011")
    assert len(there) - len(definitions()) == len(statements)
    for statement in statements:
        service.execute(f"CREATE INDEX {statement}")
    assert definitions() == there
    command.upgrade(config, "head")
    assert definitions() == there
