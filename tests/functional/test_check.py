"""`secretsvc-server check`: one line for each check, exit 1 where one fails, and no secret in any."""

from __future__ import annotations

import secrets as random
import sys

import psycopg
import pytest
from databases import ENGINES
from psycopg import sql
from rotation import NEW_KEY, NEXT_KEY, Operator, fill, rotated
from sealing_routes import kid_of
from secrets_client import Vault
from service import ADMIN, MASTER_KEY, arrange
from sqlalchemy import text
from sqlalchemy.engine import make_url

from secretsvc.audit.models import audit_record
from secretsvc.db.engine import make_engine, read_once, write_transaction
from secretsvc.db.schema import TRIGGERS, WRITES
from secretsvc.deployment.checks.configuration import check_settings
from secretsvc.deployment.checks.database import _TRIGGERS
from secretsvc.deployment.checks.findings import Level
from secretsvc.kernel.clock import now_ms

CHECKS = ["names", "settings", "files", "key", "key source", "database", "durability", "schema", "triggers"]
CHECKS += ["rights", "admins", "clock", "adoption", "ring"]
SESAME = "open-sesame"
#: What a migration does for roles that have these rights by then.
NARROWED = [
    f"REVOKE {', '.join({'INSERT', 'UPDATE', 'DELETE'}.difference(writes))} ON {table} FROM ROLE"
    for table, writes in WRITES.items()
]


@pytest.fixture
def operator(tmp_path, database_url):
    operator = Operator(tmp_path / "operator", database_url)
    (operator.directory / "production.ini").chmod(0o600)
    return operator


@pytest.fixture
def check(forks, operator, issuer):
    """Runs it; the exit code, and the level and the text of each check's findings."""

    def check(**settings):
        given = {"MASTER_KEY": MASTER_KEY, "BOOTSTRAP_ADMINS": ADMIN, **issuer.environment(), **settings}
        done = forks.run(operator, "check", "production.ini", **given)
        for secret in (MASTER_KEY, NEXT_KEY, SESAME):
            assert secret not in done.stdout + done.stderr
        assert done.stderr == ""
        found = {}
        for line in done.stdout.splitlines():
            found.setdefault(line[6:16].strip(), []).append((line[:5].strip(), line[17:]))
        return done.returncode, found

    return check


def levels(found):
    """The worst of each check."""
    order = ["ok", "warn", "fail"]
    return {name: max((level for level, _ in lines), key=order.index) for name, lines in found.items()}


def execute(url, *statements):
    engine = make_engine(url)
    with write_transaction(engine) as connection:
        for statement in statements:
            connection.execute(text(statement))
    engine.dispose()


@pytest.fixture
def role(postgresql_databases):
    """A role of PostgreSQL that may connect and nothing else, with its password."""
    name = f"role_{random.token_hex(4)}"
    server = postgresql_databases.server
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(
            sql.SQL("CREATE ROLE {} LOGIN PASSWORD 'open-sesame'").format(sql.Identifier(name))
        )
    return name


def as_role(url, role):
    return make_url(url).set(username=role, password=SESAME).render_as_string(hide_password=False)


def grant(url, role, *statements):
    execute(url, *(statement.replace("ROLE", role) for statement in statements))


@pytest.mark.slow
def test_of_a_good_deployment_nothing_fails_but_what_the_tests_have_switched_off(check, service):
    fill(arrange(service))
    code, found = check()
    assert list(found) == CHECKS
    bad = {name: level for name, level in levels(found).items() if level != "ok"}
    # The server of the tests writes nothing to its disk, and its one role owns everything.
    if service.engine.name == "postgresql":
        assert bad == {"durability": "fail", "rights": "warn"}
        assert found["durability"][0][1].startswith("fsync = off, full_page_writes = on")
    else:
        assert (code, bad) == (0, {})


