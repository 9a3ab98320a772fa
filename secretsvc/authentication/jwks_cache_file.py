"""A file with the last good set of an issuer's keys, for a restart during the issuer's outage."""

from __future__ import annotations

import json
import logging
import os
import stat
import time
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from secretsvc.authentication.jose import KeySet, strict_object, usable_keys
from secretsvc.authentication.jwks_source import MAX_BYTES

log = logging.getLogger(__name__)

_OTHERS = stat.S_IWGRP | stat.S_IWOTH
#: Seconds by which two clocks can differ, or one can be set back.
SKEW = 300.0


class UnusableKeyFile(ValueError):
    """The file of `ACCESS_JWKS_CACHE` cannot be used; the text says why."""


class CachedKeySet(NamedTuple):
    """A set, and the seconds since the source was last seen to have it."""

    set: KeySet
    age: float


class KeyFile:
    """One file for the set from one URL: only public keys, and when the source was seen to have them.

    Anyone who can write this file can forge tokens: a file that others than its reader can write is not used.
    """

    def __init__(self, path: Path, url: str) -> None:
        self._path, self._url = path, url

    def load(self, algorithms: Collection[str], life: float) -> CachedKeySet | None:
        """Return the set, None without a file; `life` is in seconds. Raises `UnusableKeyFile`."""
        try:
            with self._path.open("rb") as file:
                _check_owner(os.fstat(file.fileno()))
                found = strict_object(file.read(MAX_BYTES))
            seen = found["seen_at"]
            if not isinstance(seen, (int, float)) or found["url"] != self._url:
                raise ValueError("of another source")
            kept = CachedKeySet(
                usable_keys(json.dumps(found["jwks"]).encode(), algorithms), time.time() - seen
            )
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, RecursionError) as error:
            raise UnusableKeyFile(f"{type(error).__name__} {error}") from None
        if not -SKEW <= kept.age < life:
            raise UnusableKeyFile(f"its keys were seen {int(kept.age)} s ago")
        return kept._replace(age=max(0.0, kept.age))

    def save(self, keys: KeySet) -> None:
        """Write a set that was fetched just now, whole or not at all; a failure is logged."""
        entries = [
            {"kid": kid, "alg": alg, **public}
            for kid, by_alg in keys.material.items()
            for alg, several in by_alg.items()
            for public in several
        ]
        document = {"url": self._url, "seen_at": int(time.time()), "jwks": {"keys": entries}}
        # Processes may share it.
        made = self._path.with_name(f"{self._path.name}.{os.getpid()}")
        try:
            with suppress(FileNotFoundError):
                made.unlink()
            with os.fdopen(os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
                json.dump(document, file)
            made.replace(self._path)
        except OSError as error:
            log.warning("the file of ACCESS_JWKS_CACHE was not written: %s", type(error).__name__)


def _check_owner(status: os.stat_result) -> None:
    if status.st_uid not in (os.geteuid(), 0) or status.st_mode & _OTHERS:
        raise PermissionError("others may write to it")
