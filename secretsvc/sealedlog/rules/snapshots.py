"""A state of the tables under the log's signature, from which a replay goes on (issue 25.3)."""

from __future__ import annotations

import base64
from hashlib import sha256

from secretsvc.kernel.notes import Verifier, sign
from secretsvc.sealedlog.rules.replaying import VERSION, State


def sign_state(origin: str, private_key: bytes, size: int, content: bytes) -> str:
    """A note (C2SP signed-note) that says which state the first `size` records of the log lead to.

    `content` is its JSON.
    """
    return sign(origin, private_key, _said(origin, size, content))


def read_state(note: str, verifier: Verifier, content: bytes) -> tuple[int, State]:
    """The size of the log, and the state, that the key has signed. Raises ValueError for everything else."""
    body = verifier.has_signed(note)
    size = (body or "\n").split("\n")[1]
    if body is None or not size.isdecimal() or body != _said(verifier.name, int(size), content):
        raise ValueError("the snapshot is not signed by this key")
    return int(size), State.from_json(content)


def _said(origin: str, size: int, content: bytes) -> str:
    # No origin holds a space: it never passes for a checkpoint.
    return f"{origin} state/{VERSION}\n{size}\n{base64.b64encode(sha256(content).digest()).decode()}\n"
