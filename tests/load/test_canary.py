"""A value goes in and comes out by every route that takes or gives one, and leaves no trace beside them."""

from __future__ import annotations

import base64
import os
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from leak_search import database_bytes, disguises, parts, traces
from load.refusals import Refusal, refusals, writes
from processes import Answer, Deployment, HttpClient
from service import ADMIN, Service
from sqlalchemy import text
from tokens import TestIssuer

from secretsvc.audit.models import audit_record
from secretsvc.kernel.ids import new_id
from secretsvc.secrets.models import secret, secret_version

CANONICAL, ALIAS = "/projects/shop/environments/prod", "/p/shop/e/dev"
KEY, OTHER_KEY, SHORT_KEY = (os.urandom(size) for size in (32, 32, 31))
KEYS = {"MASTER_KEY": KEY, "another MASTER_KEY": OTHER_KEY, "a short MASTER_KEY": SHORT_KEY}


class Scene:
    """A deployment with a canary, everything that must not be found, and every answer that must not tell."""

    def __init__(self, deployment: Deployment) -> None:
        self.deployment = deployment
        self.canary = f"canary{secrets.token_hex(16)}"
        self.answers: dict[str, bytes] = {}
        self.clients: list[HttpClient] = []
        self.hidden = {"the canary": self.canary.encode()}
        for name, key in KEYS.items():
            self.hidden[name] = key
            self.hidden[f"{name} in base64"] = base64.b64encode(key).rstrip(b"=")
        # The same database, to arrange behind the service's back what the API would not.
        self.behind = Service(deployment.url, deployment.issuer)

    def client(self, token: str | None, process: int = 0, header: bool = True) -> HttpClient:
        if token is not None:
            number = len(self.hidden)
            self.hidden |= {f"{part} {number}": value for part, value in parts(token).items()}
        made = self.deployment.processes[process].client(token if header else None)
        self.clients.append(made)
        return made

    def admin(self, process: int = 0) -> HttpClient:
        return self.client(self.deployment.issuer.sign(ADMIN), process)

    def keep(self, answer: Answer) -> Answer:
        """Remembers an answer that must hold nothing secret: its body and its headers."""
        told = answer.body + repr(answer.headers).encode()
        self.answers[f"answer {len(self.answers)}, a {answer.status}"] = told
        return answer

    def refuse(self, client: HttpClient, base: str, *statuses: int) -> None:
        """Tries all writes and reads, each of which must meet one of the statuses."""
        for attempt in writes(self.canary):
            answer = client.request(
                attempt.method, base + attempt.path, body=attempt.body, headers=attempt.headers
            )
            assert answer.status in statuses, (attempt.path, answer.status, answer.body)
            self.keep(answer)

    def close(self) -> None:
        for client in self.clients:
            client.close()
        self.behind.close()

    def contents(self) -> dict[str, bytes]:
        outputs = {f"output of {one.directory.name}": one.output for one in self.deployment.processes}
        tables = {f"table {name}": data for name, data in database_bytes(self.deployment.url).items()}
        return outputs | tables | self.answers


@pytest.fixture
def scene(database_url: str, issuer: TestIssuer, tmp_path: Path) -> Iterator[Scene]:
    """A process that logs everything, over a project with two environments."""
    with Deployment(tmp_path, database_url, issuer, MASTER_KEY=_encoded(KEY)) as deployment:
        made = Scene(deployment)
        deployment.add(debug=True)
        admin = made.admin()
        admin.expect(201, "POST", "/projects", {"slug": "shop", "name": "Shop"})
        for slug in ("prod", "dev"):
            body = {"slug": slug, "name": slug.title()}
            admin.expect(201, "POST", "/projects/shop/environments", body)
        yield made
        made.close()


def _encoded(key: bytes) -> str:
    return base64.b64encode(key).decode()


