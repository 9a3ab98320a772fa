"""deploy/postgresql-roles.sh on real servers, by a role that is no superuser."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from doc_blocks import NEWEST, blocks
from postgresql_server import PROGRAMS, PostgresqlServer, own_server
from processes import ROOT
from rotation import Operator
from service import MASTER_KEY, Service, arrange

SCRIPT = ROOT / "deploy" / "postgresql-roles.sh"
INSTALLING = (ROOT / "docs" / "operations" / "installing.md").read_text("utf-8")
#: Those that come with the tests, and those of the machine.
VERSIONS = sorted({PROGRAMS, NEWEST, *Path("/usr/lib/postgresql").glob("*/bin")})
PASSWORDS = {"OWNER_PASSWORD": "it's the owner's", "SERVICE_PASSWORD": 'the "service"'}
OTHERS = {"OWNER_PASSWORD": "another", "SERVICE_PASSWORD": "yet-another"}
ADMIN = "manager"
#: The roles that the script makes need their passwords.
HBA = f"host all postgres,{ADMIN} 127.0.0.1/32 trust\nhost all all 127.0.0.1/32 scram-sha-256\n"
#: psql, which first writes its arguments to a file.
RECORDED = """#!/bin/sh
tr '\\0' '\\n' < /proc/$$/cmdline >> {record}
exec {psql} "$@"
"""
#: As which roles the administrator can act. From version 16 on, the maker of a role is a member that cannot.
MEMBER = "SELECT roleid::regrole FROM pg_auth_members WHERE member = 'manager'::regrole"


class Roles:
    """A server with a role that has CREATEROLE and CREATEDB, and the script."""

    def __init__(self, server: PostgresqlServer, folder: Path) -> None:
        self.server, self.folder, self.record = server, folder, folder / "arguments"
        wrapper = folder / "psql"
        wrapper.write_text(RECORDED.format(record=self.record, psql=server.programs / "psql"))
        wrapper.chmod(0o755)
        (server.data / "pg_hba.conf").write_text(HBA)
        server.execute(f"CREATE ROLE {ADMIN} LOGIN CREATEROLE CREATEDB", "postgres")
        server.execute("SELECT pg_reload_conf()", "postgres")

    def run(
        self, passwords: dict[str, str], user: str = ADMIN, shell: str = f"sh {SCRIPT}"
    ) -> subprocess.CompletedProcess[str]:
        server = {"PGHOST": "127.0.0.1", "PGPORT": str(self.server.port), "PGUSER": user}
        path = f"{self.folder}:{os.environ['PATH']}"
        environment = {"PATH": path, **server, **passwords}
        command = ["sh", "-euc", shell]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)

    def url(self, role: str, password: str) -> str:
        quoted = password.replace("'", "%27").replace('"', "%22").replace(" ", "%20")
        return f"postgresql+psycopg://{role}:{quoted}@127.0.0.1:{self.server.port}/secretsvc"

    def urls(self, passwords: dict[str, str]) -> list[str]:
        roles = ("secretsvc_owner", "secretsvc")
        return [self.url(*one) for one in zip(roles, passwords.values(), strict=True)]

    def admits(self, url: str) -> bool:
        try:
            psycopg.connect(url.replace("+psycopg", "")).close()
        except psycopg.OperationalError:
            return False
        return True

    def rights(self) -> list[object]:
        """The owner, the encoding and the rights of the database, and the rights over later tables."""
        database = self.server.execute(
            "SELECT pg_get_userbyid(datdba), pg_encoding_to_char(encoding), datacl::text FROM pg_database"
            " WHERE datname = 'secretsvc'"
        )
        later = "SELECT pg_get_userbyid(defaclrole), defaclobjtype, defaclacl::text FROM pg_default_acl"
        return [*database, *sorted(self.server.execute(later))]


@pytest.fixture(params=VERSIONS, ids=str)
def roles(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Roles]:
    with own_server(programs=request.param, fsync="on") as server:
        yield Roles(server, tmp_path)


def test_a_role_that_is_no_superuser_makes_the_roles_twice_and_check_is_clean(
    roles: Roles, issuer, tmp_path: Path
) -> None:
    for passwords in (PASSWORDS, OTHERS):
        done = roles.run(passwords)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
        arguments = roles.record.read_text()
        assert "--no-psqlrc" in arguments
        assert [one for one in passwords.values() if one in arguments] == []
        assert all(map(roles.admits, roles.urls(passwords)))
    assert not any(map(roles.admits, roles.urls(PASSWORDS)))
    ((version,),) = roles.server.execute("SELECT current_setting('server_version_num')::int")
    acts_as = MEMBER if version < 160_000 else f"{MEMBER} AND set_option"
    assert roles.server.execute(acts_as) == []
    owner, serving = roles.urls(OTHERS)
    operator = Operator(tmp_path / "operator", owner)
    (operator.directory / "production.ini").chmod(0o600)
    migrated = operator.run("migrate", "production.ini", MASTER_KEY=MASTER_KEY)
    assert migrated.returncode == 0, migrated.stderr
    service = Service(serving, issuer, lent=False)
    admin = arrange(service)
    admin.post("/projects/shop/environments/prod/secrets:batch", {"mode": "merge", "set": {"KEY": "kept"}})
    service.close()
    operator.url = serving
    checked = operator.run("check", "production.ini", MASTER_KEY=MASTER_KEY, **issuer.environment())
    assert {line[:5].strip() for line in checked.stdout.splitlines()} == {"ok"}, checked.stdout
    # A later run leaves what is there.
    assert roles.run(OTHERS).returncode == 0
    again = operator.run("check", "production.ini", MASTER_KEY=MASTER_KEY, **issuer.environment())
    assert again.stdout == checked.stdout


@pytest.mark.parametrize("number", [0, 1])
def test_the_commands_of_the_page_run_the_script(roles: Roles, number: int) -> None:
    # The user of the first is played; the second is for a role that is no superuser.
    become = roles.folder / "runuser"
    become.write_text('#!/bin/sh\n[ "$1 $2 $3" = "-u postgres --" ] && shift 3 && exec "$@"\n')
    become.chmod(0o755)
    command = blocks(INSTALLING, "The roles on PostgreSQL")[number]
    placed = command.replace("/var/lib/secretsvc/deploy", str(SCRIPT.parent)).replace(
        "db.internal", "127.0.0.1"
    )
    done = roles.run(
        PASSWORDS if number else {}, "postgres", f"{placed}printenv OWNER_PASSWORD SERVICE_PASSWORD"
    )
    assert (done.returncode, done.stderr) == (0, "")
    chosen = dict(zip(PASSWORDS, done.stdout.splitlines(), strict=True))
    assert all(map(roles.admits, roles.urls(chosen)))


def test_the_script_does_what_the_statements_of_the_page_do(roles: Roles) -> None:
    assert roles.run(PASSWORDS, "postgres").returncode == 0
    by_script = roles.rights()
    for statement in ("DROP DATABASE secretsvc", "DROP ROLE secretsvc", "DROP ROLE secretsvc_owner"):
        roles.server.execute(statement, "postgres")
    (block,) = blocks(INSTALLING, "The roles on PostgreSQL", "sql")
    for number, statement in enumerate(filter(str.strip, block.split(";"))):
        roles.server.execute(statement, "secretsvc" if number >= 4 else "postgres")
    assert roles.rights() == by_script


def test_a_run_that_failed_is_finished_by_the_next(roles: Roles) -> None:
    # What a run by the script of an earlier release has left.
    roles.server.execute("CREATE ROLE secretsvc_owner LOGIN PASSWORD 'old'", "postgres")
    assert roles.run({"OWNER_PASSWORD": "one"}).returncode == 2
    denied = roles.run(PASSWORDS)
    roles.server.execute(f"GRANT secretsvc_owner TO {ADMIN} WITH ADMIN OPTION", "postgres")
    done = roles.run(PASSWORDS)
    assert (done.returncode, done.stderr) == (0, ""), denied.stderr
    assert all(map(roles.admits, roles.urls(PASSWORDS)))
