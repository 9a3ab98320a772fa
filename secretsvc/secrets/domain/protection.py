"""What a protected environment adds to the judgement of a body (contract 5.13)."""

from __future__ import annotations

from secretsvc.authorization.rules.asserting import assert_can
from secretsvc.kernel.authorization import Address, Role
from secretsvc.kernel.call import Call
from secretsvc.kernel.errors import Issue, NotFound
from secretsvc.projects.rules import find_environment
from secretsvc.secrets.rules.revisions import REASON_REQUIRED, lacks_reason


def missing_reason(call: Call, at: Address, reason: str | None) -> tuple[Issue, ...]:
    """The issue of a write without a reason, for a body that is refused for something else already.

    What is accepted so far is judged under the lock, as the first thing there. Of what is not there
    nothing is told.
    """
    assert_can(call, Role.WRITER, at)
    try:
        environment = find_environment(call, at)
    except NotFound:
        return ()
    return (REASON_REQUIRED,) if lacks_reason(environment, reason) else ()
