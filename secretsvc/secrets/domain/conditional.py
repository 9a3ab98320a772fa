"""Reads of what a client may know already (contract 5.7)."""

from __future__ import annotations

from collections.abc import Callable

from secretsvc.authorization.rules.asserting import assert_can
from secretsvc.kernel.authorization import Address, Role
from secretsvc.kernel.call import Call
from secretsvc.projects.rules import find_environment
from secretsvc.secrets.rules.revisions import require_revision


def revision_if_known(
    call: Call, at: Address, is_known: Callable[[int], bool], rev: int | None = None
) -> int | None:
    """The revision that a read would show, None where that is not known and the read has yet to be done.

    That is `rev`, or else the present one. One statement, which is a transaction by itself; nothing is
    opened, written or recorded. To be called before anything else uses the connection. Raises `NotFound`,
    also for a later revision.
    """
    assert_can(call, Role.READER, at)
    call.reads_once = True
    environment = find_environment(call, at)
    if rev is not None:
        require_revision(environment, rev)
    shown = environment.rev if rev is None else rev
    if is_known(shown):
        return shown
    call.reads_once = False
    call.restart()
    return None
