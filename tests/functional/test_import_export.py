"""`secrets:import` and the round trip of an export (specification, "Secrets" 3 and 5; contract 3.5, 4.12)."""

from __future__ import annotations

import io
import json

import pytest
from dotenv import dotenv_values
from secrets_client import BOTH_SPELLINGS, Vault, records, state

PEM = (
    "-----BEGIN PRIVATE KEY-----\n" + "MIIEvQIBADANBgkq/hkiG9w0+BAQ==\n" * 20 + "-----END PRIVATE KEY-----\n"
)
SHAPES = (
    lambda n: f"sk_live_{n:032x}",
    lambda n: PEM.replace("MIIE", f"MII{n}", 1),
    lambda n: PEM.replace("\n", "\r\n"),
    lambda n: f"postgresql://app:p%40ss#{n}@db.example.com:5432/shop?sslmode=require",
    lambda n: "",
    lambda n: f'say "hello" and it\'s {n}',
    lambda n: f"$HOME/${{HOME}}/$(id)/`id`/{n}",
    lambda n: f"a # no comment {n}",
    lambda n: f"#{n}",
    lambda n: f"\u00fcber \u20ac \U0001f511 \u05e9\u05dc\u05d5\u05dd {n}",
    lambda n: f"back\\slash \\n not a newline \\ {n}\\",
    lambda n: f"  spaces around {n}  ",
    lambda n: f"tab\tbell\a{n}\v\f",
    lambda n: "'" * (n % 5),
    lambda n: json.dumps({"type": "service_account", "key": PEM, "n": n}),
    lambda n: f"export A={n}",
    lambda n: "=" * (n % 7),
    lambda n: "\n\n",
    lambda n: "'\"\\'\\\"",
    lambda n: "A" * 5_000,
)
REAL = {f"SERVICE_{n:03}_{'token' if n % 2 else 'KEY'}": SHAPES[n % len(SHAPES)](n) for n in range(200)}


@pytest.fixture
def dev(vault):
    """The other environment of the project, in the same spelling."""
    return Vault(vault.client, vault.base.replace("prod", "dev"))


@BOTH_SPELLINGS
def test_an_export_as_dotenv_reads_back_to_the_same_values_here_and_in_python_dotenv(vault, dev):
    vault.batch(set=REAL)
    assert vault.values() == REAL
    text = vault.get("secrets:export?format=env").body.decode()
    stream = io.StringIO(text, newline="")
    assert dict(dotenv_values(stream=stream, interpolate=False)) == REAL
    answer = dev.load(text, mode="replace").json
    assert [change["key"] for change in answer["changes"]] == sorted(REAL)
    assert dev.values() == REAL
    assert dev.get("secrets:export?format=env").body.decode() == text


@BOTH_SPELLINGS
def test_an_export_as_json_reads_back_to_the_same_values(vault, dev):
    values = REAL | {"NUL": "a\x00b"}
    vault.batch(set=values)
    exported = vault.get("secrets:export").json["secrets"]
    dev.load(json.dumps(exported), format="json")
    assert dev.values() == values


@BOTH_SPELLINGS
@pytest.mark.parametrize(
    ("format", "content"), [("env", "B=dos\nC=tres"), ("json", '{"B":"dos","C":"tres"}')]
)
def test_an_import_merges_or_replaces(vault, format, content):
    vault.batch(set={"A": "one", "B": "two"}, descriptions={"B": "kept"})
    assert vault.load(content, format=format).json == {
        "rev": 2,
        "changes": [
            {"key": "B", "kind": "changed", "version": 2},
            {"key": "C", "kind": "added", "version": 1},
        ],
        "expandable": [],
    }
    assert vault.values() == {"A": "one", "B": "dos", "C": "tres"}
    assert vault.listed()["B"]["description"] == "kept"
    answer = vault.load(content, format=format, mode="replace").json
    assert answer["changes"][0] == {"key": "A", "kind": "removed", "version": 2}
    assert vault.values() == {"B": "dos", "C": "tres"}


@BOTH_SPELLINGS
def test_a_dry_run_tells_keys_and_kinds_and_writes_nothing(vault, service):
    vault.set(A="correct", B="horse")
    before, known = state(service), service.audit()
    answer = vault.load("B=horse\nC=battery", mode="replace", dry_run=True)
    assert answer.json == {
        "rev": 1,
        "dry_run": True,
        "changes": [
            {"key": "A", "kind": "removed"},
            {"key": "B", "kind": "changed"},
            {"key": "C", "kind": "added"},
        ],
        "expandable": [],
    }
    for value in ("correct", "horse", "battery"):
        assert value not in answer.text
    assert state(service) == before
    assert service.audit() == known
    merged = vault.load("B=horse", dry_run=True).json
    assert merged["changes"] == [{"key": "B", "kind": "changed"}]
    assert vault.load("", dry_run=True).json == {
        "rev": 1,
        "dry_run": True,
        "changes": [],
        "expandable": [],
    }


def test_a_dry_run_tells_what_the_import_then_does(vault):
    vault.set(A="one", B="two", GONE="x")
    vault.batch(delete=["GONE"])
    body = {"mode": "replace", "expected_rev": 2}
    foreseen = vault.load("GONE=back\nB=dos\nNEW=x", dry_run=True, **body).json["changes"]
    done = vault.load("GONE=back\nB=dos\nNEW=x", dry_run=False, **body).json
    assert "dry_run" not in done
    assert [{"key": one["key"], "kind": one["kind"]} for one in done["changes"]] == foreseen
    versions = {one["key"]: one["version"] for one in done["changes"]}
    assert versions == {"A": 2, "B": 2, "GONE": 3, "NEW": 1}