def _use(scene: Scene, client: HttpClient, base: str) -> None:
    """Writes and reads the canary by every route that takes or gives values."""
    canary, keep = scene.canary, scene.keep

    def post(verb: str, body: dict[str, Any]) -> None:
        keep(client.expect(200, "POST", f"{base}/secrets:{verb}", body))

    values = {"KEPT": canary, "OTHER": f"two\nlines of {canary}\0", "LONG": canary * 1_000, "GONE": canary}
    post("batch", {"mode": "merge", "set": values, "descriptions": {"KEPT": "a note"}, "reason": "set up"})
    dotenv = {"format": "env", "mode": "merge", "content": f"FROM_ENV={canary}\nQUOTED='{canary} é'"}
    json = {"format": "json", "mode": "merge", "content": f'{{"FROM_JSON": "{canary}", "KEPT": "{canary}"}}'}
    for body in (dotenv, json):
        post("import", body | {"dry_run": True})
        post("import", body)
    post("rename", {"from": "FROM_ENV", "to": "RENAMED"})
    post("batch", {"mode": "merge", "delete": ["GONE"]})
    post("rollback", {"key": "GONE", "to_version": 1})
    post("rollback", {"key": "KEPT", "to_version": 1, "reason": "back"})
    if base == CANONICAL:
        _move(scene, client, base)
    post("batch", {"mode": "merge", "delete": ["GONE"]})
    history = ("/revisions", "/secrets:deleted", "/secrets?rev=1", "/secrets?rev=2", "/secrets:compare?rev=1")
    for path in ("/secrets", "/secrets/KEPT/versions", "/secrets/GONE/versions", *history):
        keep(client.expect(200, "GET", base + path))
    for path in ("/secrets/KEPT", "/secrets/RENAMED:reveal?reason=copy", "/secrets:export?reason=run"):
        assert canary.encode() in client.expect(200, "GET", base + path).body
    for path in ("format=env", "rev=1", "rev=1&format=env"):
        assert canary.encode() in client.expect(200, "GET", f"{base}/secrets:export?{path}").body
    for path in ("/secrets/KEPT?version=1", "/secrets/GONE:reveal?version=1"):
        assert canary.encode() in client.expect(200, "GET", base + path).body


def _move(scene: Scene, client: HttpClient, base: str) -> None:
    """Copies the canary to the other environment and back, goes back to an older state, and compares."""
    rev, dev = client.expect(200, "GET", base).json["rev"], base.replace("prod", "dev")
    prod, there = ({"from": {"project": "shop", "environment": slug}} for slug in ("prod", "dev"))
    for dry_run in (True, False):
        scene.keep(client.expect(200, "POST", f"{dev}/secrets:copy", prod | {"dry_run": dry_run}))
    scene.keep(client.expect(200, "POST", f"{base}/secrets:restore", {"to_rev": 1, "reason": "back"}))
    scene.keep(client.expect(200, "POST", f"{base}/secrets:copy", there | {"mode": "replace"}))
    scene.keep(client.expect(200, "POST", f"{base}/secrets:restore", {"to_rev": rev}))
    scene.keep(client.expect(200, "GET", f"{dev}/secrets:compare?project=shop&environment=prod"))
    scene.keep(client.expect(200, "POST", f"{dev}/secrets:restore", {"to_rev": 0}))
    refused = there | {"existing": "refuse", "from_rev": 0, "mode": "replace", "keys": ["KEPT"]}
    scene.keep(client.expect(422, "POST", f"{base}/secrets:copy", refused))


def _refuse_callers(scene: Scene, base: str) -> None:
    """Those who may not, and those who are nobody."""
    issuer, behind = scene.deployment.issuer, scene.behind
    behind.grant("reader@example.com", "reader", "shop")
    behind.grant("gone@example.com", "admin")
    behind.disable("gone@example.com")
    for name, statuses in (("reader", (403, 200)), ("stranger", (404,)), ("gone", (404,))):
        client = scene.client(issuer.sign(f"{name}@example.com"))
        for attempt in writes(scene.canary):
            answer = client.request(
                attempt.method, base + attempt.path, body=attempt.body, headers=attempt.headers
            )
            assert answer.status in statuses, (name, attempt.path, answer.status)
            if answer.status != 200:
                scene.keep(answer)
    scene.refuse(scene.client(issuer.service("robot.access")), base, 404)
    head, claims, signature = issuer.sign("someone@example.com").split(".")
    forged = f"{head}.{claims}.{'BA'[signature[0] == 'B']}{signature[1:]}"
    named = dict.fromkeys(("sub", "name", "jti", "custom"), scene.canary)
    late = issuer.sign(f"{scene.canary}@example.com", exp=1, **named)
    robot = issuer.service(f" {scene.canary}", groups=[scene.canary])
    for token in (late, issuer.sign(ADMIN, aud="another"), robot, forged):
        scene.refuse(scene.client(token), base, 401)
    scene.refuse(scene.client(None), base, 401)
    in_cookie = issuer.sign("late@example.com", exp=2)
    client = scene.client(in_cookie, header=False)
    cookie = {"Cookie": f"Proxy_Authorization={in_cookie}"}
    scene.keep(client.expect(401, "GET", f"{base}/secrets/KEPT", headers=cookie))