def test_an_unknown_key_of_the_ini_fails_and_the_nearest_is_named(check, operator):
    ini = operator.directory / "production.ini"
    more = "secretsvc.ratelimit = 1/minute\nsecretsvc.workload.x.issuer = y\n"
    ini.write_text(ini.read_text().replace("[server:main]", f"{more}\n[server:main]"))
    code, found = check()
    assert code == 1
    assert found["names"][0] == (
        "fail",
        "the ini's secretsvc.ratelimit is no setting: did you mean secretsvc.rate_limit?",
    )
    assert [level for level, _ in found["names"]] == ["fail", "fail"]


def test_a_variable_that_is_a_misspelt_setting_fails(check):
    code, found = check(TRUSTED_PROXY="10.0.0.0/8", WORKLOAD_ISSUERS="ci", WORKLOAD_CI_AUDIENC="x", OTHER="y")
    advice = "is meant, else keep it out of the service's environment"
    assert (code, found["names"]) == (
        1,
        [
            ("fail", f"the variable {variable} is no setting: rename it if {meant} {advice}")
            for variable, meant in (
                ("TRUSTED_PROXY", "TRUSTED_PROXIES"),
                ("WORKLOAD_CI_AUDIENC", "WORKLOAD_CI_AUDIENCE"),
            )
        ],
    )


@pytest.mark.parametrize(
    "listed", ["'boss@example.com'", "*@example.com", 'boss@example.com,"x@example.com"']
)
def test_a_list_of_administrators_that_names_nobody_is_told(check, listed):
    found = check(BOOTSTRAP_ADMINS=listed)[1]
    ((level, told),) = found["settings"]
    assert (level, told.startswith("setting BOOTSTRAP_ADMINS is malformed")) == ("fail", True)
    assert "example.com" not in told


def test_settings_that_are_missing_or_malformed_are_named_without_their_values(check):
    code, found = check(ACCESS_LEEWAY=SESAME, WORKLOAD_ISSUERS="ci")
    told = [line.partition(":")[0] for _, line in found["settings"]]
    assert told[0] == "setting ACCESS_LEEWAY is malformed"
    assert "setting WORKLOAD_CI_REQUIRE is missing" in told
    assert code == 1


def test_files_that_others_may_read_or_write_are_told(check, operator, tmp_path):
    key = tmp_path / "key"
    key.write_text(MASTER_KEY)
    key.chmod(0o640)
    (operator.directory / "production.ini").chmod(0o666)
    _, found = check(KEY_PROVIDER="file", MASTER_KEY_FILE=str(key))
    assert found["files"] == [
        ("fail", "group or others may write to production.ini (mode 0622): chmod go-w it"),
        ("warn", f"group or others may read {key} (mode 0640): chmod 600 it"),
    ]
    assert levels(found)["key"] == "ok"


@pytest.mark.parametrize("key", ["c2hvcnQ=", ""])
def test_a_key_that_is_none_fails(check, key):
    code, found = check(MASTER_KEY=key)
    assert (code, levels(found)["key"]) == (1, "fail")
    assert "MASTER_KEY is malformed" in found["key"][0][1]
    assert "adoption" not in found


def test_a_key_that_is_not_in_use_fails(check, service):
    fill(arrange(service))
    code, found = check(MASTER_KEY=NEXT_KEY)
    assert (code, levels(found)["key"], levels(found)["adoption"]) == (1, "ok", "fail")


@pytest.mark.slow
def test_envelopes_under_a_key_that_the_ring_lacks_fail(check, service):
    fill(arrange(service))
    lost = kid_of(service)
    Vault(rotated(service).user()).set(NEW="sealed under the new key")
    code, found = check(MASTER_KEY=NEW_KEY, MASTER_KEY_OLD=MASTER_KEY)
    assert levels(found)["ring"] == "ok"
    code, found = check(MASTER_KEY=NEW_KEY)
    assert (code, levels(found)["adoption"]) == (1, "ok")
    ((level, told),) = found["ring"]
    assert level == "fail"
    assert told.startswith(f"9 envelopes are under master key {lost}, which is not on the ring: ")


@pytest.mark.parametrize("url", ["http://127.0.0.1:1/keys", "file:/nowhere/jwks.json"])
def test_a_key_source_that_gives_no_keys_fails(check, url):
    code, found = check(ACCESS_JWKS_URL=url)
    assert (code, levels(found)["key source"]) == (1, "fail")
    assert "the access proxy's keys could not be fetched" in found["key source"][0][1]


