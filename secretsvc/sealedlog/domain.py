"""Use cases of the sealed log: its head, and the key by which that is verified."""

from __future__ import annotations

from secretsvc.authorization.rules.checks import assert_admin_somewhere, assert_can
from secretsvc.kernel.authorization import GLOBAL, Role
from secretsvc.kernel.errors import NotFound
from secretsvc.kernel.use_case import UseCaseContext
from secretsvc.sealedlog.rules.positions import newest_checkpoint
from secretsvc.sealedlog.rules.signer import find_signer
from secretsvc.transparency.signed_note import Verifier

NOTHING_SEALED = "Nothing is sealed yet."


def checkpoint(call: UseCaseContext) -> str:
    """The newest one, a signed note.

    Raises `NotFound` before anything is sealed, and `ServerMisconfigured` while a setting stops the sealing
    (contract 17.7).
    """
    assert_can(call, Role.ADMIN, GLOBAL)
    call.settings.require_sealing()
    found = newest_checkpoint(call.connection)
    if found is None:
        raise NotFound(NOTHING_SEALED)
    return found


def verifier_key(call: UseCaseContext) -> str:
    """The verifier key of checkpoints in C2SP's form. Raises as `checkpoint` does."""
    assert_admin_somewhere(call)
    call.settings.require_sealing()
    signer = find_signer(call.connection)
    if signer is None:
        raise NotFound(NOTHING_SEALED)
    return Verifier(call.settings.audit_origin, signer.public_key).text
