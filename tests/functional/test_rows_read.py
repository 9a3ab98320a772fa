"""What is read grows with what is asked for, and not with what else is stored (design, section 5)."""

from __future__ import annotations

import pytest
from pages import Browser
from query_plans import PLAN_MODES, executed, lengthen, rows_read, steps_of
from secrets_client import CANONICAL as PROD
from secrets_client import Vault
from service import arrange
from statements import recorded

pytestmark = pytest.mark.both_engines

SECRETS, VERSIONS = 250, 40
ENVIRONMENTS = ("prod", "dev", "test")


def excess(service, statement, table, index, most):
    """What it reads too much: on SQLite steps by no such index, on PostgreSQL rows, however it is planned."""
    if service.engine.name == "sqlite":
        steps = steps_of(service.engine, statement, table)
        return (
            [step for step in steps if not (step.startswith("SEARCH ") and index in step)] if steps else ["?"]
        )
    read = [rows_read(service.engine, statement, table, mode) for mode in PLAN_MODES]
    return [number for number in read if not 0 < number <= most]


@pytest.fixture
def aged(service):
    """Three environments of as many secrets, each with a long history."""
    admin = arrange(service, "shop", *ENVIRONMENTS)
    vaults = [Vault(admin, f"/projects/shop/environments/{slug}") for slug in ENVIRONMENTS]
    for vault in vaults:
        vault.batch(set={f"K{number}": "x" * 64 for number in range(SECRETS)})
    lengthen(service, VERSIONS)
    for vault in vaults:
        vault.batch(set={f"K{number}": "y" * 64 for number in range(SECRETS)})
    service.execute("ANALYZE")
    return vaults[0]


def go_stale(aged, browser):
    """A form of the editor's that others were quicker than."""
    form = browser.open(PROD).forms["edits"]
    form["value.K0"] = "mine"
    aged.batch(set={"K1": "theirs"})
    aged.batch(delete=["K2"])
    form.submit(status=412)


ONE = "(secret_id=? AND version=?)"
# One version began the history, and one ended it.
ALL = ("(secret_id=?", VERSIONS + 2)
#: What is done, how its statements find versions, and how many of these they may read.
READS = {
    "list": (lambda vault, _browser: vault.get("secrets"), [(ONE, SECRETS)]),
    "export": (lambda vault, _browser: vault.get("secrets:export"), [(ONE, SECRETS)]),
    "read one": (lambda vault, _browser: vault.get("secrets/K0"), [(ONE, 1)]),
    "versions": (lambda vault, _browser: vault.get("secrets/K0/versions"), [(ONE, 1), ALL]),
    "one version": (lambda vault, _browser: vault.get("secrets/K0?version=1"), [(ONE, 1)]),
    "deleted": (lambda vault, _browser: vault.get("secrets:deleted"), [(ONE, 1)]),
    "matrix": (lambda _vault, browser: browser.open("/projects/shop"), [(ONE, SECRETS * 3)]),
    "editor": (lambda _vault, browser: browser.open(PROD), [(ONE, SECRETS)] * 2),
    "secret": (lambda _vault, browser: browser.open(f"{PROD}/secrets/K0"), [(ONE, 1), ALL, (ONE, 2)]),
}


@pytest.mark.slow
def test_reads_of_an_environment_read_only_the_versions_that_they_show(aged, service):
    browser, found = Browser(service), {}
    aged.batch(delete=["K1"])
    for name, (read, expected) in READS.items():
        with executed(service.engine, "secret_version") as statements:
            read(aged, browser)
        # Versions that records name are looked up where there are such records.
        own = [one for one in statements if "audit_record" not in one.text]
        found[name] = [
            excess(service, statement, "secret_version", *bounds)
            for statement, bounds in zip(own, expected, strict=True)
        ]
    assert found == {name: [[]] * len(expected) for name, (_, expected) in READS.items()}


#: What a state reads of a key by: its number, its version, and, for when it was made, its first.
OF_STATE = ("(secret_id=? AND rev<?)", "(secret_id=? AND version=?)")


def assert_state_is_searched(service, statement):
    tables = ("secret_version", "of_then", "first")
    steps = [step for one in tables for step in steps_of(service.engine, statement, one)]
    assert steps
    found = [step.removesuffix(" LEFT-JOIN") for step in steps]
    assert all(step.startswith("SEARCH ") and step.endswith(OF_STATE) for step in found), steps


@pytest.mark.slow
@pytest.mark.both_engines
@pytest.mark.parametrize("path", ["secrets?rev={}", "secrets:export?rev={}"])
def test_a_state_reads_a_version_or_two_of_each_key_however_long_the_history(aged, service, path):
    for rev in (1, VERSIONS + 2):
        with executed(service.engine, "secret_version") as statements:
            aged.get(path.format(rev))
        [statement] = statements
        if service.engine.name == "sqlite":
            assert_state_is_searched(service, statement)
        else:
            read = [rows_read(service.engine, statement, "secret_version", mode) for mode in PLAN_MODES]
            assert all(0 < number <= 2 * SECRETS for number in read), read


@pytest.mark.slow
def test_a_copy_and_a_restore_read_two_versions_of_each_key_however_long_the_history(aged, service):
    source = {"project": "shop", "environment": "dev"}
    for verb, body in (("copy", {"from": source}), ("restore", {"to_rev": 1})):
        with executed(service.engine, "secret_version") as statements:
            aged.post(verb, body | {"dry_run": True})
        # The source or the state, and the destination.
        assert len(statements) == 2
        for statement in statements:
            if service.engine.name == "sqlite":
                assert_state_is_searched(service, statement)
            else:
                read = [rows_read(service.engine, statement, "secret_version", mode) for mode in PLAN_MODES]
                assert all(0 < number <= SECRETS for number in read), read


