"""The package that docs/plugins.md builds, as an installed distribution, over HTTP and by Alembic."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib.metadata import distribution
from pathlib import Path

import pytest
from alembic.util.exc import CommandError
from openapi_spec_validator import validate
from pages import Browser, submit, words
from plugins import ROOT, SOURCE, alembic_config, files_of, install
from secrets_client import Vault
from service import arrange
from sqlalchemy import event, inspect, text
from statements import recorded

from alembic import command
from secretsvc.db.engine import make_engine, read_once
from secretsvc.db.schema import REVISION
from secretsvc.server.readiness import database_state

NOTES = "/projects/shop/environments/prod/notes"
ALIAS = "/p/shop/e/prod/notes"


@pytest.fixture(scope="module", autouse=True)
def installed(tmp_path_factory):
    """The plugin among what can be imported; a second import of its tables would clash with the first."""
    if "acme_notes" not in sys.modules:
        sys.path.append(str(install(SOURCE, tmp_path_factory.mktemp("plugin"))))
    return distribution("acme-notes")


@pytest.fixture
def database_url(databases):
    """A database of the test's own: what it adds to the schema must not be lent to others."""
    url = databases.create()
    yield url
    databases.drop(url)


@pytest.fixture
def config(database_url, tmp_path):
    return alembic_config(tmp_path, "acme_notes", database_url)


@pytest.fixture
def service(config, make_service):
    """The service with the plugin, over a database with its branch."""
    command.upgrade(config, "heads")
    return make_service(**{"PYRAMID.INCLUDES": "acme_notes"})


@pytest.fixture
def admin(service):
    return arrange(service, "shop", "prod", "dev")


def tables(url):
    engine = make_engine(url)
    with engine.connect() as connection:
        found = set(connection.execute(text("SELECT version_num FROM alembic_version")).scalars())
        names = set(inspect(connection).get_table_names())
    engine.dispose()
    return "acme_note" in names, found


def test_the_example_is_a_distribution_of_at_most_200_lines(installed):
    assert installed.metadata["Name"] == "acme-notes"
    assert any(str(file).endswith("notes.pt") for file in installed.files)
    assert sum(len(path.read_text("utf-8").splitlines()) for path in files_of(SOURCE)) <= 200


def test_the_documentation_shows_the_very_files(here):
    shown = (here / "docs" / "plugins.md").read_text("utf-8")
    for path in files_of(SOURCE):
        kind = {".py": "python", ".toml": "toml", ".pt": "html"}[path.suffix]
        block = f"`{path.relative_to(SOURCE)}`\n\n```{kind}\n{path.read_text('utf-8')}```\n"
        assert block in shown, path


@pytest.mark.slow
@pytest.mark.both_engines
def test_its_operations_write_read_and_record(service, admin):
    made = admin.post(NOTES, {"text": " Ask Rita. "}).json
    assert made["text"] == "Ask Rita."
    assert admin.get(ALIAS).json == {"items": [made]}
    (row,) = service.audit("acme_note.create")
    assert (row["outcome"], row["actor_subject"]) == ("success", "root@example.com")
    assert admin.get(NOTES.replace("prod", "dev")).json == {"items": []}
    admin.delete("/projects/shop/environments/prod")
    admin.get(NOTES, 404)


@pytest.mark.slow
def test_its_input_is_as_strict_and_its_roles_are_as_those_of_the_service(service, admin):
    assert admin.post(NOTES, {"text": "x", "colour": "red"}, 422).json["issues"][0]["path"] == "colour"
    service.grant("rita@example.com", "reader", "shop/prod")
    rita = service.user("rita@example.com")
    rita.get(NOTES)
    rita.post(NOTES, {"text": "x"}, 403)
    service.user("eve@example.com").get(NOTES, 404)


@pytest.mark.slow
def test_its_page_has_a_tab_a_form_and_an_action_in_the_audit_log(service, admin):
    browser = Browser(service)
    page = browser.open("/projects/shop/environments/prod").click("Notes")
    page = submit(page, "/notes", text="Ask Rita.")
    assert "Ask Rita." in words(page)
    assert "Noted." in words(page, "body")
    assert words(submit(page, "/notes", status=422, text=" ")).count("text")
    options = browser.open("/audit").html.select("#actions option")
    assert "acme_note.create" in [option["value"] for option in options]