def _fail_with_other_keys(scene: Scene, base: str) -> None:
    """Processes with a key that opens nothing, and with one that is none."""
    another = scene.deployment.add({"MASTER_KEY": _encoded(OTHER_KEY)}, debug=True)
    short = scene.deployment.add({"MASTER_KEY": _encoded(SHORT_KEY)}, debug=True)
    stranger = scene.admin(scene.deployment.processes.index(another))
    for path in ("/secrets/KEPT", "/secrets/KEPT:reveal", "/secrets:export", "/secrets:export?format=env"):
        assert scene.keep(stranger.expect(500, "GET", base + path)).json["code"] == "UNKNOWN_KID"
    for verb, body in (
        ("rename", {"from": "KEPT", "to": "K"}),
        ("rollback", {"key": "KEPT", "to_version": 1}),
        ("restore", {"to_rev": 1}),
        ("copy", {"from": {"project": "shop", "environment": "prod"}, "from_rev": 1}),
    ):
        scene.keep(stranger.expect(500, "POST", f"{base}/secrets:{verb}", body))
    listed = scene.keep(stranger.expect(200, "GET", f"{base}/secrets")).json["items"]
    assert not any(item["readable"] for item in listed)
    misconfigured = scene.admin(scene.deployment.processes.index(short))
    scene.refuse(misconfigured, base, 500)
    scene.keep(misconfigured.expect(500, "GET", "/health"))


def _fail_on_a_corrupt_row(scene: Scene, client: HttpClient, base: str) -> None:
    corrupt = secret_version.update().where(
        secret_version.c.secret_id.in_(
            secret.select().with_only_columns(secret.c.id).where(secret.c.key == "LONG")
        ),
        secret_version.c.envelope.is_not(None),
    )
    scene.behind.execute(corrupt.values(kid="0" * 16))
    for path in ("/secrets/LONG", "/secrets:export"):
        answer = scene.keep(client.expect(500, "GET", base + path))
        assert answer.json["code"] == "DECRYPT_FAILED", answer


def _fail_in_the_database(scene: Scene, client: HttpClient, base: str) -> None:
    """What cannot be recorded does not happen; what the database then says of the row stays with it."""
    for statement in BLOCKADES[scene.behind.engine.name]:
        scene.behind.execute(text(statement))
    refused = {"mode": "merge", "set": {"BLOCKED": scene.canary}, "descriptions": {"BLOCKED": scene.canary}}
    answer = client.expect(500, "POST", f"{base}/secrets:batch", refused)
    assert scene.keep(answer).json["code"] == "INTERNAL"
    for statement in AUDIT_BLOCKADE[scene.behind.engine.name]:
        scene.behind.execute(text(statement))
    before = client.expect(200, "GET", base).json["rev"]
    scene.refuse(client, base, 500)
    assert client.expect(200, "GET", base).json["rev"] == before
    # A denial that cannot be recorded is a denial all the same.
    reader = scene.client(scene.deployment.issuer.sign("reader@example.com"))
    scene.keep(reader.expect(403, *_attempt(writes(scene.canary)[0], base)))


def _attempt(one: Refusal, base: str) -> tuple[str, str, Any]:
    import json

    return one.method, base + one.path, json.loads(one.body or b"null")


