"""How many statements a request takes, beside BEGIN and COMMIT: few, and however long the list the same."""

from __future__ import annotations

import pytest
from secrets_client import Vault
from service import arrange
from statements import recorded, transactions

from secretsvc.db.engine import write_transaction

pytestmark = pytest.mark.both_engines

COUNTS = (1, 300)


@pytest.fixture
def service(make_service):
    """A service whose identities count as touched recently throughout a test."""
    return make_service(LAST_SEEN_RESOLUTION="3600000")


def filled(vault: Vault, count: int) -> Vault:
    """The vault with that many secrets, one of them at its second version."""
    vault.batch(set={f"K{number}": "x" for number in range(count)})
    vault.set(K0="y")
    return vault


READS = {
    "secrets/K0": 3,
    "secrets/K0:reveal": 3,
    "secrets/K0/versions": 3,
    "secrets": 3,
    "secrets:export": 4,
    "secrets/K0?version=1": 3,
    "secrets?rev=1": 3,
    "secrets:export?rev=1": 4,
    "revisions": 4,
    "secrets:deleted": 3,
}


@pytest.mark.parametrize("count", COUNTS)
def test_a_read_takes_the_snapshot_and_at_most_three_more(vault, service, count):
    filled(vault, count)
    for path, most in READS.items():
        with recorded(service.engine) as statements:
            vault.get(path)
        assert len(statements) <= most, statements
        assert " me AS " in statements[0]


def test_long_values_take_a_list_and_an_export_one_more_however_many(vault, service):
    filled(vault, 30)
    for count in (1, 20):
        vault.batch(set={f"K{number}": "x" * 2_000 for number in range(count)})
        for path in ("secrets", "secrets:export"):
            with recorded(service.engine) as statements:
                vault.get(path)
            assert len(statements) == READS[path] + 1, statements


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("subject", ["root@example.com", "ada@example.com"])
def test_authentication_and_snapshot_of_a_known_identity_are_one_statement(vault, service, count, subject):
    filled(vault, count)
    group = service.group("crew", "ada@example.com")
    service.grant(group, "reader", "shop/prod", group=True)
    service.grant("ada@example.com", "writer", "shop")
    client = service.user(subject)
    client.get("/nowhere", 404)
    with recorded(service.engine) as statements:
        client.get("/nowhere", 404)
    assert len(statements) == 1, statements


def test_a_request_that_is_not_authenticated_takes_none(service):
    with recorded(service.engine) as statements:
        Vault(service.nobody()).get("secrets", 401)
    assert statements == []


