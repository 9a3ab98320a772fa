"""Service tokens over the API and as a way in (contract 6.4)."""

from __future__ import annotations

import hashlib
import json
import logging
import re
import zlib

import pytest
from answer_headers import PLAINTEXT_HEADERS
from processes import ROOT
from service import API, HEADER, Client, arrange
from statements import recorded
from stopped_clock import stopped
from wsgi import call

from secretsvc.audit.models import audit_record
from secretsvc.authentication.service_tokens import new_token, token_digest
from secretsvc.kernel.clock import now_ms
from secretsvc.tables.identities import identity
from secretsvc.tables.service_tokens import service_token

DAY = 86_400_000
ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
ROBOT = "deploy.robot"
FIELDS = {"id", "name", "prefix", "created_at", "created_by", "expires_at", "last_used_at"}


@pytest.fixture
def service(make_service):
    return make_service(SERVICE_TOKENS="on")


@pytest.fixture
def robot(service, admin):
    """The path of the tokens of a service identity."""
    return f"/identities/{service.identity_id(ROBOT, 'service')}/tokens"


def soon(days: float = 1) -> int:
    return now_ms() + int(days * DAY)


def made(admin: Client, path: str, **fields) -> dict:
    return admin.post(path, {"name": "ci", "expires_at": soon(), **fields}, 201).json


def bearing(service, token: str, path: str = "/whoami", **headers: str):
    return call(service.app, "GET", API + path, {"Authorization": f"Bearer {token}", **headers})


def number_of(digits: str) -> int:
    found = 0
    for digit in digits:
        found = found * 62 + ALPHABET.index(digit)
    return found


def test_the_commands_of_the_page_make_a_machine_that_can_read(service, admin):
    page = (ROOT / "docs" / "identity" / "service-tokens.md").read_text("utf-8")
    asked = re.findall(r"curl -fsS \$api(\S+) -H \"\$json\" -d '(\{.*?\})'", page, re.DOTALL)
    assert [path for path, _ in asked] == ["/identities", "/grants", "/identities/$ID/tokens"]
    identity_id = ""
    for path, body in asked:
        sent = json.loads(body.replace("'$ID'", identity_id).replace("1798761600000", str(soon())))
        answer = admin.post(path.replace("$ID", identity_id), sent, 201).json
        identity_id = identity_id or answer["id"]
    read = bearing(service, answer["token"], "/projects/shop/environments/prod/secrets")
    assert read.status == 200


# Making, listing, removing.


def test_a_new_token_is_answered_once_with_everything_that_is_known_of_it(service, admin, robot):
    before = now_ms()
    answer = admin.post(robot, {"name": " ci ", "expires_at": before + DAY}, 201)
    token = answer.json
    assert token.keys() == FIELDS | {"token"}
    assert (token["name"], token["expires_at"], token["last_used_at"]) == ("ci", before + DAY, None)
    assert token["created_by"] == admin.get("/whoami").json["identity"]["id"]
    assert before <= token["created_at"] <= now_ms()
    assert "Location" not in answer.headers
    listed = admin.get(robot).json
    assert listed == {"items": [{key: value for key, value in token.items() if key != "token"}]}


def test_the_answer_with_a_token_has_the_plaintext_headers_and_so_have_its_errors(service, admin, robot):
    for answer in (
        admin.post(robot, {"name": "ci", "expires_at": soon()}, 201),
        admin.post(robot, {}, 422),
        service.user("eve@example.com").post(robot, {"name": "ci", "expires_at": soon()}, 403),
        service.nobody().post(robot, {}, 401),
    ):
        assert {name: answer.headers[name] for name in PLAINTEXT_HEADERS} == PLAINTEXT_HEADERS


def test_a_token_is_ssv_base62_of_32_bytes_and_a_checksum_of_these(service, admin, robot):
    tokens = {made(admin, robot)["token"] for _ in range(20)}
    assert len(tokens) == 20
    for token in tokens:
        found = re.fullmatch(r"ssv_([0-9A-Za-z]{43})([0-9A-Za-z]{6})", token)
        assert found
        assert number_of(found[1]) < 2**256
        assert number_of(found[2]) == zlib.crc32(found[1].encode())


