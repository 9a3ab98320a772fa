"""`GET …/secrets:compare` (contract 5.3)."""

from __future__ import annotations

import pytest
from envelopes import noted
from rotation import NEW_KEY, rotated
from secrets_client import BOTH_SPELLINGS, Vault, state, tamper
from service import arrange
from statements import recorded

from secretsvc.secrets.queries.contents import INLINE_BYTES as SHORT

DEV = "/projects/shop/environments/dev"
WITH_DEV = "secrets:compare?project=shop&environment=dev"
KEYS = {"key", "kind", "version", "with_version"}


@pytest.fixture
def dev(vault):
    """Another environment of the project."""
    return Vault(vault.client, DEV)


def kinds(answer):
    return {item["key"]: item["kind"] for item in answer.json["items"]}


def rows(answer):
    return [
        (item["key"], item["kind"], item["version"], item["with_version"]) for item in answer.json["items"]
    ]


def paths(answer):
    return [issue["path"] for issue in answer.json["issues"]]


@BOTH_SPELLINGS
def test_every_key_of_either_side_is_told_sorted_with_its_versions(vault, dev):
    vault.set(SAME="x", OTHER="mine", MINE="x")
    vault.set(SAME="x")
    dev.set(SAME="x", OTHER="theirs", THEIRS="x")
    answer = vault.get(WITH_DEV)
    assert answer.json == {
        "rev": 2,
        "with_rev": 1,
        "items": [
            {"key": "MINE", "kind": "here", "version": 1, "with_version": None},
            {"key": "OTHER", "kind": "differs", "version": 1, "with_version": 1},
            {"key": "SAME", "kind": "same", "version": 2, "with_version": 1},
            {"key": "THEIRS", "kind": "there", "version": None, "with_version": 1},
        ],
    }


def test_two_empty_environments_have_nothing_to_tell(vault, dev):
    assert vault.get(WITH_DEV).json == {"rev": 0, "with_rev": 0, "items": []}
    dev.set(A="x")
    assert rows(vault.get(WITH_DEV)) == [("A", "there", None, 1)]


def test_values_are_the_same_or_differ_by_every_byte(vault, dev):
    values = ("", " ", "é", "e\u0301", "x" * 60_000, "x" * 59_999 + "y", "\U0001f600", "\x00")
    for number, value in enumerate(values):
        dev.set(**{f"K{number}": value})
        vault.set(**{f"K{number}": value})
    assert {*kinds(vault.get(WITH_DEV)).values()} == {"same"}
    dev.set(**{f"K{number}": value for number, value in enumerate((*values[1:], values[0]))})
    assert {*kinds(vault.get(WITH_DEV)).values()} == {"differs"}


@BOTH_SPELLINGS
def test_with_neither_project_nor_environment_it_is_this_environment(vault):
    vault.set(A="one", B="x")
    vault.set(A="two")
    vault.batch(delete=["B"])
    vault.batch(set={"B": "x", "A": "one"})
    answer = vault.get("secrets:compare?rev=1&with_rev=4")
    assert (answer.json["rev"], answer.json["with_rev"]) == (1, 4)
    assert rows(answer) == [("A", "same", 1, 3), ("B", "same", 1, 3)]
    assert rows(vault.get("secrets:compare?rev=3")) == [("A", "differs", 2, 3), ("B", "there", None, 3)]


def test_both_revisions_default_to_the_present_ones(vault, dev):
    vault.set(A="one")
    vault.set(A="two")
    dev.set(A="two")
    dev.set(A="one")
    assert kinds(vault.get(WITH_DEV)) == {"A": "differs"}
    for query, there in (("rev=1", (1, 2)), ("with_rev=1", (2, 1)), ("rev=1&with_rev=2", (1, 2))):
        answer = vault.get(f"{WITH_DEV}&{query}")
        assert kinds(answer) == {"A": "same"}
        assert (answer.json["rev"], answer.json["with_rev"]) == there
    assert rows(vault.get("secrets:compare")) == [("A", "same", 2, 2)]