def test_a_database_that_does_not_answer_is_said_in_constant_words(check):
    code, found = check(DATABASE_URL=f"postgresql://nobody:{SESAME}@127.0.0.1:1/none")
    assert (code, list(found)[-1]) == (1, "database")
    assert found["database"] == [
        ("fail", "OperationalError: connection refused: mend DATABASE_URL or the database")
    ]


def test_a_database_that_is_not_there_is_not_made(check, tmp_path):
    code, found = check(DATABASE_URL=f"sqlite:///{tmp_path}/none.sqlite")
    assert (code, levels(found)["database"]) == (1, "fail")
    assert not (tmp_path / "none.sqlite").exists()


@pytest.mark.slow
def test_a_schema_that_is_not_served_fails(check, databases, database_url):
    empty = databases.create_empty()
    execute(empty, "SELECT 1")
    code, found = check(DATABASE_URL=empty)
    assert (code, found["schema"][0][1].partition(",")[0]) == (1, "it is at none")
    databases.drop(empty)
    execute(database_url, "UPDATE alembic_version SET version_num = '0099'")
    code, found = check()
    assert (code, found["schema"][0][1].partition(",")[0]) == (1, "it is at 0099")
    assert "triggers" not in found


def test_a_trigger_that_is_missing_fails(check, service, database_url):
    if service.engine.name == "sqlite":
        execute(database_url, "DROP TRIGGER audit_record_no_update")
        missing = "audit_record_no_update"
    else:
        execute(database_url, "ALTER TABLE audit_record DISABLE TRIGGER audit_record_no_change")
        missing = "audit_record_no_change"
    code, found = check()
    told = f"missing or disabled: {missing} on audit_record: restore a copy that has them"
    assert (code, found["triggers"]) == (1, [("fail", told)])


FOREIGN = {
    "sqlite": ["CREATE TRIGGER drops BEFORE INSERT ON audit_record BEGIN SELECT RAISE(IGNORE); END"],
    "postgresql": [
        "CREATE FUNCTION drops() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'",
        "CREATE TRIGGER drops BEFORE INSERT ON audit_record FOR EACH ROW EXECUTE FUNCTION drops()",
        "CREATE RULE hides AS ON INSERT TO audit_record DO INSTEAD NOTHING",
    ],
}


@pytest.mark.slow
def test_a_foreign_trigger_or_rule_on_our_tables_fails(check, service, database_url):
    named = {"sqlite": "drops on audit_record", "postgresql": "drops on audit_record, hides on audit_record"}
    engine = service.engine.name
    execute(database_url, *FOREIGN[engine])
    code, found = check()
    ((level, told),) = found["triggers"]
    assert (code, level) == (1, "fail")
    assert told.startswith(f"not of this service: {named[engine]}: ")
    execute(database_url, "UPDATE schema_release SET revision = '9998', oldest_release = '0.0.1'")
    execute(database_url, "UPDATE alembic_version SET version_num = '9998'")
    assert levels(check()[1])["triggers"] == "warn"


def test_triggers_on_other_tables_are_no_matter_of_ours(check, database_url):
    execute(database_url, "CREATE TABLE theirs (id INTEGER)")
    engine = make_url(database_url).get_backend_name()
    execute(database_url, *(one.replace("audit_record", "theirs") for one in FOREIGN[engine]))
    assert levels(check()[1])["triggers"] == "ok"


@pytest.mark.slow
def test_without_an_administrator_it_fails(check, service):
    code, found = check(BOOTSTRAP_ADMINS="")
    assert (code, levels(found)["admins"]) == (1, "fail")
    arrange(service)
    assert levels(check(BOOTSTRAP_ADMINS="")[1])["admins"] == "ok"


def test_the_triggers_that_are_looked_for_are_all_that_the_migrations_make(database_url):
    engine = make_engine(database_url)
    with read_once(engine) as connection:
        found = connection.execute(text(_TRIGGERS[engine.name]))
        assert {(row[0], row[1]) for row in found} == TRIGGERS[engine.name]
    engine.dispose()