def test_the_prefix_is_what_a_token_begins_with(service, admin, robot):
    token = made(admin, robot)
    assert token["prefix"] == token["token"][:8]


def test_only_the_digest_of_a_token_is_stored_and_nothing_logs_or_records_it(service, admin, robot, caplog):
    caplog.set_level(logging.DEBUG)
    token = made(admin, robot)["token"]
    bearing(service, token)
    (row,) = service.rows(service_token)
    assert bytes(row["digest"]) == hashlib.sha256(token.encode()).digest()
    for table in (service_token, audit_record, identity):
        assert token[8:40] not in str(service.rows(table))
    assert token[8:40] not in caplog.text


def test_making_and_removing_are_recorded_by_name_and_prefix(service, admin, robot):
    token = made(admin, robot)
    admin.delete(f"{robot}/{token['id']}")
    created, deleted = service.audit("token.create"), service.audit("token.delete")
    assert len(created) == len(deleted) == 1
    expected = {
        "identity_id": robot.split("/")[2],
        "token_id": token["id"],
        "name": "ci",
        "prefix": token["prefix"],
        "expires_at": token["expires_at"],
    }
    digest = hashlib.sha256(hashlib.sha256(token["token"].encode()).digest()).hexdigest()[:32]
    assert json.loads(created[0]["detail"]) == expected | {"digest": digest}
    assert json.loads(deleted[0]["detail"]) == expected
    for row in (*created, *deleted):
        assert (row["project_id"], row["environment_id"], row["outcome"]) == (None, None, "success")


@pytest.mark.both_engines
def test_an_identity_may_have_several_tokens_each_of_which_lives_by_itself(service, admin, robot):
    first, second = made(admin, robot, name="old"), made(admin, robot, name="new")
    assert [one["name"] for one in admin.get(robot).json["items"]] == ["old", "new"]
    admin.delete(f"{robot}/{first['id']}")
    assert bearing(service, first["token"]).status == 401
    assert bearing(service, second["token"]).status == 200
    assert [one["name"] for one in admin.get(robot).json["items"]] == ["new"]


def test_a_person_has_no_tokens(service, admin):
    path = f"/identities/{service.identity_id('ada@example.com')}/tokens"
    refused = admin.post(path, {"name": "ci", "expires_at": soon()}, 409)
    assert refused.json["code"] == "CONFLICT"
    assert admin.get(path).json == {"items": []}


@pytest.mark.parametrize("ahead", [-DAY, -1, 0, 366 * DAY + 1, 2**52])
def test_an_end_that_is_past_or_over_366_days_ahead_is_refused(service, admin, robot, ahead):
    with stopped() as now:
        refused = admin.post(robot, {"name": "ci", "expires_at": now + ahead}, 422)
    assert [issue["path"] for issue in refused.json["issues"]] == ["expires_at"]
    assert service.rows(service_token) == []


@pytest.mark.parametrize("ahead", [1, 366 * DAY])
def test_an_end_within_366_days_is_taken(service, admin, robot, ahead):
    with stopped() as now:
        admin.post(robot, {"name": "ci", "expires_at": now + ahead}, 201)


@pytest.mark.parametrize(
    ("body", "paths"),
    [
        ({}, ["name", "expires_at"]),
        ({"name": "ci"}, ["expires_at"]),
        ({"name": "ci", "expires_at": None}, ["expires_at"]),
        ({"name": "ci", "expires_at": "1"}, ["expires_at"]),
        ({"name": "", "expires_at": 2**52}, ["name"]),
        ({"name": "x" * 257, "expires_at": 1, "token": "x"}, ["name", "token"]),
    ],
)
def test_a_body_that_is_wrong_is_refused(admin, robot, body, paths):
    assert [issue["path"] for issue in admin.post(robot, body, 422).json["issues"]] == paths


NOWHERE = "00000000-0000-0000-0000-000000000000"


def test_what_is_not_there_is_not_found(service, admin, robot):
    other = f"/identities/{service.identity_id('other.robot', 'service')}/tokens"
    token = made(admin, robot)
    body = {"name": "ci", "expires_at": soon()}
    admin.post(f"/identities/{NOWHERE}/tokens", body, 404)
    admin.get(f"/identities/{NOWHERE}/tokens", 404)
    admin.delete(f"{robot}/{NOWHERE}", 404)
    admin.delete(f"{other}/{token['id']}", 404)
    admin.delete(f"{robot}/nonsense", 422)
    assert bearing(service, token["token"]).status == 200