BLOCKADES = {
    "sqlite": [
        "CREATE TRIGGER no_secret BEFORE INSERT ON secret WHEN NEW.key = 'BLOCKED'"
        " BEGIN SELECT RAISE(ABORT, 'blocked'); END"
    ],
    # Its message has a DETAIL with the whole row.
    "postgresql": ["ALTER TABLE secret ADD CONSTRAINT no_secret CHECK (key <> 'BLOCKED')"],
}
AUDIT_BLOCKADE = {
    "sqlite": [
        "CREATE TRIGGER no_audit BEFORE INSERT ON audit_record BEGIN SELECT RAISE(ABORT, 'blocked'); END"
    ],
    "postgresql": ["ALTER TABLE audit_record ADD CONSTRAINT no_audit CHECK (false) NOT VALID"],
}


def test_a_value_leaves_no_trace_in_logs_answers_audit_or_database(scene: Scene) -> None:
    client = scene.admin()
    for base in (CANONICAL, ALIAS):
        _use(scene, client, base)
        for refusal in refusals(scene.canary):
            scene.keep(refusal.send(client, base))
    _refuse_callers(scene, CANONICAL)
    _fail_with_other_keys(scene, CANONICAL)
    _fail_on_a_corrupt_row(scene, client, CANONICAL)
    _fail_in_the_database(scene, client, ALIAS)
    running = scene.contents()
    assert traces(running, scene.hidden) == []
    output = running["output of process-0"]
    told = [b'"logger":"sqlalchemy', b"unexpected IntegrityError", b"was not recorded"]
    told += [b"refused: " + why for why in (b"expired", b"audience", b"subject", b"signature", b"absent")]
    for expected in told:
        assert expected in output
    for process in scene.deployment.processes:
        process.stop()
    assert traces(scene.contents(), scene.hidden) == []


@pytest.fixture
def tattled(scene: Scene) -> dict[str, bytes]:
    """Everything hidden, said aloud by a package that should not be there."""
    tattler = scene.deployment.add(debug=True, ini="pyramid.includes = load.leaky_logger")
    client = scene.admin(scene.deployment.processes.index(tattler))
    body = {"mode": "merge", "set": {"KEPT": scene.canary}}
    client.expect(200, "POST", f"{CANONICAL}/secrets:batch", body)
    return scene.contents()


def test_the_search_finds_what_a_process_says(scene: Scene, tattled: dict[str, bytes]) -> None:
    found = traces(tattled, scene.hidden)
    for name in ("the canary", "MASTER_KEY in base64", "token", "claims", "signature"):
        assert any(one.startswith(name) and "in output of process-1" in one for one in found), name
    assert not any("process-0" in one or "table" in one for one in found)


def _in_an_envelope(scene: Scene) -> None:
    client = scene.admin()
    client.expect(200, "POST", f"{CANONICAL}/secrets:batch", {"mode": "merge", "set": {"K": "v"}})
    scene.behind.execute(secret_version.update().values(envelope=scene.canary.encode()))


def _in_an_audit_row(scene: Scene) -> None:
    row = {"id": new_id(), "created_at": 1, "action": "secret.batch", "outcome": "success"}
    row |= {"actor_subject": "someone", "request_id": "r", "detail": f'{{"value": "{scene.canary}"}}'}
    scene.behind.execute(audit_record.insert(), row)


def _in_a_description(scene: Scene) -> None:
    body = {"mode": "merge", "set": {"K": "v"}, "descriptions": {"K": scene.canary.upper()}}
    scene.admin().expect(200, "POST", f"{CANONICAL}/secrets:batch", body)


@pytest.mark.parametrize("plant", [_in_an_envelope, _in_an_audit_row, _in_a_description])
def test_the_search_finds_what_a_database_holds(scene: Scene, plant: Callable[[Scene], None]) -> None:
    plant(scene)
    found = traces(scene.contents(), scene.hidden)
    assert found
    assert all(one.startswith("the canary in table") for one in found), found


@pytest.mark.parametrize("number", range(12))
def test_the_search_finds_a_disguise_wherever_it_stands(number: int) -> None:
    canary = secrets.token_bytes(24)
    for shift in range(3):
        surroundings = [os.urandom(shift) + canary + os.urandom(5), canary.hex().upper().encode()]
        surroundings += [base64.b64encode(surroundings[0]), base64.urlsafe_b64encode(surroundings[0])]
        for content in surroundings:
            assert traces({"here": b"before" + content}, {"canary": canary})
    assert not traces({"here": os.urandom(10_000)}, {"canary": canary})
    assert len({*disguises(canary)}) >= 6