def writes(count: int):
    """Each kind of write, of one secret or of very many."""
    some = {f"K{number}": "z" for number in range(count)}
    new = {f"N{number}": "z" for number in range(count // 2 + 1)}
    lines = "".join(f"{key}=z\n" for key in some)
    return {
        "change": lambda vault: vault.batch(set=some),
        "add": lambda vault: vault.batch(set=new),
        "all at once": lambda vault: vault.batch(mode="replace", set=some | {"EXTRA1": "z"}, reason="why"),
        "remove": lambda vault: vault.batch(delete=[*some]),
        "revive": lambda vault: vault.batch(set=some | {"EXTRA2": "z"}, descriptions={"K0": "back"}),
        "import": lambda vault: vault.load(lines),
        "import anew": lambda vault: vault.load("L1=x\n" + lines, mode="replace"),
        "dry run": lambda vault: vault.load("L2=x\n" + lines, mode="replace", dry_run=True),
        "nothing": lambda vault: vault.batch(delete=["NEVER"]),
        "rename": lambda vault: vault.rename("K0", "OTHER"),
        "rename back": lambda vault: vault.rename("OTHER", "K0"),
        "rollback": lambda vault: vault.rollback("K0", 1),
    }


def test_a_write_takes_a_bounded_number_of_statements_whatever_its_size(make_service, service):
    # One takes fewer than many do on PostgreSQL.
    counts = (2, 300)
    taken: dict[int, dict[str, int]] = {count: {} for count in counts}
    admin = arrange(service, "shop", "prod", "dev")
    for slug, count in zip(("prod", "dev"), counts, strict=True):
        vault = filled(Vault(admin, f"/projects/shop/environments/{slug}"), count)
        for name, write in writes(count).items():
            with recorded(service.engine) as statements:
                write(vault)
            taken[count][name] = len(statements)
            assert len(statements) <= 1 + (10 if name.startswith("rename") else 9), (name, statements)
    assert taken[2] == taken[300]


@pytest.mark.parametrize("count", COUNTS)
def test_a_write_of_one_secret_takes_four_statements_on_postgresql_and_seven_on_sqlite(vault, service, count):
    """Beside the snapshot: the lock, what is known, the revision, and the rest, one by one on SQLite."""
    filled(vault, count)
    most, new = {"sqlite": (7, 8), "postgresql": (4, 6)}[service.engine.name]
    for body in ({"set": {"K0": "z"}}, {"set": {"NEW": "z"}}, {"delete": ["K0"]}, {"set": {"K0": "z"}}):
        with recorded(service.engine) as statements:
            vault.batch(**body)
        assert len(statements) == 1 + (new if "NEW" in body.get("set", ()) else most), (body, statements)
    for before in ([], ["K0"]):
        vault.batch(delete=before)
        with recorded(service.engine) as statements:
            vault.rollback("K0", 1)
        assert len(statements) <= 1 + most + 1, statements


def test_a_dry_run_only_reads_and_waits_for_no_writer(vault, service):
    vault.set(A="x")
    with write_transaction(service.engine) as connection:
        connection.exec_driver_sql("UPDATE environment SET name = 'held'")
        planned = vault.load("A=y", dry_run=True).json
    assert [one["kind"] for one in planned["changes"]] == ["changed"]


def test_one_value_is_read_without_the_transaction_of_its_record(vault, service):
    vault.set(A="x")
    with recorded(service.engine) as statements, transactions(service.engine) as sent:
        vault.get("secrets/A")
    assert [one.split()[0] for one in statements] == ["WITH", "SELECT", "INSERT"]
    assert sent == ["begin", "commit"]
    assert len(service.audit("secret.reveal")) == 1


@pytest.mark.parametrize("long", [False, True])
def test_an_export_is_read_without_the_transaction_of_its_record(vault, service, long):
    vault.set(A="x" * (2_000 if long else 1), B="y")
    for path in ("secrets:export", "secrets:export?rev=1"):
        with recorded(service.engine) as statements, transactions(service.engine) as sent:
            vault.get(path)
        assert [one.split()[0] for one in statements] == ["WITH", *["SELECT"] * (2 + long), "INSERT"]
        assert sent == ["begin", "commit"]
    assert len(service.audit("secret.export")) == 2


@pytest.mark.parametrize("role", [None, "reader"])
def test_the_lists_take_as_many_statements_for_many_as_for_one(service, role):
    admin = arrange(service, "shop", "prod")
    client = admin
    if role:
        client = service.user("ada@example.com")
        service.grant("ada@example.com", role, "shop/prod")
    taken = []
    for extra in (0, 12):
        for number in range(extra):
            admin.post("/projects", {"slug": f"p{number}", "name": "P"}, 201)
            admin.post("/projects/shop/environments", {"slug": f"e{number}", "name": "E"}, 201)
            if role:
                service.grant("ada@example.com", role, f"p{number}")
                service.grant("ada@example.com", role, f"shop/e{number}")
        counts = []
        for path in ("/whoami", "/projects", "/projects/shop/environments", "/projects/shop"):
            client.get(path)
            with recorded(service.engine) as statements:
                client.get(path)
            counts.append(len(statements))
        taken.append(counts)
    assert taken[0] == taken[1] == [2, 2, 3, 2]


@pytest.mark.parametrize("role", [None, "reader"])
def test_a_search_takes_the_snapshot_and_one_more_whatever_is_there(service, role):
    arrange(service, "depot", "prod")
    vault = Vault(arrange(service, "shop", "prod", "dev"))
    vault.batch(set={f"KEY_{number}": "x" for number in range(300)})
    client = service.user("ada@example.com")
    if role:
        service.grant("ada@example.com", role, "shop/dev")
    client.get("/whoami")
    taken = []
    # Seen, invisible and absent.
    for text in ("shop", "depot", "prod", "KEY", "absent"):
        with recorded(service.engine) as statements:
            client.get(f"/search?q={text}")
        taken.append(statements)
    assert len(taken[0]) == 2
    assert all(statements == taken[0] for statements in taken)


def test_an_announcement_takes_the_snapshot_and_two_more(service):
    admin = arrange(service)
    for body in ({"kind": "user", "subject": "ada@example.com"}, {"kind": "service", "subject": "deploy"}):
        with recorded(service.engine) as statements:
            admin.post("/identities", body, 201)
        assert len(statements) == 3, statements


def test_a_hidden_and_an_absent_environment_take_the_same_statements(vault, service):
    stranger = Vault(service.user("ada@example.com"))
    absent = Vault(stranger.client, vault.base.replace("prod", "nowhere"))
    absent.get("secrets", 404)
    counts = []
    for one in (stranger, absent):
        with recorded(service.engine) as statements:
            one.get("secrets", 404)
        counts.append(len(statements))
    assert counts[0] == counts[1]