@pytest.mark.parametrize("role", ["writer", "admin of a project", "disabled admin", "none"])
def test_all_three_are_for_global_admins(service, admin, robot, role):
    token = made(admin, robot)
    if role in ("writer", "disabled admin"):
        service.grant("eve@example.com", "admin" if role == "disabled admin" else "writer")
    if role == "admin of a project":
        service.grant("eve@example.com", "admin", "shop")
    eve = service.user("eve@example.com")
    if role == "disabled admin":
        eve.get("/whoami")
        service.disable("eve@example.com")
    eve.post(robot, {"name": "ci", "expires_at": soon()}, 403)
    eve.get(robot, 403)
    eve.delete(f"{robot}/{token['id']}", 403)
    assert [row["action"] for row in service.denials()] == ["authz.global.admin"] * 3
    assert len(service.rows(service_token)) == 1


# The way in.


def test_a_token_is_its_identity_wherever_an_assertion_may_stand(service, admin, robot):
    token = made(admin, robot)["token"]
    for headers in (
        {"Authorization": f"Bearer {token}"},
        {"Authorization": f"bearer {token}"},
        {HEADER: token},
        {HEADER: f"Bearer {token}"},
        {"Cookie": f"Proxy_Authorization={token}"},
    ):
        found = call(service.app, "GET", f"{API}/whoami", headers)
        assert found.status == 200
        assert (found.json["identity"]["kind"], found.json["identity"]["subject"]) == ("service", ROBOT)


def test_a_token_may_what_its_identity_may_and_is_recorded_as_it(service, admin, robot):
    token = made(admin, robot)["token"]
    vault = "/projects/shop/environments/prod/secrets"
    admin.post(f"{vault}:batch", {"mode": "merge", "set": {"KEY": "value"}})
    assert bearing(service, token, f"{vault}/KEY").status == 404
    service.grant(service.identity_id(ROBOT, "service"), "reader", "shop/prod")
    assert bearing(service, token, f"{vault}/KEY").json == {"key": "KEY", "value": "value"}
    (denial,) = service.denials()
    reveal = service.audit("secret.reveal")[-1]
    for row in (denial, reveal):
        assert (row["actor_kind"], row["actor_subject"]) == ("service", ROBOT)


def test_a_disabled_identitys_token_authenticates_it_as_disabled(service, admin, robot):
    token = made(admin, robot)["token"]
    service.grant(service.identity_id(ROBOT, "service"), "admin")
    admin.patch(robot.removesuffix("/tokens"), {"disabled": True})
    found = bearing(service, token)
    assert found.status == 200
    assert (found.json["identity"]["disabled"], found.json["global_role"]) == (True, None)
    assert bearing(service, token, "/projects/shop").status == 404


def test_a_removal_holds_from_the_next_request(service, admin, robot):
    token = made(admin, robot)
    assert bearing(service, token["token"]).status == 200
    admin.delete(f"{robot}/{token['id']}")
    assert bearing(service, token["token"]).status == 401
    admin.delete(f"{robot}/{token['id']}", 404)


def test_a_token_is_expired_from_its_end_on(service, admin, robot):
    with stopped() as now:
        token = made(admin, robot, expires_at=now + 1_000)["token"]
    for moment, status in ((now + 999, 200), (now + 1_000, 401), (now + 1_001, 401)):
        with stopped(moment):
            assert bearing(service, token).status == status