@pytest.mark.slow
@pytest.mark.parametrize("databases", ["postgresql"], indirect=True)
def test_a_role_without_its_rights_fails_and_with_them_does_not(check, database_url, role):
    url = as_role(database_url, role)
    documented = (
        "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO ROLE",
        *NARROWED,
    )
    grant(database_url, role, *documented)
    code, found = check(DATABASE_URL=url)
    assert (code, found["rights"]) == (
        1,
        [("fail", "the role lacks USAGE on secret_id_seq: GRANT them to it")],
    )
    grant(database_url, role, "GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO ROLE")
    _, found = check(DATABASE_URL=url)
    assert levels(found)["rights"] == "ok"
    grant(database_url, role, 'REVOKE INSERT, DELETE ON "grant" FROM ROLE')
    _, found = check(DATABASE_URL=url)
    assert found["rights"] == [("fail", "the role lacks DELETE, INSERT on grant: GRANT them to it")]


@pytest.mark.slow
@pytest.mark.parametrize("databases", ["postgresql"], indirect=True)
def test_a_role_with_the_rights_that_the_check_asks_for_can_write_and_read(make_service, database_url, role):
    grant(
        database_url,
        role,
        "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO ROLE",
        *NARROWED,
        "GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO ROLE",
    )
    fill(arrange(make_service(**{"SQLALCHEMY.URL": as_role(database_url, role)})))


