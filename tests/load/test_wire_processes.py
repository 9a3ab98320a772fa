"""The first session of a new team over real HTTP, each request to the other of two processes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import cycle
from typing import Any

import pytest
from answer_headers import PLAINTEXT_HEADERS, SECURITY_HEADERS
from processes import Answer, Deployment

DOTENV = "API_KEY='s3cret value'\nDATABASE_URL=postgres://db/shop\nEMPTY=\n"
VALUES = {"API_KEY": "s3cret value", "DATABASE_URL": "postgres://db/shop", "EMPTY": ""}


class Session:
    """The administrator's requests, to each process in turn; every answer is a proper one."""

    def __init__(self, deployment: Deployment) -> None:
        self.clients = [deployment.client(number) for number in range(2)]
        self._turns = cycle(self.clients)
        self._count = 0

    def __call__(self, status: int, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        self._count += 1
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        headers["X-Request-Id"] = f"request-{self._count}"
        answer = next(self._turns).expect(status, method, path, body, headers=headers)
        assert answer.headers["x-request-id"] == headers["X-Request-Id"]
        assert answer.headers.items() >= SECURITY_HEADERS.items()
        return answer


@pytest.fixture
def session(deployment: Deployment) -> Iterator[Session]:
    made = Session(deployment)
    yield made
    for client in made.clients:
        client.close()


@pytest.fixture(params=["/projects/shop/environments/prod", "/p/shop/e/prod"])
def base(request: pytest.FixtureRequest, session: Session) -> str:
    """An environment in both spellings."""
    created = session(201, "POST", "/projects", {"slug": "shop", "name": "Shop"})
    assert created.headers["location"] == "/api/v1/projects/shop"
    assert session(200, "GET", "/projects/shop").json == created.json
    created = session(201, "POST", "/projects/shop/environments", {"slug": "prod", "name": "Production"})
    assert created.headers["location"] == "/api/v1/projects/shop/environments/prod"
    base: str = request.param
    assert session(200, "GET", base).json == created.json
    assert created.json["rev"] == 0
    return base


def test_a_first_session_works_whichever_process_answers(session: Session, base: str) -> None:
    dotenv = {"format": "env", "mode": "merge", "content": DOTENV}
    changes = [{"key": key, "kind": "added"} for key in VALUES]
    planned = session(200, "POST", f"{base}/secrets:import", dotenv | {"dry_run": True}).json
    assert planned == {"rev": 0, "dry_run": True, "changes": changes, "expandable": []}
    done = session(200, "POST", f"{base}/secrets:import", dotenv, If_Match='"0"').json
    versions = [change | {"version": 1} for change in changes]
    assert done == {"rev": 1, "changes": versions, "expandable": []}

    for _ in session.clients:
        listed = session(200, "GET", f"{base}/secrets")
        assert listed.headers["etag"] == '"1"'
        assert [(item["key"], item["version"], item["readable"]) for item in listed.json["items"]] == [
            (key, 1, True) for key in VALUES
        ]
        assert b"s3cret" not in listed.body
        for path in ("/secrets/API_KEY", "/secrets/API_KEY:reveal?reason=copy"):
            revealed = session(200, "GET", base + path)
            assert revealed.json == {"key": "API_KEY", "value": "s3cret value"}
            assert revealed.headers.items() >= PLAINTEXT_HEADERS.items()

    rotated = {"mode": "merge", "set": {"API_KEY": "rotated"}, "expected_rev": 1}
    assert session(200, "POST", f"{base}/secrets:batch", rotated).json["rev"] == 2
    refused = session(412, "POST", f"{base}/secrets:batch", rotated).json
    assert refused["code"] == "PRECONDITION_FAILED"
    back = {"key": "API_KEY", "to_version": 1, "reason": "the new one does not work"}
    assert session(200, "POST", f"{base}/secrets:rollback", back).json == {
        "rev": 3,
        "changes": [{"key": "API_KEY", "kind": "changed", "version": 3}],
    }
    for _ in session.clients:
        versions = session(200, "GET", f"{base}/secrets/API_KEY/versions").json["items"]
        assert [one["version"] for one in versions] == [3, 2, 1]
        exported = session(200, "GET", f"{base}/secrets:export")
        assert exported.json == {"rev": 3, "secrets": VALUES}
        assert exported.headers.items() >= ({"etag": '"3"'} | PLAINTEXT_HEADERS).items()
        text = session(200, "GET", f"{base}/secrets:export?format=env")
        assert text.headers["content-type"].lower() == "text/plain; charset=utf-8"
        again = dotenv | {"content": text.body.decode(), "mode": "replace"}
        changes = session(200, "POST", f"{base}/secrets:import", again | {"dry_run": True}).json["changes"]
        assert changes == [{"key": key, "kind": "changed"} for key in VALUES]


def test_without_an_assertion_only_health_answers(deployment: Deployment) -> None:
    for process in deployment.processes:
        stranger = process.client()
        assert stranger.expect(200, "GET", "/health").json["status"] == "ok"
        for path in ("/projects", "/no-such-thing", "/p/shop/e/prod/secrets:export"):
            assert stranger.expect(401, "GET", path).json["code"] == "UNAUTHENTICATED"
        stranger.close()
