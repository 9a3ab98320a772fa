"""The roles of docs/operations/installing.md: one migrates, the other serves and owns nothing."""

from __future__ import annotations

import re
import secrets
from pathlib import Path

import psycopg
import pytest
from doc_blocks import blocks, pasted, reached
from rotation import Operator, fill
from service import MASTER_KEY, arrange
from sqlalchemy.engine import make_url

from secretsvc.commands import main

PAGE = (Path(__file__).parents[2] / "docs" / "operations" / "installing.md").read_text("utf-8")


@pytest.fixture
def roles(postgresql_databases):
    """The URLs of the owner and of the service, made by the statements of the page."""
    server = postgresql_databases.server
    name = f"secretsvc_{secrets.token_hex(4)}"
    (block,) = re.findall(r"```sql\n(.*?)```", PAGE, re.DOTALL)
    statements = re.sub(r"\bsecretsvc\b", name, block.replace("secretsvc_owner", f"{name}_owner")).split(
        ";\n"
    )
    made = make_url(server.replace("postgresql:", "postgresql+psycopg:")).set(database=name)
    with psycopg.connect(server, autocommit=True) as connection:
        for statement in statements[:3]:
            connection.execute(statement)
    with psycopg.connect(server, dbname=name, autocommit=True) as connection:
        for statement in filter(str.strip, statements[3:]):
            connection.execute(statement)
    urls = [made.set(username=f"{name}_owner", password="one"), made.set(username=name, password="another")]
    yield [url.render_as_string(hide_password=False) for url in urls]
    postgresql_databases.drop(urls[0].render_as_string())


@pytest.mark.slow
@pytest.mark.parametrize("databases", ["postgresql"], indirect=True)
def test_the_documented_roles_migrate_and_serve(roles, tmp_path, make_service, issuer, forks):
    folders = [tmp_path / name for name in ("owner", "server")]
    owner, server = (Operator(*one) for one in zip(folders, roles, strict=True))
    assert forks.run(owner, "migrate", "production.ini").returncode == 0
    done = forks.run(server, "check", "production.ini", MASTER_KEY=MASTER_KEY, **issuer.environment())
    told = "ok    rights     the role has what it needs, over sequences too, and does not own the audit log"
    assert told in done.stdout.splitlines()
    fill(arrange(make_service(**{"SQLALCHEMY.URL": server.url})))
    refused = forks.run(server, "migrate", "production.ini", "--down-to", "base", "--lose-data")
    assert refused.returncode == 1
    assert "permission denied" in refused.stderr


@pytest.mark.slow
@pytest.mark.parametrize("databases", ["postgresql"], indirect=True)
def test_a_dump_by_the_owner_is_restored_with_the_rights_of_both_roles(
    roles, postgresql_databases, tmp_path, make_service, issuer, forks
):
    owner, server = roles
    assert forks.run(Operator(tmp_path, owner), "migrate", "production.ini").returncode == 0
    fill(arrange(make_service(**{"SQLALCHEMY.URL": server})))
    empty = postgresql_databases.create_empty()
    name = make_url(empty).database
    with psycopg.connect(postgresql_databases.server, autocommit=True) as connection:
        connection.execute(f'ALTER DATABASE "{name}" OWNER TO "{make_url(owner).username}"')
    page = (Path(__file__).parents[2] / "docs" / "operations" / "backup.md").read_text("utf-8")
    for script, url in zip(blocks(page, "PostgreSQL"), (owner, on(owner, name)), strict=True):
        pasted(reached(script, url), tmp_path, {})
    restored = {"DATABASE_URL": on(server, name), "MASTER_KEY": MASTER_KEY, **issuer.environment()}
    done = forks.run(Operator(tmp_path, ""), "check", "production.ini", **restored)
    assert {line[6:16].strip() for line in done.stdout.splitlines() if line.startswith("fail")} == {
        "durability"
    }
    assert "ok    rights " in done.stdout
    verified = forks.run(Operator(tmp_path, ""), "verify", "production.ini", **restored)
    assert verified.stdout == "9 envelopes, 0 unreadable.\n"
    postgresql_databases.drop(empty)


def on(url, database):
    return make_url(url).set(database=database).render_as_string(hide_password=False)


def test_the_page_says_what_each_check_is_and_names_every_command():
    rows = re.findall(r"^\| `([a-z ]+)` \|", PAGE, re.MULTILINE)
    checks = "ini, names, settings, files, key, key source, database, durability, schema, triggers, rights"
    assert rows == [*checks.split(", "), "admins", "clock", "adoption", "ring"]
    assert {"init", "migrate", "check"} <= set(main.commands)
