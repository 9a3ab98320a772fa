"""What every test of the service relies on: an answer that is not described fails whoever sees it."""

from __future__ import annotations

import json

import pytest
from conformance import Conformance
from webtest import TestResponse

import secretsvc

REGISTRY = secretsvc.assemble({}).registry
HEADERS = [("X-Request-Id", "x"), ("Content-Type", "application/json; charset=utf-8")]
FAILED = {"code": "INTERNAL", "message": "An unexpected error occurred.", "request_id": "x"}
HEALTH = {"service": "secretsvc", "status": "ok", "version": "1"}


def judge(path: str, status: str, body: object, headers: list[tuple[str, str]] = HEADERS) -> None:
    answer = TestResponse(status=status, headerlist=headers, body=json.dumps(body).encode())
    Conformance(REGISTRY).judge("GET", path, answer)


def test_an_answer_that_is_not_described_is_seen() -> None:
    judge("/health", "200 OK", HEALTH)
    judge("/health", "500 Internal Server Error", FAILED)
    judge("/nothing", "404 Not Found", {})
    with pytest.raises(AssertionError, match="answered 418, which is not described"):
        judge("/health", "418 I'm a Teapot", HEALTH)
    with pytest.raises(AssertionError, match="is served but not described"):
        judge("/nothing", "200 OK", {})
    with pytest.raises(AssertionError, match="without X-Request-Id"):
        judge("/health", "500 Internal Server Error", FAILED, HEADERS[1:])


@pytest.mark.parametrize("body", [{**HEALTH, "more": "x"}, {**HEALTH, "status": 1}, {"status": "ok"}])
def test_a_member_too_many_too_few_or_of_another_type_is_seen(body: object) -> None:
    with pytest.raises(Exception, match="|".join(("Additional", "not of type", "required"))):
        judge("/health", "200 OK", body)