def test_revision_0_is_empty(vault, dev):
    vault.set(A="x")
    assert rows(vault.get("secrets:compare?rev=0")) == [("A", "there", None, 1)]
    assert rows(vault.get("secrets:compare?with_rev=0")) == [("A", "here", 1, None)]
    assert vault.get("secrets:compare?rev=0&with_rev=0").json["items"] == []


@BOTH_SPELLINGS
def test_one_of_project_and_environment_without_the_other_is_422_at_the_missing_one(vault):
    assert paths(vault.get("secrets:compare?project=shop", 422)) == ["environment"]
    assert paths(vault.get("secrets:compare?environment=dev", 422)) == ["project"]
    assert paths(vault.get("secrets:compare?project=Shop&environment=dev", 422)) == ["project"]
    assert paths(vault.get("secrets:compare?rev=-1", 422)) == ["rev"]
    assert paths(vault.get("secrets:compare?values=1", 422)) == ["values"]


@BOTH_SPELLINGS
def test_a_later_revision_is_404_on_either_side(vault, dev):
    vault.set(A="x")
    for query in ("rev=2", "with_rev=2"):
        assert vault.get(f"secrets:compare?{query}", 404).json["message"] == "Revision not found."
    for query in ("rev=2", "with_rev=1"):
        assert vault.get(f"{WITH_DEV}&{query}", 404).json["message"] == "Revision not found."


@pytest.mark.both_engines
def test_an_envelope_that_cannot_be_opened_makes_its_key_unreadable(vault, dev, service):
    for key in ("BOTH", "HERE_BAD", "THERE_BAD"):
        vault.set(**{key: "x"})
    tamper(service, "HERE_BAD")
    tamper(service, "BOTH")
    dev.set(BOTH="x", HERE_BAD="x", THERE_BAD="x")
    overwrite_in(service, "dev", "THERE_BAD", kid="0123456789abcdef")
    assert kinds(vault.get(WITH_DEV)) == dict.fromkeys(("BOTH", "HERE_BAD", "THERE_BAD"), "unreadable")
    assert kinds(dev.get("secrets:compare?project=shop&environment=prod")) == dict.fromkeys(
        ("BOTH", "HERE_BAD", "THERE_BAD"), "unreadable"
    )


def overwrite_in(service, slug, key, **columns):
    """Changes the first version of a key of one environment behind the service's back."""
    names = ", ".join(f"{name} = '{value}'" for name, value in columns.items())
    service.execute(
        f"UPDATE secret_version SET {names} WHERE secret_id = (SELECT secret.id FROM secret"  # noqa: S608
        " JOIN environment ON environment.id = secret.environment_id"
        f" WHERE environment.slug = '{slug}' AND secret.key = '{key}')"
    )


def test_the_same_version_of_the_same_environment_is_same_in_any_case(vault, service):
    vault.set(A="x", B="x")
    vault.set(B="y")
    tamper(service, "A")
    tamper(service, "B", version=2)
    assert kinds(vault.get("secrets:compare?rev=1")) == {"A": "same", "B": "unreadable"}
    assert kinds(vault.get("secrets:compare")) == {"A": "same", "B": "same"}


def test_a_key_of_one_side_is_here_or_there_whether_or_not_it_can_be_opened(vault, dev, service):
    vault.set(MINE="x")
    dev.set(THEIRS="x")
    tamper(service, "MINE")
    tamper(service, "THEIRS")
    assert rows(vault.get(WITH_DEV)) == [("MINE", "here", 1, None), ("THEIRS", "there", None, 1)]


def test_a_secret_without_its_version_is_unreadable_and_not_left_out(vault, dev, service):
    vault.set(A="x")
    dev.set(A="x")
    service.execute("DELETE FROM secret_version")
    assert rows(vault.get(WITH_DEV)) == [("A", "unreadable", 1, 1)]