FORGED = {
    "guessed": lambda token: new_token(),
    "truncated": lambda token: token[:-1],
    "without its checksum": lambda token: token[:-6],
    "checksum without body": lambda token: f"ssv_{token[-6:]}",
    "another checksum": lambda token: token[:-1] + ("a" if token[-1] != "a" else "b"),
    "another first digit": lambda token: "ssv_" + ("a" if token[4] != "a" else "b") + token[5:],
    "another's prefix": lambda token: new_token()[:8] + token[8:],
    "longer": lambda token: token + "0",
    "zeroes": lambda token: "ssv_" + "0" * 49,
    "upper case": lambda token: token.upper(),
    "another scheme": lambda token: token.replace("ssv_", "SSV_"),
    "no scheme": lambda token: token.removeprefix("ssv_"),
    "scheme alone": lambda token: "ssv_",
    "inner space": lambda token: f"{token[:20]} {token[20:]}",
    "a newline": lambda token: f"{token}\n",
    "two joined": lambda token: f"{token}, {token}",
    "two": lambda token: token + token,
    "not ASCII": lambda token: token[:-1] + "\u0660",
    "its digest": lambda token: f"ssv_{token_digest(token).hex()}"[:53],
    "signed": lambda token: f"{token}.e30.e30",
}


@pytest.mark.parametrize("form", FORGED)
def test_what_only_looks_like_a_token_is_refused_by_the_one_answer_there_is(service, admin, robot, form):
    token = made(admin, robot)["token"]
    refused = bearing(service, FORGED[form](token))
    bare = call(service.app, "GET", f"{API}/whoami")
    assert (refused.status, {**refused.json, "request_id": ""}) == (401, {**bare.json, "request_id": ""})
    assert bearing(service, token).status == 200


@pytest.mark.parametrize("form", sorted(FORGED.keys() - {"guessed"}))
def test_a_wrong_form_or_checksum_is_refused_without_asking_the_database(service, admin, robot, form):
    forged = FORGED[form](made(admin, robot)["token"])
    with recorded(service.engine) as statements:
        assert bearing(service, forged).status == 401
    assert statements == []


@pytest.mark.both_engines
def test_while_it_is_off_the_routes_are_not_there_and_no_token_is_valid(service, admin, robot):
    token = made(admin, robot)
    for value in ("off", None):
        off = service.restarted(SERVICE_TOKENS=value)
        client = off.user()
        for method, path in (("POST", robot), ("GET", robot), ("DELETE", f"{robot}/{token['id']}")):
            assert client.request(method, path, {}, status=404).json["message"] == "Not found."
        with recorded(off.engine) as statements:
            assert bearing(off, token["token"]).status == 401
        assert statements == []
    assert bearing(service, token["token"]).status == 200


def test_a_malformed_switch_fails_what_needs_it(service, admin, robot, caplog):
    token = made(admin, robot)["token"]
    bad = service.restarted(SERVICE_TOKENS="yes")
    assert "setting SERVICE_TOKENS is malformed" in caplog.text
    assert bearing(bad, token).code == "SERVER_MISCONFIGURED"
    assert bad.user().get(robot, 500).json["code"] == "SERVER_MISCONFIGURED"
    bad.user().get("/projects")
    bad.user().request("GET", "/", status=404)


@pytest.mark.slow
def test_without_the_proxys_settings_no_token_lets_anybody_in(service, admin, robot):
    token = made(admin, robot)["token"]
    for name in ("ACCESS_ISSUER", "ACCESS_AUDIENCE", "ACCESS_JWKS_URL"):
        assert bearing(service.restarted(**{name: None}), token).code == "SERVER_MISCONFIGURED"


def test_a_bad_header_is_not_made_good_by_a_token_elsewhere(service, admin, robot):
    token = made(admin, robot)["token"]
    assert bearing(service, token, **{HEADER: "x"}).status == 401
    assert bearing(service, token, Cookie="Proxy_Authorization=x").status == 401


def test_the_rate_limit_counts_an_identity_whatever_it_brings(make_service, service, admin, robot):
    token = made(admin, robot)["token"]
    limited = service.restarted(RATE_LIMIT="3/day")
    assert [bearing(limited, token).status for _ in range(4)] == [200, 200, 200, 429]
    assert bearing(limited, token).headers["retry-after"]
    limited.robot(ROBOT).get("/whoami", 429)
    limited.robot("other.robot").get("/whoami")


def test_a_token_is_no_bootstrap_admin_whatever_its_subject(service, admin):
    path = f"/identities/{service.identity_id('root@example.com', 'service')}/tokens"
    token = made(admin, path)["token"]
    assert bearing(service, token).json["global_role"] is None


