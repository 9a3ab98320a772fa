"""Recording a denial is best effort: it never turns a refusal into a failure (specification, "Events")."""

from __future__ import annotations

import logging

import pytest
from fault_injection import refuse_inserts

pytestmark = pytest.mark.both_engines


@pytest.fixture
def eve(admin, service):
    """Someone who sees `shop/prod`, and whose denials cannot be written."""
    service.grant("eve@example.com", "reader", "shop/prod")
    eve = service.user("eve@example.com")
    eve.get("/whoami")
    refuse_inserts(service, "audit_record")
    return eve


REFUSALS = [
    ("GET", "/projects/shop/environments/dev", None, 404, "NOT_FOUND"),
    ("GET", "/projects/nope", None, 404, "NOT_FOUND"),
    ("DELETE", "/projects/shop", None, 403, "FORBIDDEN"),
    ("POST", "/projects", {"slug": "new", "name": "New"}, 403, "FORBIDDEN"),
    ("DELETE", "{base}", None, 403, "FORBIDDEN"),
]


@pytest.mark.parametrize(("method", "path", "body", "status", "code"), REFUSALS)
def test_a_denial_that_cannot_be_written_leaves_the_answer_as_it_is(
    eve, base, method, path, body, status, code
):
    refused = eve.request(method, path.format(base=base), body)
    assert (refused.status_int, refused.json["code"]) == (status, code)


def test_a_denial_that_cannot_be_written_is_logged_by_its_request(eve, caplog):
    with caplog.at_level(logging.ERROR):
        eve.delete("/projects/shop", 403, headers={"X-Request-Id": "lost-denial"})
    [message] = caplog.messages
    assert message.startswith("a denial of request lost-denial was not recorded: ")
    assert "eve" not in message


def test_a_denial_is_there_when_its_answer_is(admin, service):
    eve = service.user("eve@example.com")
    for count in (1, 2, 3):
        eve.get("/projects/shop", 404)
        assert len(service.denials()) == count


@pytest.mark.both_engines
def test_a_denied_write_leaves_nothing_but_its_denial(admin, service, base):
    service.grant("eve@example.com", "reader", "shop/prod")
    service.user("eve@example.com").get("/whoami")
    before = len(service.audit())
    write = {"mode": "merge", "set": {"KEY": "x"}}
    service.user("eve@example.com").post(f"{base}/secrets:batch", write, 403)
    assert [row["outcome"] for row in service.audit()[before:]] == ["denied"]
    assert admin.get(f"{base}/secrets").json == {"items": [], "rev": 0}