@pytest.mark.slow
def test_its_error_has_a_status_a_code_and_advice(service, admin):
    service = service.restarted(ACME_NOTES_LIMIT="1")
    admin = service.user()
    admin.post(NOTES, {"text": "x"})
    assert admin.post(NOTES, {"text": "y"}, 409).json["code"] == "ACME_NOTES_FULL"
    page = Browser(service).open(NOTES)
    assert "Ask the operator to raise ACME_NOTES_LIMIT." in words(
        submit(page, "/notes", status=409, text="y")
    )
    assert len(admin.get(NOTES).json["items"]) == len(service.audit("acme_note.create")) == 1


@pytest.mark.slow
def test_its_setting_is_reported_and_refused_as_those_of_the_service(service, admin, caplog, monkeypatch):
    caplog.clear()
    bad = service.restarted(ACME_NOTES_LIMIT="many")
    assert [record.getMessage() for record in caplog.records] == ["setting ACME_NOTES_LIMIT is malformed"]
    assert bad.user().post(NOTES, {"text": "x"}, 500).json["code"] == "SERVER_MISCONFIGURED"
    bad.user().get(NOTES)
    monkeypatch.setenv("ACME_NOTES_LIMIT", "1")
    other = service.restarted(ACME_NOTES_LIMIT="many").user()
    other.post(NOTES, {"text": "x"})
    other.post(NOTES, {"text": "y"}, 409)


@pytest.mark.slow
def test_its_format_is_read_and_written_by_the_api_and_by_the_pages(service, admin):
    vault, values = Vault(admin), {"GREETING": "Grüße,\t\n", "EMPTY": ""}
    vault.batch(set=values)
    exported = vault.get("secrets:export?format=tsv")
    assert exported.content_type == "text/tab-separated-values"
    dev = Vault(admin, vault.base.replace("prod", "dev"))
    body = {"format": "tsv", "content": exported.body.decode(), "mode": "replace"}
    admin.post(f"{dev.base}/secrets:import", body)
    assert dev.values() == values
    bad = body | {"content": "not a key\t1\nA\t5\n"}
    assert len(admin.post(f"{dev.base}/secrets:import", bad, 422).json["issues"]) == 2
    browser = Browser(service)
    page = browser.open("/projects/shop/environments/dev/import")
    review = submit(page, "/import-review", status=200, format="tsv", content='NEW\t"x"\n', mode="merge")
    submit(review, "/import-apply")
    assert dev.values() == values | {"NEW": "x"}
    download = browser.open("/projects/shop/environments/dev").forms["export"].submit("format", value="tsv")
    assert download.headers["Content-Disposition"].endswith('.tsv"')
    assert download.text.count("\n") == 3


@pytest.mark.slow
def test_it_is_in_the_description(service):
    found = service.nobody().get("/openapi.json").json
    validate(found)
    path = "/projects/{project}/environments/{env}"
    operation = found["paths"][f"{path}/notes"]["post"]
    assert operation["tags"] == ["acme_notes"]
    body = operation["requestBody"]["content"]["application/json"]["schema"]
    assert body == {"$ref": "#/components/schemas/NoteBody"}
    schemas = found["components"]["schemas"]
    assert schemas["NoteBody"]["required"] == ["text"]
    assert "ACME_NOTES_FULL" in schemas["Error"]["properties"]["code"]["enum"]
    conflict = found["components"]["responses"]["409"]["content"]["application/json"]["schema"]
    assert conflict == {"$ref": "#/components/schemas/Error"}
    assert "`ACME_NOTES_FULL`" in found["components"]["responses"]["409"]["description"]
    export = found["paths"][f"{path}/secrets:export"]["get"]
    assert "text/tab-separated-values" in export["responses"]["200"]["content"]
    formats = [one["schema"]["enum"] for one in export["parameters"] if one.get("name") == "format"]
    assert formats == [["env", "json", "shell", "docker", "kubernetes", "tsv"]]
    assert "tsv" in schemas["ImportBody"]["properties"]["format"]["enum"]


@pytest.mark.slow
@pytest.mark.both_engines
def test_a_page_or_an_operation_without_its_session_takes_no_statement_more(service, admin):
    vault = Vault(admin)
    vault.batch(set={"KEY": "x"})
    vault.get("secrets/KEY")
    with recorded(service.engine) as statements:
        vault.get("secrets/KEY")
    assert len(statements) == 3
    admin.get(NOTES)
    with recorded(service.engine) as statements:
        admin.get(NOTES)
    assert len(statements) == 3


@pytest.mark.slow
def test_its_session_is_on_the_connection_and_in_the_transaction_of_the_request(service, admin):
    used = []
    note = lambda connection, *_: used.append(connection.connection.dbapi_connection)  # noqa: E731
    event.listen(service.engine, "before_cursor_execute", note)
    admin.post(NOTES, {"text": "x"})
    event.remove(service.engine, "before_cursor_execute", note)
    assert len(set(map(id, used))) == 1


