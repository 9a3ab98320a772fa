"""Bytes of values that one identity can write to one environment in a time (contract 17.2, `WRITE_LIMIT`)."""

from __future__ import annotations

import socket
import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest
from pages import Browser, form_of, submit
from processes import free_port
from programs import need
from redis import Redis
from secrets_client import Vault, block_audit, state
from service import Client
from waiting import eventually

from secretsvc.secrets.write import write
from secretsvc.secrets.write.apply_plan import LostRace, apply_plan

pytestmark = pytest.mark.both_engines

DEV = "/projects/shop/environments/dev"
FROM_DEV = {"from": {"project": "shop", "environment": "dev"}}
#: Eight bytes in four characters.
EIGHT = "éééé"
PROD_PAGE = "/projects/shop/environments/prod"


@pytest.fixture(scope="module")
def redis_url():
    """A Redis of this module's own."""
    port = free_port()
    command = [need("redis-server"), "--port", str(port), "--save", "", "--bind", "127.0.0.1"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as server:
        try:
            assert eventually(lambda: _listens(port))
            yield f"redis://127.0.0.1:{port}/0"
        finally:
            server.kill()


def _listens(port):
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture(params=["memory", "redis"])
def storage(request):
    """The settings of each storage that counts can be kept in."""
    if request.param == "memory":
        return {}
    return request.getfixturevalue("in_redis")


@pytest.fixture
def in_redis(redis_url):
    """The settings of counts in Redis, which begin with none: tests have ids in common."""
    with Redis.from_url(redis_url) as client:
        client.flushall()
    return {"RATE_LIMIT_STORAGE": redis_url}


@pytest.fixture
def filled(service, vault):
    """What each write of `WRITES` begins with, written without a limit."""
    Vault(vault.client, DEV).set(THERE=EIGHT)
    vault.set(KEY=EIGHT)
    vault.set(KEY="later")
    return service


def under(service, limit, **settings):
    """The administrator's environment in a process with that limit."""
    return Vault(service.restarted(WRITE_LIMIT=limit, **settings).user())


#: Of each kind of write one that writes eight bytes.
WRITES = {
    "batch": lambda vault, status=200: vault.batch(status, set={"NEW": EIGHT}),
    "import": lambda vault, status=200: vault.load(f"NEW={EIGHT}", status),
    "copy": lambda vault, status=200: vault.post("copy", FROM_DEV, status),
    "restore": lambda vault, status=200: vault.post("restore", {"to_rev": 1}, status),
    "rename": lambda vault, status=200: vault.rename("KEY", "OTHER", status),
    "rollback": lambda vault, status=200: vault.rollback("KEY", 1, status),
}


@pytest.mark.slow
@pytest.mark.both_engines
def test_a_writer_over_the_limit_is_429(filled, storage):
    service = filled
    vault = under(service, "10/day", **storage)
    vault.set(A=EIGHT)
    before = state(service)
    refused = vault.batch(429, set={"A": "abc"})
    assert refused.json["code"] == "RATE_LIMITED"
    assert "24 hours" in refused.json["hint"]
    assert "WRITE_LIMIT" in refused.json["hint"]
    assert 86_000 <= int(refused.headers["Retry-After"]) <= 86_400
    assert state(service) == before
    # What was refused was not counted.
    vault.set(A="ab")
    vault.batch(429, set={"A": "a"})


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_every_kind_of_write_is_counted(filled, write):
    if write is WRITES["rename"]:
        under(filled, "").set(KEY=EIGHT)
    vault = under(filled, "8/day")
    write(vault)
    refused = vault.batch(429, set={"B": "b"})
    assert refused.json["code"] == "RATE_LIMITED"
    # Deletions, empty values and descriptions have no bytes.
    vault.batch(set={"NONE": ""}, delete=["KEY"], descriptions={"NONE": "x" * 100})


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_a_write_that_alone_exceeds_it_is_413_and_writes_nothing(filled, write):
    if write is WRITES["rename"]:
        under(filled, "").set(KEY=EIGHT)
    vault = under(filled, "7/day")
    before = state(filled)
    refused = write(vault, 413)
    assert refused.json["code"] == "PAYLOAD_TOO_LARGE"
    assert "7" in refused.json["message"]
    assert "WRITE_LIMIT" in refused.json["hint"]
    assert "Retry-After" not in refused.headers
    assert state(filled) == before
    vault.set(B="seven b")


def test_what_writes_nothing_is_not_counted(filled, storage):
    vault = under(filled, "8/day", ENV_MAX_SECRETS="2", **storage)
    vault.post("copy", FROM_DEV | {"dry_run": True})
    vault.load(f"A={EIGHT}", dry_run=True)
    vault.batch(412, set={"A": EIGHT}, headers={"If-Match": '"99"'})
    vault.batch(422, set={"A": EIGHT, "not a key": "x"})
    vault.batch(422, set={"A": EIGHT}, delete=["A"])
    vault.batch(413, set={"A": "four", "B": "four"})
    vault.rename("ABSENT", "OTHER", 404)
    vault.set(A=EIGHT)
    vault.batch(429, set={"A": "x"})


def test_who_lacks_the_role_or_a_reason_counts_nothing(filled):
    service = filled.restarted(WRITE_LIMIT="8/day")
    service.grant("bob@example.com", "reader", "shop/prod")
    bob = Vault(service.user("bob@example.com"))
    bob.batch(403, set={"A": EIGHT})
    service.grant("bob@example.com", "writer", "shop/prod")
    service.user().patch("/projects/shop/environments/prod", {"protected": True})
    bob.batch(422, set={"A": EIGHT})
    bob.batch(set={"A": EIGHT}, reason="needed")


@pytest.mark.both_engines
def test_a_write_that_is_undone_is_not_counted(filled, storage):
    service = filled.restarted(WRITE_LIMIT="8/day", **storage)
    vault = Vault(service.user())
    block_audit(service)
    for _ in range(3):
        vault.batch("5*", set={"A": EIGHT})
    service.execute("DROP TRIGGER blocked" + ("" if service.engine.name == "sqlite" else " ON audit_record"))
    vault.set(A=EIGHT)
    vault.batch(429, set={"A": "x"})


def test_a_write_that_lost_a_race_is_counted_once(filled, storage, monkeypatch):
    vault, lost = under(filled, "8/day", **storage), iter([True])

    def lose_once(*arguments):
        statements = apply_plan(*arguments)
        if next(lost, False):
            raise LostRace
        return statements

    monkeypatch.setattr(write, "apply_plan", lose_once)
    vault.set(A=EIGHT)
    assert vault.rev == 3


def test_a_replay_is_not_counted_and_is_answered_over_the_limit(filled):
    vault, key = under(filled, "8/day"), {"Idempotency-Key": "once"}
    first = vault.batch(set={"A": EIGHT}, headers=key).json
    for _ in range(2):
        assert vault.batch(set={"A": EIGHT}, headers=key).json == first


def test_each_identity_has_a_count_for_each_environment(filled):
    service = filled.restarted(WRITE_LIMIT="8/day")
    service.grant("bob@example.com", "writer", "shop")
    vaults = [
        Vault(client, base)
        for client in (service.user(), service.user("bob@example.com"))
        for base in (Vault(service.user()).base, DEV)
    ]
    for vault in vaults:
        vault.set(A=EIGHT)
    for vault in vaults:
        vault.batch(429, set={"A": "x"})


@pytest.mark.slow
def test_processes_share_the_count_in_redis(filled, in_redis):
    settings = {"WRITE_LIMIT": "8/day", **in_redis}
    Vault(filled.restarted(**settings).user()).set(A=EIGHT)
    Vault(filled.restarted(**settings).user()).batch(429, set={"A": "x"})


@pytest.mark.both_engines
def test_writes_at_once_do_not_exceed_it_together(filled, storage):
    service = filled.restarted(WRITE_LIMIT="10/day", **storage)

    def write(number):
        client = Client(service.app, service.issuer.sign("root@example.com", jti=str(number)))
        return Vault(client).batch("*", set={f"K{number}": "abc"}).status_int

    with ThreadPoolExecutor(6) as pool:
        answers = sorted(pool.map(write, range(6)))
    assert answers == [200, 200, 200, 429, 429, 429]
    Vault(service.user()).set(LAST="x")


def test_an_empty_limit_turns_it_off(filled):
    vault = under(filled, "")
    for number in range(3):
        vault.set(**{f"K{number}": "x" * 64_000})


@pytest.mark.parametrize(("limit", "status"), [("10/day", 429), ("7/day", 413)])
def test_a_form_over_the_limit_loses_nothing_that_was_typed(filled, limit, status):
    service = filled.restarted(WRITE_LIMIT=limit)
    if status == 429:
        Vault(service.user()).set(A="abc")
    browser = Browser(service)
    form = browser.open(PROD_PAGE).forms["edits"]
    form["new.1.key"], form["new.1.value"], form["new.1.description"] = "NEW", EIGHT, "what for"
    page = form.submit(status=200 if status == 429 else 413)
    if status == 429:
        page = submit(page, "/edit-apply", status)
        assert int(page.headers["Retry-After"]) > 0
    alert = page.html.find(role="alert").text
    assert "WRITE_LIMIT" in alert
    rerendered = page.forms["edits"]
    assert rerendered["new.1.key"].value == "NEW"
    assert rerendered["new.1.value"].value == EIGHT
    assert rerendered["new.1.description"].value == "what for"


def test_a_key_that_is_renamed_in_all_environments_counts_in_each_or_in_none(filled):
    under(filled, "").set(KEY=EIGHT)
    Vault(filled.user(), DEV).set(KEY=EIGHT)
    service = filled.restarted(WRITE_LIMIT="10/day")
    vault, dev = Vault(service.user()), Vault(service.user(), DEV)
    vault.set(FULL="abc")
    page = Browser(service).open("/projects/shop/rename-everywhere?key=KEY")
    page = submit(page, "/rename-everywhere", 429, to="OTHER")
    assert "WRITE_LIMIT" in page.html.find(role="alert").text
    assert form_of(page, "/rename-everywhere")["to"].value == "OTHER"
    # Of the two environments `dev` was written first, and undone.
    dev.set(ALL="ten bytes.")
