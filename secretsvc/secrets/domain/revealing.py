"""Many values of an environment shown at once, each recorded as a reveal of its own."""

from __future__ import annotations

from collections.abc import Collection

from secretsvc.authorization.rules.asserting import assert_can
from secretsvc.kernel.authorization import Address, Role
from secretsvc.kernel.call import Call
from secretsvc.projects.rules import lock_environment
from secretsvc.secrets.rules.known import known_secrets
from secretsvc.secrets.rules.reads import record_reveals
from secretsvc.secrets.rules.rows import open_all


def reveal_secrets(
    call: Call, at: Address, reason: str, keys: Collection[str] | None = None
) -> dict[str, str]:
    """Those keys' values that are there and can be opened, or all; one statement writes a record for each.

    Raises `NotFound`, and `Unavailable` where too many values are under way (contract 8.1).
    """
    assert_can(call, Role.READER, at)
    # So that each record names the version that was read.
    lock_environment(call, at)
    environment, values = open_all(call, at, lenient=True)
    if keys is not None:
        values = {key: values[key] for key in sorted({*keys} & values.keys())}
    known = known_secrets(call, environment.id, values)
    versions = {key: known[key].version for key in values}
    record_reveals(call, environment.project_id, environment.id, reason, versions)
    return values