@pytest.mark.slow
def test_upgrade_heads_down_its_branch_and_up_again(config, database_url):
    assert tables(database_url) == (False, {REVISION})
    command.upgrade(config, "heads")
    assert tables(database_url) == (True, {REVISION, "a001"})
    command.check(config)
    command.downgrade(config, "acme_notes@base")
    assert tables(database_url) == (False, {REVISION})
    command.upgrade(config, "acme_notes@head")
    assert tables(database_url) == (True, {REVISION, "a001"})
    command.downgrade(config, "base")
    assert tables(database_url) == (False, set())
    command.upgrade(config, "heads")
    command.check(config)


def test_with_a_second_branch_head_alone_says_what_to_say_instead(config):
    with pytest.raises(CommandError, match="'heads' for all heads"):
        command.upgrade(config, "head")


@pytest.mark.slow
def test_without_the_plugin_head_goes_on_working(config, database_url, here):
    command.upgrade(config, "heads")
    command.downgrade(config, "acme_notes@base")
    plain = type(config)(here / "production.ini")
    plain.attributes["url"] = database_url
    command.downgrade(plain, "base")
    command.upgrade(plain, "head")
    command.check(plain)
    assert tables(database_url) == (False, {REVISION})


@pytest.mark.slow
def test_a_migration_of_a_plugin_is_written_by_alembic_into_the_plugin(config, database_url, tmp_path):
    """As docs/plugins.md has it for the first one, which begins the branch."""
    (tmp_path / "acme_fresh" / "migrations").mkdir(parents=True)
    found = str(tmp_path / "acme_fresh" / "migrations")
    config.set_main_option(
        "version_locations", f"{config.get_main_option('script_location')}/versions {found}"
    )
    config.set_main_option("path_separator", "space")
    command.upgrade(config, "heads")
    options = {"head": "base", "branch_label": "acme_fresh", "version_path": found, "rev_id": "b001"}
    script = command.revision(config, "things", autogenerate=True, depends_on="0001", **options)
    written = (tmp_path / "acme_fresh" / "migrations" / "b001_things.py").read_text()
    assert script.branch_labels == {"acme_fresh"}
    assert "branch_labels = ('acme_fresh',)" in written
    assert "depends_on = '0001'" in written
    assert "drop_table" not in written


@pytest.mark.slow
def test_the_first_migration_is_written_before_it_is_named(tmp_path, database_url):
    """As docs/plugins.md has it, in processes of their own: the tables are known to this one."""
    package = Path(shutil.copytree(SOURCE / "acme_notes", tmp_path / "acme_notes"))
    migrations, named = package / "migrations", ', migrations="acme_notes:migrations"'
    (migrations / "a001_notes.py").unlink()
    begins = (package / "__init__.py").read_text()
    (package / "__init__.py").write_text(begins.replace(named, ""))
    alembic_config(tmp_path, "acme_notes")
    ini = tmp_path / "plugin.ini"
    complete = ini.read_text()
    located = f"[alembic]\nversion_locations = {ROOT / 'alembic' / 'versions'} {migrations}\n"
    ini.write_text(complete.replace("[alembic]\n", located))

    def alembic(*arguments):
        run = (sys.executable, "-W", "ignore", "-m", "alembic", "-c", str(ini), *arguments)
        given = {**os.environ, "DATABASE_URL": database_url, "PYTHONPATH": str(tmp_path)}
        subprocess.run(run, env=given, cwd=tmp_path, check=True, capture_output=True)

    options = ("--head", "base", "--branch-label", "acme_notes", "--depends-on", "0001")
    alembic("upgrade", "heads")
    path = ("--version-path", str(migrations))
    alembic("revision", "--autogenerate", "-m", "notes", "--rev-id", "a001", *options, *path)
    assert "op.create_table('acme_note'" in (migrations / "a001_notes.py").read_text()
    ini.write_text(complete)
    (package / "__init__.py").write_text(begins)
    alembic("upgrade", "heads")
    assert tables(database_url) == (True, {REVISION, "a001"})
    alembic("check")


@pytest.mark.slow
@pytest.mark.both_engines
def test_it_is_ready_where_its_branch_is_applied_and_only_there(service, config):
    def reasons(service):
        with read_once(service.engine) as connection:
            return database_state(service.app.registry, connection).reasons

    assert reasons(service) == ()
    assert reasons(service.restarted(**{"PYRAMID.INCLUDES": ""})) == ("schema_not_served",)
    command.downgrade(config, "acme_notes@base")
    assert reasons(service) == ("schema_not_served",)
