"""Exports in the formats of contract 5.8, one value as it is, and what imports say of `$`."""

from __future__ import annotations

import base64

import pytest
import yaml
from secrets_client import BOTH_SPELLINGS, PLAINTEXT_HEADERS

HARD = {"A": "it's $HOME `x`", "B": "two\nlines\n", "C": ""}
TEXT = "text/plain; charset=utf-8"


def reads(service):
    return [(row["action"], row["detail"]) for row in service.audit() if row["action"].startswith("secret.")]


@BOTH_SPELLINGS
def test_shell_is_lines_that_export(vault):
    vault.set(**HARD)
    answer = vault.get("secrets:export?format=shell")
    assert answer.text == "export A='it'\\''s $HOME `x`'\nexport B='two\nlines\n'\nexport C=''\n"
    assert answer.headers["Content-Type"] == TEXT
    assert answer.headers["ETag"] == '"1"'
    for name, value in PLAINTEXT_HEADERS.items():
        assert answer.headers[name] == value


@BOTH_SPELLINGS
def test_docker_is_lines_verbatim(vault):
    vault.set(A="it's $HOME `x`", B=" 'quoted' #no comment ")
    answer = vault.get("secrets:export?format=docker")
    assert answer.text == "A=it's $HOME `x`\nB= 'quoted' #no comment \n"
    assert answer.headers["Content-Type"] == TEXT


@BOTH_SPELLINGS
def test_kubernetes_is_a_secret_named_after_the_environment_or_as_asked(vault):
    vault.set(**HARD)
    for query, name in (("", "prod"), ("&name=shop.prod-1", "shop.prod-1")):
        answer = vault.get(f"secrets:export?format=kubernetes{query}")
        assert answer.headers["Content-Type"] == "application/yaml"
        found = yaml.safe_load(answer.body)
        assert (found["kind"], found["metadata"]) == ("Secret", {"name": name})
        assert {key: base64.b64decode(one).decode() for key, one in found["data"].items()} == HARD


@pytest.mark.parametrize(
    "name", ["", "Upper", "-a", "a-", "a..b", "a_b", ".a", "a" * 64, "a." * 127 + "a", "%C3%A9"]
)
def test_a_name_that_is_no_dns_subdomain_is_a_422(vault, name):
    answer = vault.get(f"secrets:export?format=kubernetes&name={name}", 422)
    assert [issue["path"] for issue in answer.json["issues"]] == ["name"]


@pytest.mark.parametrize("format", ["json", "env", "shell", "docker"])
def test_a_name_with_another_format_is_a_422(vault, service, format):
    answer = vault.get(f"secrets:export?format={format}&name=shop", 422)
    assert [issue["path"] for issue in answer.json["issues"]] == ["name"]
    assert reads(service) == []


CANNOT = [
    ("docker", {"A": "ok", "B": "two\nlines", "C": "nul\0", "D": "end\r"}, ["B", "C", "D"]),
    ("shell", {"A": "nul\0", "B": "ok", "PPID": "first", "UID": "second"}, ["A", "PPID", "UID"]),
]


@pytest.mark.parametrize(("format", "values", "refused"), CANNOT)
@pytest.mark.parametrize("query", ["", "&rev=1"])
def test_what_a_format_cannot_carry_is_a_422_for_each_key_gives_nothing_and_is_not_audited(
    vault, service, format, values, refused, query
):
    vault.set(**values)
    known = reads(service)
    answer = vault.get(f"secrets:export?format={format}{query}", 422)
    assert answer.json["code"] == "VALIDATION_FAILED"
    assert [issue["path"] for issue in answer.json["issues"]] == [f"secrets.{key}" for key in refused]
    assert reads(service) == known
    for value in values.values():
        assert value not in answer.text


@pytest.mark.parametrize("format", ["shell", "docker", "kubernetes", "env"])
def test_an_export_in_a_format_is_recorded_as_one_in_json(vault, service, format):
    vault.set(A="1", B="2")
    vault.set(A="3")
    before = len(service.audit("secret.export"))
    vault.get(f"secrets:export?format={format}&reason=run")
    vault.get(f"secrets:export?format={format}&rev=1")
    rows = service.audit("secret.export")[before:]
    assert [(row["reason"], row["detail"]) for row in rows] == [
        ("run", '{"rev":2,"count":2}'),
        ("export", '{"rev":1,"count":2}'),
    ]


def test_an_older_revision_comes_in_a_format_too(vault):
    vault.set(A="old")
    vault.set(A="new")
    answer = vault.get("secrets:export?format=shell&rev=1")
    assert (answer.text, answer.headers["ETag"]) == ("export A='old'\n", '"1"')


@BOTH_SPELLINGS
@pytest.mark.parametrize("verb", ["", ":reveal"])
def test_raw_is_the_value_and_nothing_else(vault, service, verb):
    vault.set(A="one\r\n\ttwo é\0")
    answer = vault.get(f"secrets/A{verb}?format=raw")
    assert answer.body == "one\r\n\ttwo é\0".encode()
    assert answer.headers["Content-Type"] == TEXT
    for name, value in PLAINTEXT_HEADERS.items():
        assert answer.headers[name] == value
    assert vault.get(f"secrets/A{verb}?format=json").json == {"key": "A", "value": "one\r\n\ttwo é\0"}
    assert [row["detail"] for row in service.audit("secret.reveal")] == ['{"key":"A","version":1}'] * 2


def test_raw_gives_an_older_version_too(vault):
    vault.set(A="old")
    vault.set(A="new")
    assert vault.get("secrets/A?format=raw&version=1").text == "old"


def test_another_format_of_one_value_is_a_422(vault):
    vault.set(A="x")
    for format in ("text", "env", "", "RAW"):
        (issue,) = vault.get(f"secrets/A?format={format}", 422).json["issues"]
        assert issue["path"] == "format"


EXPANDABLE = {
    "A": "$HOME",
    "B": "${X}",
    "C": "a$_b",
    "D": "$",
    "E": "$1",
    "F": "cost: $ 5",
    "G": "$$x",
    "H": "$(date)",
    "I": "\\$x",
    "J": "${",
}


@BOTH_SPELLINGS
@pytest.mark.parametrize("dry_run", [False, True])
@pytest.mark.parametrize("mode", ["merge", "replace"])
def test_an_import_names_the_keys_whose_values_other_readers_might_expand(vault, dry_run, mode):
    vault.set(OTHER="$HOME")
    content = "".join(f"{key}='{value}'\n" for key, value in EXPANDABLE.items())
    answer = vault.load(content, mode=mode, dry_run=dry_run)
    assert answer.json["expandable"] == ["A", "B", "C", "G", "I", "J"]


def test_other_writes_do_not_speak_of_it(vault):
    assert "expandable" not in vault.batch(set={"A": "$HOME"}).json
