"""Byte and count limits of secrets, and their settings (specification, "Limits")."""

from __future__ import annotations

import json
from contextlib import closing
from io import BytesIO

import pytest
from secrets_client import BOTH_SPELLINGS, CANONICAL, Vault, records, state
from service import arrange

MEBIBYTE = 1_048_576


def of_bytes(character: str, size: int) -> str:
    """A text of that many bytes of UTF-8, made of one character as far as possible."""
    text = character * (size // len(character.encode()))
    return text + "x" * (size - len(text.encode()))


@pytest.mark.parametrize("character", ["x", "\u00e9", "\u20ac", "\U0001f511"])
def test_a_value_may_have_65536_bytes_and_no_more(vault, service, character):
    longest, longer = of_bytes(character, 65_536), of_bytes(character, 65_537)
    assert [len(text.encode()) for text in (longest, longer)] == [65_536, 65_537]
    vault.set(A=longest)
    assert vault.value("A") == longest
    before = state(service)
    answer = vault.batch(413, set={"A": longer, "B": "x"}).json
    assert answer["code"] == "PAYLOAD_TOO_LARGE"
    assert character * 2 not in answer["message"]
    content = json.dumps({"A": longer})
    assert vault.load(content, 413, format="json").json["code"] == "PAYLOAD_TOO_LARGE"
    assert vault.load(content, 413, format="json", dry_run=True).json["code"] == "PAYLOAD_TOO_LARGE"
    assert state(service) == before
    vault.load(f"B='{longest}'")
    assert vault.value("B") == longest


def many(count: int, prefix: str = "K") -> dict[str, str]:
    return {f"{prefix}{number}": "x" for number in range(count)}


def as_env(values: dict[str, str]) -> str:
    return "".join(f"{key}={value}\n" for key, value in values.items())


@BOTH_SPELLINGS
def test_an_environment_may_hold_500_secrets_and_no_more(vault, service):
    vault.batch(413, set=many(501))
    vault.batch(413, mode="replace", set=many(501))
    vault.load(as_env(many(501)), 413)
    vault.load(as_env(many(501)), 413, dry_run=True)
    assert vault.rev == 0
    vault.batch(set={"GONE": "x"})
    vault.batch(mode="replace", set=many(500))
    before, known = state(service), len(records(service))
    for answer in (
        vault.batch(413, set={"ONE_MORE": "x"}),
        vault.batch(413, set={"ONE": "x", "TWO": "x"}, delete=["K0"]),
        vault.batch(413, mode="replace", set=many(501)),
        vault.load("ONE_MORE=x", 413),
        vault.load("ONE_MORE=x", 413, dry_run=True),
        vault.load(as_env(many(501)), 413, mode="replace"),
        vault.rollback("GONE", 1, 413),
    ):
        assert answer.json["code"] == "PAYLOAD_TOO_LARGE"
    assert state(service) == before
    assert len(records(service)) == known


def test_a_full_environment_can_still_be_written(vault):
    vault.batch(set=many(500))
    vault.batch(set={"K0": "changed"})
    vault.batch(set={"NEW": "x"}, delete=["K1"])
    vault.rename("NEW", "NEWER")
    vault.rollback("K0", 1)
    vault.batch(mode="replace", set=many(500, "L"))
    vault.load(as_env(many(500, "M")), mode="replace")
    assert vault.values() == many(500, "M")


def test_deleted_keys_do_not_count(vault):
    for prefix in "KLM":
        vault.batch(mode="replace", set=many(500, prefix))
    assert vault.values() == many(500, "M")
    vault.batch(delete=["M0"])
    vault.rollback("K0", 1)
    assert len(vault.values()) == 500


def body_of(size: int) -> bytes:
    """A batch of exactly that many bytes."""
    values = {f"K{number}": "x" * 60_000 for number in range(min(size, MEBIBYTE) // 65_536)}
    start = json.dumps({"mode": "merge", "set": values}).encode()
    return start + b" " * (size - len(start))


@pytest.mark.parametrize(("size", "status"), [(MEBIBYTE - 1, 200), (MEBIBYTE, 200), (MEBIBYTE + 1, 413)])
def test_a_body_may_have_one_mebibyte_and_no_more(vault, service, size, status):
    before = state(service)
    body = body_of(size)
    assert len(body) == size
    path = f"{vault.base}/secrets:batch"
    answer = vault.client.request("POST", path, body=body, content_type="application/json", status=status)
    if status == 413:
        assert answer.json["code"] == "PAYLOAD_TOO_LARGE"
        assert state(service) == before


@pytest.mark.parametrize(("size", "status"), [(1_000, 200), (1_001, 413)])
def test_a_body_that_does_not_tell_its_length_is_held_to_the_limit_too(make_service, size, status):
    """As a server hands it over that does not buffer: only the end of the input ends it."""
    service = make_service(BODY_MAX_BYTES="1000")
    vault = Vault(arrange(service))
    path = f"{vault.base}/secrets:batch"
    start = json.dumps({"mode": "merge", "set": {"A": "x"}}).encode()
    body = BytesIO(start + b" " * (size - len(start)))
    environ = {"wsgi.input": body, "wsgi.input_terminated": True}
    request = vault.client.app.RequestClass.blank("/api/v1" + path, environ, method="POST")
    request.headers["Proxy-Access-Jwt-Assertion"] = vault.client.token
    request.headers["Content-Type"] = "application/json"
    request.content_length = None
    request.environ.update(environ)
    answer = request.get_response(service.app)
    assert answer.status_int == status
    assert body.tell() <= 1_001
    assert vault.rev == (1 if status == 200 else 0)


def test_the_limits_are_settings(make_service):
    service = make_service(SECRET_MAX_BYTES="8", ENV_MAX_SECRETS="2", BODY_MAX_BYTES="1000")
    vault = Vault(arrange(service))
    vault.batch(set={"A": "12345678", "B": "\u20ac\u20ac12"})
    for answer in (
        vault.batch(413, set={"A": "123456789"}),
        vault.batch(413, set={"A": "\u20ac\u20ac123"}),
        vault.batch(413, set={"C": "x"}),
        vault.batch(413, set={"A": "x"}, reason="r" * 1_000),
        vault.load("A=123456789", 413),
    ):
        assert answer.json["code"] == "PAYLOAD_TOO_LARGE"
    assert vault.values() == {"A": "12345678", "B": "\u20ac\u20ac12"}


def test_a_lower_limit_leaves_readable_what_is_there(vault, service):
    vault.batch(set={"A": "x" * 100, **many(5)})
    with closing(service.restarted(SECRET_MAX_BYTES="8", ENV_MAX_SECRETS="3")) as smaller:
        there = Vault(smaller.user())
        assert there.value("A") == "x" * 100
        assert len(there.values()) == 6
        there.batch(413, set={"NEW": "x"})
        there.batch(413, mode="replace", set=many(4))
        there.batch(delete=["A", "K0", "K1", "K2"])
        there.batch(set={"NEW": "x"})


@pytest.mark.parametrize("setting", ["SECRET_MAX_BYTES", "ENV_MAX_SECRETS", "BODY_MAX_BYTES"])
@pytest.mark.parametrize("value", ["", "0", "-1", "many", "1e3", "1 000", "\u0663"])
def test_a_malformed_limit_is_no_limit_to_guess(admin, service, setting, value):
    with closing(service.restarted(**{setting: value})) as other:
        answer = Vault(other.user(), CANONICAL).batch(500, set={"A": "x"})
        assert answer.json["code"] == "SERVER_MISCONFIGURED"
    assert Vault(admin).rev == 0
