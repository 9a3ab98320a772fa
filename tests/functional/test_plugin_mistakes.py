"""What a plugin does wrong stops the start, and Alembic, with one line that says what to do."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from alembic.util.exc import CommandError
from plugins import alembic_config
from pyramid.exceptions import ConfigurationError

import secretsvc
from alembic import command

PREAMBLE = """
import colander
from sqlalchemy import Column, Integer, Table
from secretsvc.db.base import Base
from secretsvc.kernel.errors import Conflict, SecretsvcError
from secretsvc.kernel.parsers import integer
from secretsvc.projects.resources import Environment, Project
from secretsvc.web.schema import Body, Document, Type, Variants, required
from secretsvc.web.tree import Node

class Colour(Type):
    pass

class Strange(Body):
    colour = required(Colour())

class Foreign(Body):
    colour = required(colander.String())

class RenameBody(Body):
    pass

class Lost(Node):
    pass

class Full(SecretsvcError):
    code = "ACME_FULL"
    default_message = "Full."

class Mute(SecretsvcError):
    pass

def view(context, request):
    return {}

operation = dict(context=Environment, name="odd", operation_id="odd", role="reader", response=Document())
operation["summary"] = "Odd"

def includeme(config):
"""
ROLES = "take one of admin, admin somewhere, any identity, reader, visible, writer"
OPERATION = "config.add_api_view(view, **operation | {})"
TYPE = "has no json_schema(): derive it from secretsvc.web.schema.Type and return its JSON Schema there"

WRONG = {
    "a schema with the name of another": (
        OPERATION.format("dict(method='POST', body=RenameBody())"),
        "two schemas are called RenameBody and differ: give one of their classes another name",
    ),
    "a type of its own that does not describe itself": (
        OPERATION.format("dict(method='POST', body=Strange())"),
        f"body of the operation odd: acme_wrong.Colour {TYPE}",
    ),
    "a type of colander": (
        OPERATION.format("dict(method='POST', body=Foreign())"),
        f"body of the operation odd: colander.String {TYPE}",
    ),
    "a query of open fields": (
        OPERATION.format("dict(query=Variants('colour', {}))"),
        "operation odd has a query of fields that are not known: derive it from secretsvc.web.schema.Body",
    ),
    "a status that no error has": (
        OPERATION.format("dict(errors=(418,))"),
        "operation odd names the status 418, which no error has: add one by config.add_error",
    ),
    "an operation that does not say what it answers": (
        "operation.pop('response')\n" + OPERATION.format("{}"),
        "acme_wrong.view does not say what it answers: annotate what it returns, or declare a response",
    ),
    "an operation outside of the tree": (
        OPERATION.format("dict(context=Lost)"),
        "operation odd is on Lost, which is not in the tree: hang it there by config.add_tree_child, or it"
        " below another",
    ),
    "a module without tables": (
        "config.add_models('colander')",
        "colander has no table: derive its models from secretsvc.db.base.Base",
    ),
    "a setting whose name is taken": (
        "config.add_setting('rate_limit', integer(1, 9))",
        "setting 'rate_limit' cannot be added: take a lower-case name with your package's first, such as"
        " acme_notes_limit",
    ),
    "a setting whose name is malformed": (
        "config.add_setting('ACME-LIMIT', integer(1, 9))",
        "setting 'ACME-LIMIT' cannot be added: take a lower-case name with your package's first, such as"
        " acme_notes_limit",
    ),
    "a setting without a parser": (
        "config.add_setting('acme_limit', 5)",
        "setting 'acme_limit' has no parser: give a function from text to its value",
    ),
    "an error that is none": (
        "config.add_error(ValueError, 409)",
        "ValueError is no error of secretsvc: derive it from secretsvc.kernel.errors.SecretsvcError",
    ),
    "an error without a code": (
        "config.add_error(Mute, 409)",
        "error Mute needs a code in capitals, such as NOTE_LOCKED, and a default_message",
    ),
    "an error of success": (
        "config.add_error(Full, 200)",
        "error ACME_FULL has the status 200: take one from 400 to 599",
    ),
    "a malformed audit action": (
        "config.add_audit_action('Painted!')",
        "audit action 'Painted!': take a thing and a verb, such as acme_note.create",
    ),
    "an operation for a role that there is not": (
        OPERATION.format("dict(role='writter')"),
        f"operation odd has the role 'writter': {ROLES}",
    ),
    "a page for a role that there is not": (
        "config.add_page(view, context=Environment, name='odd', role='writter')",
        f"view odd of Environment has the role 'writter': {ROLES}",
    ),
    "a tab for a role that there is not": (
        "config.add_tab('Odd', context=Environment, name='odd', role='writter')",
        f"tab Odd has the role 'writter': {ROLES}",
    ),
    "an entry of the navigation for a role that there is not": (
        "config.add_navigation('Odd', '/odd', role='writter')",
        f"navigation /odd has the role 'writter': {ROLES}",
    ),
    "an error link for a role that there is not": (
        "config.add_error_link('Odd', view, role='writter')",
        f"error link Odd has the role 'writter': {ROLES}",
    ),
    "an error link whose path is a text": (
        "config.add_error_link('Odd', '/odd', role='admin')",
        "error link Odd needs a function, not '/odd'",
    ),
    "an observer that cannot be called": (
        "config.add_request_observer('odd', 5)",
        "request observer odd needs a function, not 5",
    ),
    "a key provider that cannot be called": (
        "config.add_key_provider('odd', 5)",
        "key provider odd needs a function, not 5",
    ),
    "a done message that is none": (
        "config.add_flash_message('odd', None)",
        "done odd needs a function, not None",
    ),
    "a finder of activity that cannot be called": (
        "config.set_recent_activity(None)",
        "find of set_recent_activity needs a function, not None",
    ),
    "a page of what is no address": (
        "config.add_page(view, context=dict, role='reader')",
        "<class 'dict'> is no address: derive it from secretsvc.web.tree.Node",
    ),
    "a child that is no address": (
        "config.add_tree_child(Project, 'odd', dict)",
        "<class 'dict'> is no address: derive it from secretsvc.web.tree.Node",
    ),
    "a page without its template": (
        "config.add_page(view, context=Environment, name='odd', role='reader', template='colander:odd.pt')",
        "there is no template 'colander:odd.pt': name a file, as package:folder/file.pt",
    ),
    "a format that does nothing": (
        "config.add_format('tsv')",
        "format 'tsv' neither reads nor writes: give read=, write= or both",
    ),
    "a format with a malformed name": (
        "config.add_format('.TSV', read=view)",
        "format '.TSV': take a lower-case word, such as a file's extension",
    ),
    "a format that takes the place of the API's own answer": (
        "config.add_format('tsv', write=view, media='application/json')",
        "format 'tsv' has the media type 'application/json': take one of its own, such as text/x-notes",
    ),
}
TWICE = {
    "models secretsvc.tables.projects": "config.add_models('secretsvc.tables.projects')",
    "setting acme_limit": "config.add_setting('acme_limit', integer(1, 9))",
    "error ACME_FULL": "config.add_error(Full, 409)",
    "error CONFLICT": "config.add_error(Conflict, 409)",
    "audit action acme.paint": "config.add_audit_action('acme.paint')",
    "format tsv": "config.add_format('tsv', read=view)",
    "request observer odd": "config.add_request_observer('odd', view)",
    "key provider safe": "config.add_key_provider('safe', view)",
    "tree child odd of Project": "config.add_tree_child(Project, 'odd', Lost)",
    "navigation /odd": "config.add_navigation('Odd', '/odd')",
    "tab Odd of Project": "config.add_tab('Odd', context=Project, name='odd', role='reader')",
    "done odd": "config.add_flash_message('odd', 'Odd.')",
    "operation odd": OPERATION.format("{}"),
    "view Environment of odd": "config.add_page(view, context=Environment, name='odd', role='reader')",
}


@pytest.fixture
def start(tmp_path, monkeypatch):
    """Starts the application with a plugin that does this."""

    def make(body):
        lines = "".join(f"    {line}\n" for line in body.splitlines())
        (tmp_path / "acme_wrong.py").write_text(PREAMBLE + lines)
        monkeypatch.syspath_prepend(tmp_path)
        monkeypatch.delitem(sys.modules, "acme_wrong", raising=False)
        return secretsvc.configure({"pyramid.includes": "acme_wrong"})

    return make


@pytest.mark.parametrize("body", [body for body, _ in WRONG.values()], ids=WRONG)
def test_each_mistake_stops_the_start_with_one_line_that_says_what_to_do(start, body):
    told = dict(WRONG.values())[body]
    with pytest.raises(ConfigurationError) as caught:
        start(body)
    assert str(caught.value) == told


@pytest.mark.parametrize("name", TWICE)
def test_two_of_one_name_stop_the_start_with_one_line_that_names_both(start, name, tmp_path):
    with pytest.raises(ConfigurationError) as caught:
        start(f"{TWICE[name]}\n{TWICE[name]}")
    line = str(caught.value)
    assert line.startswith(f"there are two of {name}: take one out or rename it (")
    assert "acme_wrong.py:" in line
    assert "\n" not in line


@pytest.mark.parametrize(
    "line",
    [
        "config.add_tab('Odd', context={}, name='odd', role='reader')",
        "config.add_tree_child({}, 'odd', Lost)",
    ],
)
def test_a_node_class_is_the_same_by_its_dotted_name(start, line):
    dotted = "'secretsvc.projects.resources.Project'"
    with pytest.raises(ConfigurationError, match=r"there are two of .* of Project: "):
        start(f"{line.format('Project')}\n{line.format(dotted)}")


MIGRATION = """
revision = {!r}
down_revision = {!r}
branch_labels = {!r}
"""
BRANCHES = {
    "no label": (
        [("a001", None, None)],
        "acme_tables:migrations: migration a001 has no branch label of its own: give it branch_labels ="
        ' ("acme_tables",)',
    ),
    "no branch of its own": (
        [("a001", "0003", "acme")],
        "acme_tables:migrations has 0 first migrations: give one of them down_revision = None, and let"
        " depends_on name what it needs of others",
    ),
    "nothing": (
        [],
        "acme_tables:migrations has 0 first migrations: give one of them down_revision = None, and let"
        " depends_on name what it needs of others",
    ),
    "two ends": (
        [("a001", None, "acme"), ("a002", "a001", None), ("a003", "a001", None)],
        "acme_tables:migrations ends in a002, a003: make them one by `alembic merge`",
    ),
    "a step into nothing": (
        [("a001", None, "acme"), ("a003", "a002", None)],
        "acme_tables:migrations: nothing there is a002, which a down_revision names",
    ),
    "a number of ours": (
        [("0004", None, "acme")],
        "acme_tables:migrations: revision 0004 is of secretsvc's own kind: give it another name",
    ),
}


@pytest.fixture
def tables(tmp_path, monkeypatch):
    """A package with these migrations, whose table is one that is there already: no other test may see it."""

    def make(migrations, name="acme_tables"):
        folder = tmp_path / name / "migrations"
        folder.mkdir(parents=True)
        (folder.parent / "__init__.py").write_text(
            f"def includeme(config):\n    config.add_models('.models', migrations='{name}:migrations')\n"
        )
        (folder.parent / "models.py").write_text("from secretsvc.tables.projects import project\n")
        for one in migrations:
            (folder / f"{one[0]}.py").write_text(MIGRATION.format(*one))
        monkeypatch.syspath_prepend(tmp_path)
        for module in (name, f"{name}.models"):
            monkeypatch.delitem(sys.modules, module, raising=False)

    return make


@pytest.mark.slow
@pytest.mark.parametrize("wrong", BRANCHES)
def test_migrations_that_are_no_branch_stop_the_start_and_alembic(tables, tmp_path, wrong):
    migrations, told = BRANCHES[wrong]
    tables(migrations)
    with pytest.raises(ConfigurationError) as caught:
        secretsvc.configure({"pyramid.includes": "acme_tables"})
    assert str(caught.value) == told
    with pytest.raises(CommandError) as failed:
        command.upgrade(alembic_config(tmp_path, "acme_tables", "sqlite://"), "heads")
    assert str(failed.value) == told


@pytest.mark.parametrize(
    ("script", "arguments"),
    [
        pytest.param(
            "alembic.config", ("-c", "{}", "upgrade", "heads"), id="alembic", marks=pytest.mark.slow
        ),
        pytest.param("secretsvc.commands", ("verify", "{}"), id="secretsvc-server"),
    ],
)
def test_scripts_say_that_one_line_and_no_more(tables, tmp_path, script, arguments):
    migrations, told = BRANCHES["two ends"]
    tables(migrations)
    alembic_config(tmp_path, "acme_tables")
    run = (sys.executable, "-W", "ignore", "-c", f"from {script} import main; main()")
    given = [argument.format(tmp_path / "plugin.ini") for argument in arguments]
    path = {"PYTHONPATH": str(tmp_path), "COLUMNS": "999"}
    done = subprocess.run(
        [*run, *given], env={**os.environ, **path}, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    # Alembic logs it, too.
    assert {told in line for line in (done.stdout + done.stderr).strip().splitlines()} == {True}


@pytest.mark.parametrize(
    ("other", "shared"), [((("a001", None, "other"),), "a001"), ((("b001", None, "acme"),), "acme")]
)
def test_two_packages_of_one_revision_or_label_stop_the_start(tables, other, shared):
    tables([("a001", None, "acme")])
    tables(other, "acme_others")
    with pytest.raises(ConfigurationError) as caught:
        secretsvc.configure({"pyramid.includes": "acme_tables acme_others"})
    assert str(caught.value) == (
        f"acme_others:migrations and acme_tables:migrations both name {shared}: rename it in one"
    )