@pytest.mark.slow
def test_a_page_of_revisions_reads_the_versions_that_it_shows_and_those_before_them(aged, service):
    aged.batch(set={"K1": "z", "K2": "z"})
    with executed(service.engine, "secret_version") as statements:
        aged.get("revisions?limit=1")
    [statement] = statements
    if service.engine.name == "sqlite":
        steps = [
            step for one in ("secret_version", "before") for step in steps_of(service.engine, statement, one)
        ]
        assert [step.partition(" (")[2] for step in steps] == [
            "secret_id=? AND rev>? AND rev<?)",
            "secret_id=? AND version=?)",
        ]
    else:
        read = [rows_read(service.engine, statement, "secret_version", mode) for mode in PLAN_MODES]
        # Of most keys none, which rounds to none or one.
        assert all(number <= SECRETS + 4 for number in read), read


@pytest.mark.slow
def test_what_others_wrote_is_found_without_their_history(aged, service):
    with executed(service.engine, "secret_version") as statements:
        go_stale(aged, Browser(service))
    (since,) = [one for one in statements if "rev >" in one.text]
    # Nearly one for each is left out, which rounds to one.
    assert excess(service, since, "secret_version", ONE, SECRETS + 2) == []


@pytest.mark.slow
def test_a_search_by_who_wrote_nothing_finds_that_by_an_index_and_reads_no_version(aged, service):
    service.user("wendy@example.com").get("/whoami")
    service.execute("ANALYZE")
    with executed(service.engine, "secret_version") as statements:
        Browser(service).open("/search", params={"q": "by:wendy"})
    [statement] = statements
    if service.engine.name == "sqlite":
        steps = steps_of(service.engine, statement, "revision")
        assert steps
        assert all(step.startswith("SEARCH ") and step.endswith("(created_by=?)") for step in steps)
    else:
        read = [rows_read(service.engine, statement, "secret_version", mode) for mode in PLAN_MODES]
        assert read == [0, 0]


def writes(vault):
    """Each kind of write of one secret or two, and of how many it looks at the rows."""
    return {
        "change": (lambda: vault.set(K0="z"), 1),
        "add": (lambda: vault.set(NEW="z"), 1),
        "remove": (lambda: vault.batch(delete=["K1"]), 1),
        "revive": (lambda: vault.set(K1="z"), 1),
        "import": (lambda: vault.load("K3=x\nK4=x\n"), 2),
        "rename": (lambda: vault.rename("K5", "OTHER"), 2),
        "rollback": (lambda: vault.rollback("K6", 1), 1),
    }


def crowd(service, slugs="dev", count=5000):
    """So many secrets in other environments: a table of a few hundred is read whole by whoever plans well."""
    statement = """INSERT INTO secret (environment_id, key, version, deleted, created_at, updated_at)
        WITH RECURSIVE step (number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM step WHERE number < :count)
        SELECT id, 'K' || number, 1, false, 1, 1 FROM environment CROSS JOIN step WHERE slug LIKE :slugs"""
    service.execute(statement, {"slugs": slugs, "count": count})
    service.execute("ANALYZE")


def test_a_write_looks_only_at_the_secrets_that_it_names(vault, service):
    vault.batch(set={f"K{number}": "x" for number in range(400)})
    crowd(service)
    for name, (write, named) in writes(vault).items():
        with executed(service.engine, "secret") as statements:
            write()
        assert statements, name
        for statement in statements:
            # A plan is asked for afterwards, when what the write added is there.
            if "count(" not in statement.text:
                too_much = excess(service, statement, "secret", "(environment_id=? AND key=?)", named)
                assert too_much == [], (name, statement.text)


@pytest.mark.slow
def test_a_search_reads_only_the_secrets_that_the_caller_sees(vault, service):
    vault.batch(set={f"K{number}": "x" for number in range(200)})
    arrange(service, "depot", *(f"e-{number}" for number in range(30)))
    crowd(service, "e-%", 300)
    service.grant("ada@example.com", "reader", "shop/prod")
    for text in ("K1", "absent"):
        with executed(service.engine, "secret") as statements:
            service.user("ada@example.com").get(f"/search?q={text}")
        [statement] = statements
        assert excess(service, statement, "secret", "(environment_id=?)", 200) == []


def test_a_write_counts_the_secrets_only_where_they_become_more(vault, service):
    vault.set(A="x", B="x", C="x")
    for write, counts in (
        (lambda: vault.set(A="y"), 0),
        (lambda: vault.batch(set={"NEW": "x"}, delete=["B"]), 0),
        (lambda: vault.rename("A", "OTHER"), 0),
        (lambda: vault.batch(delete=["C"]), 0),
        (lambda: vault.set(C="x"), 1),
        (lambda: vault.load("MORE=x", dry_run=True), 1),
    ):
        with recorded(service.engine) as statements:
            write()
        assert sum("count(" in one for one in statements) == counts, statements


def test_a_replacement_reads_no_description_of_what_it_does_not_write(vault, service):
    vault.batch(set={"A": "x", "B": "x"}, descriptions={"A": "ay", "B": "bee"})
    with executed(service.engine, "secret") as statements:
        vault.batch(mode="replace", set={"A": "y"})
    with service.engine.connect() as connection:
        driver = connection.connection.dbapi_connection
        rows = driver.execute(statements[0].text, statements[0].values).fetchall()
    assert sum("ay" in row for row in rows) == 1
    assert not any("bee" in row for row in rows)
    assert vault.listed()["A"]["description"] == "ay"
