"""`If-Match` and `expected_rev` (specification, "Concurrency"; contract 4.6)."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from secrets_client import BOTH_SPELLINGS, Vault, records, state

WRITES = {
    "batch": {"mode": "merge", "set": {"A": "new", "B": "new"}},
    "import": {"format": "env", "mode": "merge", "content": "A=new\nB=new"},
}
both_writes = pytest.mark.parametrize("verb", WRITES)


@pytest.fixture
def vault(vault):
    """An environment at revision 3."""
    for value in "one", "two", "three":
        vault.set(A=value)
    return vault


def send(vault, verb, header, expected_rev, status):
    body = WRITES[verb] | ({} if expected_rev is None else {"expected_rev": expected_rev})
    return vault.post(verb, body, status, headers={} if header is None else {"If-Match": header})


@both_writes
@pytest.mark.parametrize(
    ("header", "expected_rev"),
    [
        (None, None),
        ("*", None),
        ('"3"', None),
        ('W/"3"', None),
        (None, 3),
        ("*", 3),
        ('"3"', 3),
        ('W/"3"', 3),
    ],
)
def test_a_precondition_that_holds_lets_the_write_pass(vault, verb, header, expected_rev):
    assert send(vault, verb, header, expected_rev, 200).json["rev"] == 4
    assert vault.values() == {"A": "new", "B": "new"}


@pytest.mark.parametrize(
    ("header", "expected_rev"),
    [
        ('"2"', None),
        ('"4"', None),
        ('"0"', None),
        ('W/"2"', None),
        ('"9007199254740993"', None),
        (None, 2),
        (None, 4),
        (None, 0),
        ('"2"', 2),
        ('W/"2"', 2),
        ("*", 2),
    ],
)
def test_a_precondition_that_fails_changes_nothing(vault, service, header, expected_rev):
    before, known = state(service), len(records(service))
    for verb in WRITES:
        assert send(vault, verb, header, expected_rev, 412).json["code"] == "PRECONDITION_FAILED"
    assert state(service) == before
    assert len(records(service)) == known


@pytest.mark.parametrize(
    ("header", "expected_rev"),
    [
        ('"3"', 2),
        ('"2"', 3),
        ('W/"2"', 3),
        ('"1"', 2),
        ('"3", "4"', None),
        ('"3","3"', None),
        ('*, "3"', None),
        ("3", None),
        ("", None),
        ('""', None),
        ('"three"', None),
        ('"03"', None),
        ('"+3"', None),
        ('"-1"', None),
        ('" 3"', None),
        ('"3" x', None),
        ('w/"3"', None),
        ('W/ "3"', None),
        ("W/*", None),
        ("'3'", None),
        ("**", None),
        ("3", 3),
    ],
)
def test_a_precondition_that_cannot_be_expressed_is_a_bad_request(vault, service, header, expected_rev):
    before, known = state(service), len(records(service))
    for verb in WRITES:
        assert send(vault, verb, header, expected_rev, 400).json["code"] == "BAD_REQUEST"
    assert state(service) == before
    assert len(records(service)) == known


@BOTH_SPELLINGS
@pytest.mark.parametrize("header", ["*", '"3"', 'W/"3"', '"1"', "nonsense", ""])
def test_rename_and_rollback_refuse_the_header_whatever_it_says(vault, service, header):
    before = state(service)
    for verb, body in (
        ("rename", {"from": "A", "to": "B"}),
        ("rollback", {"key": "A", "to_version": 1}),
    ):
        answer = vault.post(verb, body, 400, headers={"If-Match": header})
        assert answer.json["code"] == "BAD_REQUEST"
    assert state(service) == before


@both_writes
def test_a_star_guards_on_existence(vault, verb):
    missing = Vault(vault.client, vault.base.replace("prod", "nowhere"))
    assert send(missing, verb, "*", None, 404).json["code"] == "NOT_FOUND"


@BOTH_SPELLINGS
@pytest.mark.parametrize("path", ["secrets", "secrets:export"])
def test_the_etag_of_a_read_is_what_a_write_takes(vault, path):
    tag = vault.get(path).headers["ETag"]
    send(vault, "batch", tag, None, 200)
    send(vault, "import", tag, None, 412)


@pytest.mark.parametrize("path", ["secrets", "secrets/A", "secrets:export"])
def test_reads_do_not_evaluate_the_header(vault, path):
    for header in ('"1"', "nonsense"):
        vault.get(path, headers={"If-Match": header})


def test_a_dry_run_is_held_to_its_precondition_too(vault):
    body = WRITES["import"] | {"dry_run": True}
    vault.post("import", body | {"expected_rev": 2}, 412)
    vault.post("import", body, 412, headers={"If-Match": '"2"'})
    vault.post("import", body, 400, headers={"If-Match": "3"})
    assert vault.post("import", body | {"expected_rev": 3}).json["rev"] == 3


def test_a_write_that_would_change_nothing_is_held_to_its_precondition_too(vault):
    vault.batch(412, delete=["NEVER"], expected_rev=2)
    assert vault.batch(delete=["NEVER"], expected_rev=3).json == {"rev": 3, "changes": []}


def test_of_writers_who_expect_one_revision_one_alone_succeeds(vault, service):
    clients = [Vault(service.user()) for _ in range(6)]

    def attempt(number):
        body = {"mode": "merge", "set": {"A": str(number)}, "expected_rev": 3}
        return clients[number].post("batch", body, "*").status_int

    with ThreadPoolExecutor(len(clients)) as pool:
        answers = sorted(pool.map(attempt, range(len(clients))))
    assert answers == [200] + [412] * (len(clients) - 1)
    assert vault.rev == 4


def test_writers_without_a_precondition_all_succeed(vault, service):
    clients = [Vault(service.user()) for _ in range(6)]
    with ThreadPoolExecutor(len(clients)) as pool:
        revs = sorted(pool.map(lambda one: one.set(A="x", B="y"), clients))
    assert revs == list(range(4, 4 + len(clients)))
    assert vault.listed()["A"]["version"] == 3 + len(clients)
