"""Five callers ask whatever the description allows and much that it does not, on both engines."""

from __future__ import annotations

import os

import fuzzing
import pytest
from extent import amount
from server import served
from service import ADMIN

pytestmark = pytest.mark.long

# `make fuzz` sets it: so many examples of each operation, the edges of each schema, walks along the links.
EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", amount(0, 300)))


@pytest.fixture
def seeded(make_service):
    """The caller's admin is the only one there is, so that the last-admin guard keeps the run's rights."""
    service = make_service(BOOTSTRAP_ADMINS="")
    service.grant(ADMIN, "admin")
    fuzzing.seed(service)
    service.grant("reader@example.com", "reader", fuzzing.PROJECT)
    service.grant("writer@example.com", "writer", f"{fuzzing.PROJECT}/{fuzzing.ENVIRONMENT}")
    service.grant(service.identity_id("robot.access", "service"), "writer", fuzzing.PROJECT)
    return service


@pytest.mark.filterwarnings("ignore:Generating overly large repr")
@pytest.mark.parametrize("caller", fuzzing.CALLERS)
def test_whatever_is_asked_is_answered_as_described(seeded, caller):
    with served(seeded.app) as port:
        findings = fuzzing.run(seeded, f"http://127.0.0.1:{port}", fuzzing.CALLERS[caller](seeded), EXAMPLES)
    print(f"{caller}: {findings.requests} requests, {dict(sorted(findings.statuses.items()))}")
    assert not findings.failures, "\n\n".join(f"{key}: {told}" for key, told in findings.failures.items())
    assert not findings.errors, "\n\n".join(findings.errors)
    assert len(findings.operations) == 57
    assert (200 in findings.statuses, 401 in findings.statuses) == (True, True)


@pytest.mark.skipif(not EXAMPLES, reason="a part of `make fuzz`")
@pytest.mark.filterwarnings("ignore:Generating overly large repr")
def test_eight_at_once_meet_no_error_of_the_server(seeded):
    with served(seeded.app, threads=8) as port:
        token = fuzzing.CALLERS["admin"](seeded)
        findings = fuzzing.run(seeded, f"http://127.0.0.1:{port}", token, EXAMPLES, workers=8)
    print(f"eight at once: {findings.requests} requests, {dict(sorted(findings.statuses.items()))}")
    # What its own threads do to each other while they make things up is not the service's affair.
    assert not [status for status in findings.statuses if status >= 500]
    assert findings.requests > 500
