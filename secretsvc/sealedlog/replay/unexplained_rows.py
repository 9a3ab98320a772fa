"""The log replayed against the tables: which rows it does not explain."""

from __future__ import annotations

from collections.abc import Iterator

import orjson
from sqlalchemy import Connection

from secretsvc.kernel.crypto import KeyRing
from secretsvc.sealedlog.replay.comparison import unexplained
from secretsvc.sealedlog.replay.replay import State
from secretsvc.sealedlog.replay.snapshots import ADOPTED, Snapshot
from secretsvc.sealedlog.rules.leaves import Leaf, record_fields
from secretsvc.sealedlog.rules.log_reader import Sealed, waiting_leaves


class Replay:
    """Meets the positions of the log one after the other, then compares; to be used once.

    It begins with a snapshot, or with the first record and nothing. Everything that it reads must be of one
    state of the database.
    """

    def __init__(self, begin: Snapshot | None) -> None:
        self._first = 0 if begin is None else begin.size
        self._state = State() if begin is None else begin.state
        self._adopted = None if begin is None else begin.digest

    @property
    def state(self) -> State:
        """What the records that were met lead to."""
        return self._state

    def meet(self, entry: Sealed) -> Iterator[str]:
        """Applies a record that is there; what is wrong with it."""
        if entry.leaf is not None and entry.position >= self._first:
            yield from self._apply(f"index {entry.position}", entry.leaf)

    def compare(self, connection: Connection, ring: KeyRing | None) -> Iterator[str]:
        """What the tables hold otherwise, once all entries were met; records that wait are applied before."""
        for record_id, leaf in waiting_leaves(connection):
            yield from self._apply(f"record {record_id}", leaf)
        for lost in sorted(self._state.applied):
            yield f"record {lost}: it is missing, and the state that the replay begins with has it"
        if self._adopted is not None:
            yield "the state that the replay begins with is not one that the log tells of"
        yield from unexplained(connection, ring, self._state)

    def _apply(self, where: str, leaf: Leaf) -> Iterator[str]:
        try:
            record = record_fields(leaf)
            if record["action"] == ADOPTED:
                yield from self._adopt(where, record["detail"])
            self._state.apply(record)
        except (orjson.JSONDecodeError, ValueError) as error:
            yield f"{where}: {error}"

    def _adopt(self, where: str, detail: object) -> Iterator[str]:
        """The record of the state that the replay began with."""
        if isinstance(detail, dict) and self._adopted is not None and detail.get("sha256") == self._adopted:
            self._adopted = None
        else:
            yield f"{where}: the state that was adopted there is not what the replay begins with"
