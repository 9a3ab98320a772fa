"""Reads of what a client may know already (contract 5.7)."""

from __future__ import annotations

from collections.abc import Callable

from secretsvc.authorization.rules.snapshot import assert_can
from secretsvc.kernel.authorization import Address, Role
from secretsvc.kernel.call import Call
from secretsvc.projects.rules import find_environment


def revision_if_known(call: Call, at: Address, is_known: Callable[[int], bool]) -> int | None:
    """The revision that a read would show, None where that is not known and the read has yet to be done.

    One statement, which is a transaction by itself; nothing is opened, written or recorded. To be called
    before anything else uses the connection. Raises `NotFound`.
    """
    assert_can(call, Role.READER, at)
    call.reads_once = True
    place = find_environment(call, at)
    if is_known(place.rev):
        return place.rev
    call.reads_once = False
    call.restart()
    return None