def test_the_last_usable_admin_may_be_a_service_with_a_token_and_is_guarded(make_service):
    service = make_service(SERVICE_TOKENS="on")
    admin = arrange(service)
    robot = service.identity_id(ROBOT, "service")
    token = made(admin, f"/identities/{robot}/tokens")["token"]
    service.grant(robot, "admin")
    alone = service.restarted(BOOTSTRAP_ADMINS="")
    client = Client(alone.app, token)
    for one in client.get("/grants").json["items"]:
        if one["identity_id"] != str(robot):
            client.delete(f"/grants/{one['id']}")
    (mine,) = client.get("/grants").json["items"]
    assert client.delete(f"/grants/{mine['id']}", 409).json["code"] == "LAST_ADMIN"
    assert client.patch(f"/identities/{robot}", {"disabled": True}, 409).json["code"] == "LAST_ADMIN"


# What it costs, and when it was used.


def test_a_request_with_a_token_costs_the_statements_of_one_with_an_assertion(service, admin, robot):
    service = service.restarted(LAST_SEEN_RESOLUTION="3600000")
    token = made(admin, robot)["token"]
    admin.post("/projects/shop/environments/prod/secrets:batch", {"mode": "merge", "set": {"KEY": "v"}})
    service.grant(service.identity_id(ROBOT, "service"), "reader", "shop/prod")
    by_assertion, by_token = service.robot(ROBOT), Client(service.app, token)
    for path in ("/whoami", "/projects", "/projects/shop/environments/prod/secrets/KEY", "/nowhere"):
        counts = []
        for client in (by_assertion, by_token):
            client.request("GET", path)
            with recorded(service.engine) as statements:
                client.request("GET", path)
            counts.append(len(statements))
        assert counts[0] == counts[1] > 0, path


def used(service) -> int | None:
    return service.rows(service_token)[0]["last_used_at"]


def seen(service) -> int:
    return service.rows(identity, identity.c.subject == ROBOT)[0]["last_seen_at"]


def test_last_used_at_is_written_at_most_once_in_the_resolution_like_last_seen_at(service, admin, robot):
    service = service.restarted(LAST_SEEN_RESOLUTION="1000")
    token = made(admin, robot, expires_at=soon(300))["token"]
    assert used(service) is None
    start = now_ms()
    for moment, expected in ((0, 0), (999, 0), (1_000, 1_000), (1_500, 1_000), (5_000, 5_000)):
        with stopped(start + moment):
            assert bearing(service, token).status == 200
        assert used(service) == seen(service) == start + expected
    assert admin.get(robot).json["items"][0]["last_used_at"] == start + 5_000


def test_a_use_is_written_though_its_identity_was_just_seen_by_another_way(service, admin, robot):
    token = made(admin, robot)["token"]
    with stopped() as now:
        service.robot(ROBOT).get("/whoami")
        assert bearing(service, token).status == 200
    assert used(service) == seen(service) == now


@pytest.mark.both_engines
def test_a_refused_token_is_not_used(service, admin, robot):
    token = made(admin, robot)["token"]
    with stopped(now_ms() + 2 * DAY):
        assert bearing(service, token).status == 401
    assert used(service) is None


# The log.


@pytest.mark.parametrize(
    ("form", "told"),
    [
        ("guessed", "unknown, expired or removed; look at the list of tokens of its identity"),
        ("truncated", "checksum; the token is cut, mistyped or another product's"),
        ("scheme alone", "checksum; the token is cut, mistyped or another product's"),
    ],
)
def test_a_refusal_is_told_by_its_reason_and_never_with_the_token(service, admin, robot, caplog, form, told):
    caplog.set_level(logging.INFO)
    forged = FORGED[form](made(admin, robot)["token"])
    bearing(service, forged)
    lines = [line for line in caplog.messages if line.startswith("service token refused")]
    assert len(lines) == 1
    assert lines[0].startswith(f"service token refused: {told}; request ")
    assert forged not in caplog.text or forged == "ssv_"


@pytest.mark.both_engines
def test_a_token_while_it_is_off_is_told_by_that(service, admin, robot, caplog):
    caplog.set_level(logging.INFO)
    bearing(service.restarted(SERVICE_TOKENS="off"), made(admin, robot)["token"])
    assert "service token refused: switched off; look at SERVICE_TOKENS;" in caplog.text
