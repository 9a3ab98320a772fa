"""The history of each environment as its records tell it: every version of every key, and every revision."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from secretsvc.sealedlog.replay.details import WriteDetail
from secretsvc.sealedlog.replay.row_states import UNTOLD, RevisionState, VersionState

#: Bytes of the digest of a reason.
DIGEST_BYTES = 16
COPY = "secret.copy"
#: Actions whose values come from other versions. Records of earlier releases do not say from which.
DERIVING = frozenset({COPY, "secret.rename", "secret.restore", "secret.rollback"})


@dataclass
class History:
    """Every version and revision of an environment after the revision `since`.

    What came before is unknown: a state of an earlier release does not have it.
    """

    since: int = 0
    revisions: dict[int, RevisionState] = field(default_factory=dict)
    #: By key, then by number.
    versions: dict[str, dict[int, VersionState]] = field(default_factory=dict)

    def add(self, write: WriteDetail) -> None:
        """Add the revision and the versions of a write."""
        self.revisions[write["rev"]] = shared(write["revision"])
        origins, value = write["origins"], VersionState(write["rev"], False)
        for change in write["changes"]:
            key = change["key"]
            if change["kind"] == "removed":
                found = VersionState(write["rev"], True)
            elif origins is None:
                found = value._replace(origin=UNTOLD)
            else:
                found = value._replace(origin=origins[key]) if key in origins else value
            self.versions.setdefault(key, {})[change["version"]] = found

    def is_unknown(self, rev: object) -> bool:
        """Whether a revision is from before what is known; on SQLite it may be anything."""
        return isinstance(rev, int) and rev <= self.since

    def to_lists(self) -> dict[str, object]:
        """Return it as JSON has it, in the order of revisions: on SQLite numbers may be anything."""
        return {
            "since": self.since,
            "revisions": [[rev, *made] for rev, made in self.revisions.items()],
            "versions": {
                key: [[number, *one] for number, one in held.items()] for key, held in self.versions.items()
            },
        }

    @classmethod
    def from_lists(cls, found: Mapping[str, Any]) -> History:
        """Return what `to_lists` has made. Raises TypeError and KeyError for anything else."""
        return cls(
            found["since"],
            {rev: shared(RevisionState(*rest)) for rev, *rest in found["revisions"]},
            {key: _versions(held) for key, held in found["versions"].items()},
        )


def write_of(record: Mapping[str, Any], detail: Mapping[str, Any]) -> WriteDetail:
    """Return what a replay needs of the record of a write.

    Without origins, those of a value are unknown where the action takes it from another version.
    """
    action, source = record["action"], None
    if action == COPY and detail["from"]["environment_id"] != record["environment_id"]:
        source = detail["from"]["environment_id"]
    made = RevisionState(
        action,
        reason_digest(record.get("reason")),
        record["created_at"],
        record["actor"]["identity_id"],
        record["id"],
        source,
    )
    return {
        "rev": detail["rev"],
        "changes": detail["changes"],
        "descriptions": detail.get("descriptions"),
        "origins": detail.get("origins", None if action in DERIVING else {}),
        "revision": made,
    }


def reason_digest(reason: object) -> str | None:
    """Return the digest of a reason, in hexadecimal; None without one."""
    if reason is None:
        return None
    return sha256(str(reason).encode(errors="surrogatepass")).digest()[:DIGEST_BYTES].hex()


def shared(made: RevisionState) -> RevisionState:
    """Return it with one text in memory for all revisions of an action, and of an author."""
    return made._replace(action=_one(made.action), created_by=_one(made.created_by))


def _one(text: str | None) -> str | None:
    return sys.intern(text) if type(text) is str else text


def _versions(found: Iterable[Any]) -> dict[int, VersionState]:
    return {number: VersionState(*rest) for number, *rest in found}