def test_dotenv_is_read_without_interpolation(vault):
    vault.load("A=one\nB=${A}\nC=\"${A}-$A\"\nD='${A:-x}'")
    assert vault.values() == {"A": "one", "B": "${A}", "C": "${A}-$A", "D": "${A:-x}"}


def test_the_environment_of_the_service_does_not_leak_into_an_import(vault, monkeypatch):
    monkeypatch.setenv("INNER", "correct-horse")
    vault.load("A=${INNER}")
    assert vault.value("A") == "${INNER}"


def test_comments_blank_lines_and_export_are_read_as_python_dotenv_reads_them(vault):
    vault.load("# a comment\n\nexport A=one # why\n  B = 'two' \nC=\n")
    assert vault.values() == {"A": "one", "B": "two", "C": ""}


PROBLEMS = [
    ("env", "A=1\nhunter2 hunter2\n", {("content", 2)}),
    ("env", "\n\nA=hunter2\nB='hunter2\n", {("content", 4)}),
    ("env", "A=hunter2\nB=2\nA=hunter2", {("content", 3)}),
    ("env", "HUNTER2_KEY\nA=1", {("content", 1)}),
    ("env", "1hunter2=x\nB-hunter2=y\nC=1", {("content", 1), ("content", 2)}),
    ("env", "K" * 257 + "=hunter2", {("content", 1)}),
    ("json", '{"A": "hunter2", "A": "hunter2"}', {("content.A", None)}),
    ("json", '{"A": "x", "B": 12345678, "C": null}', {("content.B", None), ("content.C", None)}),
    ("json", '{"A": {"hunter2": "x"}}', {("content.A", None)}),
    ("json", '{"A": ["hunter2"]}', {("content.A", None)}),
    ("json", '{"1A": "hunter2"}', {("content.1A", None)}),
    ("json", '["hunter2"]', {("content", None)}),
    ("json", '"hunter2"', {("content", None)}),
    ("json", '{"A": "hunter2"', {("content", None)}),
    ("json", '{"A": "hunter2"} x', {("content", None)}),
    ("json", '{"A": NaN}', {("content", None)}),
    ("json", '{"A": "hunter2\\ud800"}', {("content.A", None)}),
    ("json", "", {("content", None)}),
    ("json", "A=hunter2", {("content", None)}),
]


@pytest.mark.parametrize("dry_run", [False, True])
@pytest.mark.parametrize(("format", "content", "expected"), PROBLEMS)
def test_what_cannot_be_read_is_told_by_line_or_key_and_never_quoted(
    vault, service, format, content, expected, dry_run
):
    before = state(service)
    answer = vault.load(content, 422, format=format, dry_run=dry_run)
    assert answer.json["code"] == "VALIDATION_FAILED"
    issues = answer.json["issues"]
    assert {issue["path"] for issue in issues} == {path for path, _ in expected}
    for _, line in expected:
        if line is not None:
            assert any(issue["message"].startswith(f"Line {line}:") for issue in issues)
    assert len(issues) == len(expected)
    assert "hunter2" not in answer.text.lower()
    assert "12345678" not in answer.text
    assert state(service) == before


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"format": "yaml"}, "format"),
        ({"format": None}, "format"),
        ({"mode": "upsert"}, "mode"),
        ({"content": None}, "content"),
        ({"content": {"A": "x"}}, "content"),
        ({"content": "\ud800"}, "content"),
        ({"dry_run": 1}, "dry_run"),
        ({"dry_run": "true"}, "dry_run"),
        ({"dry_run": None}, "dry_run"),
        ({"expected_rev": "0"}, "expected_rev"),
        ({"reason": "r" * 513}, "reason"),
        ({"set": {}}, "set"),
        ({"descriptions": {}}, "descriptions"),
    ],
)
def test_a_body_outside_the_schema_is_refused(vault, body, path):
    whole = {"format": "env", "mode": "merge", "content": "A=x"} | body
    assert [issue["path"] for issue in vault.post("import", whole, 422).json["issues"]] == [path]
    assert vault.rev == 0


def test_format_content_and_mode_are_required(vault):
    issues = vault.post("import", {}, 422).json["issues"]
    assert {issue["path"] for issue in issues} == {"format", "content", "mode"}


def test_an_import_of_nothing_changes_nothing(vault, service):
    vault.set(A="one")
    known = len(records(service))
    for format, content in (("env", ""), ("env", "# only a comment\n"), ("json", "{}")):
        assert vault.load(content, format=format).json == {"rev": 1, "changes": [], "expandable": []}
    assert len(records(service)) == known
    vault.load("", mode="replace")
    assert vault.values() == {}


def test_an_import_is_one_revision_and_one_record(vault, service):
    vault.load("".join(f"K{number}=x\n" for number in range(40)), reason="moving in")
    assert vault.rev == 1
    (row,) = records(service)
    assert (row["action"], row["reason"]) == ("secret.import", "moving in")


@pytest.mark.parametrize("format", ["env", "json"])
def test_an_import_is_too_large_from_the_first_secret_over_the_limit_on(service, admin, format):
    """What follows it is not looked at, so it may be anything that the format's reader would refuse."""
    vault = Vault(service.restarted(ENV_MAX_SECRETS="3").user())
    pairs = {f"K{number}": "" for number in range(4)}
    good = "".join(f"{key}=\n" for key in pairs) if format == "env" else json.dumps(pairs)
    bad = good + "malformed\n" if format == "env" else good[:-1] + ', "K0": 1}'
    for content in (good, bad):
        for dry_run in (False, True):
            refused = vault.load(content, 413, format=format, dry_run=dry_run).json
            assert (refused["code"], refused["message"]) == (
                "PAYLOAD_TOO_LARGE",
                "An environment holds at most 3 secrets.",
            )
    assert vault.values() == {}