@BOTH_SPELLINGS
def test_nothing_is_audited_and_nothing_is_written(vault, dev, service):
    vault.set(A="x")
    dev.set(A="y")
    before, known = state(service), len(service.audit())
    vault.get(WITH_DEV)
    vault.get("secrets:compare?rev=0")
    assert state(service) == before
    assert len(service.audit()) == known


def test_values_never_leave(vault, dev):
    vault.batch(set={"A": "hunter2-mine"}, descriptions={"A": "hunter2-described"})
    dev.set(A="hunter2-theirs")
    answer = vault.get(WITH_DEV)
    assert "hunter2" not in answer.text
    assert {*answer.json["items"][0]} == KEYS


@BOTH_SPELLINGS
def test_whoever_reads_here_but_not_there_gets_the_404_of_there(vault, dev, service):
    ada = Vault(service.user("ada@example.com"), vault.base)
    service.grant("ada@example.com", "reader", "shop/prod")
    refused = ada.get(WITH_DEV, 404)
    assert refused.json["message"] == "Environment not found."
    absent = ada.get(WITH_DEV.replace("=dev", "=nowhere"), 404)
    assert absent.json | {"request_id": ""} == refused.json | {"request_id": ""}
    (denied,) = service.denials()
    assert denied["action"] == "authz.environment.reader"
    assert denied["environment_id"] == service.scope("shop/dev")["environment_id"]
    other = ada.get("secrets:compare?project=depot&environment=dev", 404)
    assert other.json["message"] == "Project not found."


@BOTH_SPELLINGS
def test_whoever_reads_there_but_not_here_gets_the_404_of_here(vault, dev, service):
    ada = Vault(service.user("ada@example.com"), vault.base)
    service.grant("ada@example.com", "reader", "shop/dev")
    assert ada.get(WITH_DEV, 404).json["message"] == "Environment not found."
    (denied,) = service.denials()
    assert denied["environment_id"] == service.scope("shop/prod")["environment_id"]


def test_a_reader_of_both_may_compare(vault, dev, service):
    ada = Vault(service.user("ada@example.com"))
    service.grant("ada@example.com", "reader", "shop")
    vault.set(A="x")
    assert kinds(ada.get(WITH_DEV)) == {"A": "here"}
    service.grant("ada@example.com", "writer", "shop")
    assert kinds(ada.get(WITH_DEV)) == {"A": "here"}


def test_only_versions_that_differ_are_opened(vault, monkeypatch):
    vault.set(**{f"K{number}": "x" for number in range(5)})
    vault.set(K1="y", NEW="z")
    opened = noted(monkeypatch)
    vault.get("secrets:compare?rev=1")
    assert sorted(opened) == [("K1", 1), ("K1", 2)]


def test_values_under_two_master_keys_are_compared_and_one_that_no_key_opens_is_not(vault, dev, service):
    for where in (vault, dev):
        where.set(SAME="x", OTHER="x")
    both = Vault(rotated(service).user())
    Vault(both.client, DEV).set(SAME="x", OTHER="y")
    assert kinds(both.get(WITH_DEV)) == {"SAME": "same", "OTHER": "differs"}
    alone = Vault(service.restarted(MASTER_KEY=NEW_KEY).user())
    assert kinds(alone.get(WITH_DEV)) == {"SAME": "unreadable", "OTHER": "unreadable"}


@pytest.mark.both_engines
@pytest.mark.parametrize(("length", "most"), [(1, 4), (SHORT, 6)])
@pytest.mark.parametrize("count", [1, 300])
def test_a_comparison_takes_the_snapshot_and_four_statements_or_six_for_long_values(
    make_service, count, length, most
):
    service = make_service(LAST_SEEN_RESOLUTION="3600000")
    admin = arrange(service, "shop", "prod", "dev")
    vault, dev = Vault(admin), Vault(admin, DEV)
    for letter, where in (("x", vault), ("y", dev), ("z", vault)):
        where.batch(set={f"K{number}": letter * length for number in range(count)})
    for path in (WITH_DEV, "secrets:compare?rev=1"):
        with recorded(service.engine) as statements:
            vault.get(path)
        assert len(statements) == 1 + most, statements