@pytest.mark.parametrize("databases", ["postgresql"], indirect=True)
def test_a_database_that_is_read_only_fails(check, database_url):
    name = make_url(database_url).database
    execute(database_url, f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    code, found = check()
    assert (code, levels(found)["rights"]) == (1, "fail")
    assert "read-only" in found["rights"][0][1]
    with psycopg.connect(database_url.replace("+psycopg", ""), autocommit=True) as connection:
        connection.execute("SET default_transaction_read_only = off")
        connection.execute(sql.SQL("ALTER DATABASE {} RESET ALL").format(sql.Identifier(name)))


@pytest.mark.slow
@pytest.mark.parametrize("databases", ["postgresql"], indirect=True)
def test_a_database_that_commits_later_than_it_says_fails(check, database_url):
    name = make_url(database_url).database
    execute(database_url, f"ALTER DATABASE {name} SET synchronous_commit = off")
    _, found = check()
    assert "synchronous_commit = off" in found["durability"][0][1]
    execute(database_url, f"ALTER DATABASE {name} RESET ALL")


def test_a_clock_that_is_behind_the_newest_record_fails(check, service, database_url):
    fill(arrange(service))
    later = now_ms() + 3_600_000
    newest = service.audit("secret.batch")[-1]
    row = {name: newest[name] for name in newest} | {"created_at": later}
    row["id"] = type(row["id"])("ffffffff-ffff-7fff-bfff-ffffffffffff")
    service.execute(audit_record.insert().values(row))
    code, found = check()
    assert (code, levels(found)["clock"]) == (1, "fail")
    assert "s ahead of this machine" in found["clock"][0][1]


@pytest.mark.parametrize("text", [f"[app:main\n{SESAME}\n", f"[app:other]\nuse = {SESAME}\n", SESAME])
def test_a_file_that_is_no_ini_of_ours_is_said_without_its_lines(check, operator, text):
    (operator.directory / "production.ini").write_text(text)
    code, found = check()
    assert (code, levels(found)) == (1, {"ini": "fail"})


def test_every_engine_has_its_triggers_named():
    assert set(TRIGGERS) == set(ENGINES)


STORAGE = {"RATE_LIMIT": "9/day", "RATE_LIMIT_STORAGE": "redis://127.0.0.1:1"}


@pytest.mark.slow
def test_a_storage_that_does_not_answer_is_a_warning(check):
    ((level, told),) = check(**STORAGE)[1]["settings"]
    assert (level, "does not answer" in told) == ("warn", True)


def test_a_storage_whose_library_is_missing_fails(make_service, monkeypatch):
    for module in ("redis.backoff", "redis.retry"):
        monkeypatch.setitem(sys.modules, module, None)
    (found,) = check_settings(make_service(**STORAGE).app.registry)
    assert (found.level, found.stops) == (Level.FAIL, True)
    assert "RATE_LIMIT_STORAGE needs the package redis, which is missing" in found.text


@pytest.mark.slow
def test_a_file_of_keys_that_cannot_be_used_is_a_warning(make_service, tmp_path):
    path = tmp_path / "keys.json"
    path.write_text("no object")
    service = make_service(ACCESS_JWKS_URL="http://127.0.0.1:1/keys", ACCESS_JWKS_CACHE=str(path))
    (found,) = check_settings(service.app.registry)
    assert found.level is Level.WARN
    assert found.text.startswith("the file of ACCESS_JWKS_CACHE is not used: JSONDecodeError")


@pytest.mark.slow
def test_a_full_environment_that_cannot_be_exported_is_a_warning(check):
    ((level, told),) = check(PLAINTEXT_MAX_BYTES="1000")[1]["settings"]
    assert (level, "a full environment cannot be exported" in told) == ("warn", True)


def test_settings_that_contradict_each_other_fail(check):
    code, found = check(MASTER_KEY_FILE="/some/key", BODY_MAX_BYTES="10", DRAIN_SECONDS="500")
    assert [level for level, _ in found["settings"]] == ["fail", "fail", "warn"]
    assert code == 1


@pytest.fixture
def at_start(forks, operator, issuer):
    """Runs the check of the start with settings in an environment file; the exit code and what it printed."""

    def check(**settings):
        given = {"DATABASE_URL": operator.url, "MASTER_KEY": MASTER_KEY, "BOOTSTRAP_ADMINS": ADMIN}
        given |= issuer.environment() | settings
        lines = [f"{name}='{value}'" for name, value in given.items()]
        (operator.directory / "environment").write_text("\n".join(["# Of the service", *lines]))
        arguments = ("check", "--start", "--environment", "environment", "production.ini")
        done = forks.run(operator, *arguments, DATABASE_URL="sqlite:////nowhere/x", RATE_LIMIT="of the shell")
        assert done.stderr == ""
        return done.returncode, done.stdout

    return check


def test_the_check_of_the_start_passes_in_the_environment_of_the_unit(at_start):
    code, told = at_start()
    assert code == 0
    assert "fail" not in {line[:4] for line in told.splitlines()}
    assert "key source" not in told


@pytest.mark.parametrize(
    "faults",
    [
        {"ACCESS_ISSUER": ""},
        {"RATE_LIMIT": "often"},
        {"BOOTSTRAP_ADMINS": "ann"},
        {"BOOTSTRAP_ADMINS": ""},
        {"DATABASE_URL": "sqlite://"},
        {"DATABASE_URL": "sqlite:////nowhere/x.sqlite"},
    ],
)
def test_the_check_of_the_start_fails_where_every_request_does(at_start, faults):
    assert at_start(**faults)[0] == 1


@pytest.mark.parametrize(
    "faults",
    [
        {"MASTER_KEY": "short"},
        {"PUBLIC_ORIGIN": "x"},
        {"TRUSTED_PROXY": "10.0.0.0/8"},
        {"ACCESS_JWKS_URL": "file:/nowhere/jwks.json"},
        {"DATABASE_URL": "postgresql://nobody@127.0.0.1:1/none"},
        {"BODY_MAX_BYTES": "10"},
    ],
)
def test_the_check_of_the_start_warns_of_every_other_fault(at_start, faults):
    code, told = at_start(**faults)
    assert (code, "fail " in told) == (0, False)


def test_a_line_that_systemd_ignores_is_told(forks, operator, tmp_path):
    (tmp_path / "environment").write_text("export MASTER_KEY=open-sesame\n")
    done = forks.run(operator, "check", "--environment", str(tmp_path / "environment"), "production.ini")
    assert "systemd ignores line 1 of " in done.stdout
    assert SESAME not in done.stdout
    assert "setting MASTER_KEY is missing" in done.stdout
