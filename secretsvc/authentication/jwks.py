"""The signing keys of one issuer, held so that its outages are not ours (contract 1, 6.3)."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from pathlib import Path

from secretsvc.authentication.jose import Keys, KeySet, usable_keys
from secretsvc.authentication.jwks_cache_file import KeyFile
from secretsvc.authentication.jwks_source import NO_CREDENTIALS, Credentials, UnreadableFile, key_source
from secretsvc.kernel.errors import (
    IdentityProviderUnavailable,
    SecretsvcError,
    ServerMisconfigured,
    Unauthenticated,
)
from secretsvc.kernel.rejections import MEMBERS, facts

log = logging.getLogger(__name__)

SOFT_LIFE = 300.0
HARD_LIFE = 86_400.0
DEADLINE = 3.0
# Between two attempts to get a first set: nobody is let in without one, and one is no refetch.
FIRST_PAUSE = 1.0
# How long into a slow fetch a request that did not start it still waits: enough for a healthy source,
# too little for unknown kids to occupy every thread of the server while the source hangs.
FOLLOWER_WAIT = 0.25


@dataclass(slots=True, eq=False)
class _Fetch:
    """One attempt to fetch. `started` is by the cache's clock, `began` by the real one, for waiting."""

    started: float
    wanted: str | None
    replaces: bool
    began: float = field(default_factory=time.monotonic)
    finished: threading.Event = field(default_factory=threading.Event)

    def wait(self, seconds: float) -> None:
        """Until it has finished, at most `seconds` from its beginning."""
        self.finished.wait(max(0.0, self.began + seconds - time.monotonic()))


@dataclass(frozen=True, slots=True)
class _Held:
    """The set in use and when it was last seen at the source."""

    set: KeySet
    seen: float


class KeyCache:
    """Signing keys by kid. `whose` is for the log.

    A look-up of a known kid never waits for the source. After 5 minutes the set is refreshed in the
    background; after 24 hours without a sight of the source it is given up. `clock` is monotonic, and
    `cooldown`, `deadline` (of a whole fetch) and the clock are in seconds. `kept_at` outlives the process.
    """

    def __init__(
        self,
        url: str,
        algorithms: Collection[str],
        cooldown: float,
        *,
        deadline: float = DEADLINE,
        clock: Callable[[], float] = time.monotonic,
        credentials: Credentials = NO_CREDENTIALS,
        whose: str = "the access proxy",
        kept_at: Path | None = None,
    ) -> None:
        self._source, self._whose = key_source(url, deadline, credentials), whose
        self._algorithms, self._cooldown = frozenset(algorithms), cooldown
        self._deadline, self._clock = deadline, clock
        # Guards the fields below, for an instant each time and never during a fetch.
        self._lock = threading.Lock()
        self._held: _Held | None = None
        self._pending: _Fetch | None = None
        self._generation = 0
        # What the last attempt, if it failed, answers to those who would have needed it.
        self._failure: type[SecretsvcError] | None = None
        self._last_started: float | None = None
        self._cooling_since: float | None = None
        # Kids that the log has named.
        self._shared: set[str] = set()
        self._file = None if kept_at is None or self._source.local else KeyFile(kept_at, url)
        self._take_kept()

    @property
    def generation(self) -> int:
        """Another number when the key set has changed: what was verified before may not verify now.

        Reading it also notices a changed file, an expired set and a refresh that is due, so that whoever
        relies on it instead of `find` sees a withdrawn key as soon.
        """
        self._refresh_if_due(self._clock())
        return self._generation

    @property
    def is_local(self) -> bool:
        """Whether the keys are in a file."""
        return self._source.local

    @property
    def age(self) -> float | None:
        """Seconds since the source was last seen to have the set in use; None without a set."""
        held = self._held
        return None if held is None else self._clock() - held.seen

    def prepare(self) -> None:
        """What is due without a request: the first set, later its refresh. For a process to call often."""
        now = self._clock()
        self._refresh_if_due(now)
        last = self._last_started
        # What was kept on file may have been withdrawn since.
        if last is None or (self._held is None and now - last >= FIRST_PAUSE):
            self._start_fetch(now, None)

    def find(self, kid: str, alg: str) -> Keys:
        """The keys of which one verifies `alg` under `kid`: one, unless the source has several.

        Raises `Unauthenticated` for a kid that the source does not have, or has for another algorithm;
        `IdentityProviderUnavailable` while the source cannot be asked (contract 1), and `ServerMisconfigured`
        where that is for a file of ours (contract 6.3).
        """
        now = self._clock()
        self._refresh_if_due(now)
        held = self._held
        if held is None or kid not in held.set.keys:
            held = self._fetch_for(kid, now)
        try:
            return held.set.keys[kid][alg]
        except KeyError:
            raise Unauthenticated() from None

    def _fetch_for(self, kid: str, now: float) -> _Held:
        fetch, own = self._start_fetch(now, kid)
        answered = True
        if fetch is not None:
            fetch.wait(self._deadline if own or not fetch.replaces else FOLLOWER_WAIT)
            answered = fetch.finished.is_set()
        if own and fetch is not None and not answered:
            # Its thread hangs where no deadline reaches it, in a name look-up perhaps.
            self._finish(fetch, None, IdentityProviderUnavailable)
        with self._lock:
            held = self._held
            if held is None or (kid not in held.set.keys and (self._failure or not answered)):
                if self._failure not in (None, IdentityProviderUnavailable):
                    raise self._failure()
                raise IdentityProviderUnavailable(self._rest(now))
            return held

    def _refresh_if_due(self, now: float) -> None:
        """What is due without anybody's waiting for it."""
        held = self._held
        if held is not None and now - held.seen >= HARD_LIFE:
            self._expire(held)
        pause = min(self._cooldown, SOFT_LIFE)
        rested = self._last_started is None or now - self._last_started >= pause
        stale = held is not None and now - held.seen >= SOFT_LIFE and rested
        if stale or self._source.changed():
            self._start_fetch(now, None)

    def _expire(self, held: _Held) -> None:
        with self._lock:
            if self._held is held:
                self._held = None
                self._generation += 1

    def _start_fetch(self, now: float, wanted: str | None) -> tuple[_Fetch | None, bool]:
        """The fetch under way, and whether this call began it; none while unknown kids must wait."""
        with self._lock:
            under_way = self._pending
            if under_way is not None and now - under_way.started <= 2 * self._deadline:
                return under_way, False
            if wanted is not None and self._rest(now) > 0:
                return None, False
            fetch = _Fetch(now, wanted, replaces=self._held is not None)
            self._pending, self._last_started = fetch, now
        if self._source.local:
            self._fetch(fetch)
            return fetch, True
        try:
            threading.Thread(target=self._fetch, args=(fetch,), name="key-fetch", daemon=True).start()
        except RuntimeError:
            self._finish(fetch, None, IdentityProviderUnavailable)
        return fetch, True

    def _rest(self, now: float) -> float:
        """Seconds until somebody may ask for an unknown kid again; for a first set, that is soon."""
        pause = min(FIRST_PAUSE, self._cooldown) if self._generation == 0 else self._cooldown
        return 0.0 if self._cooling_since is None else max(0.0, self._cooling_since + pause - now)

    def _fetch(self, fetch: _Fetch) -> None:
        keys, failure = None, None
        try:
            keys = usable_keys(self._source.read(), self._algorithms)
        except Exception as error:
            # Whatever the source sends must not end this thread before it has finished.
            log.warning(
                "%s's keys could not be fetched: %s %s",
                self._whose,
                type(error).__name__,
                getattr(error, "code", ""),
            )
            ours = isinstance(error, UnreadableFile)
            failure = ServerMisconfigured if ours else IdentityProviderUnavailable
        self._report_shared(() if keys is None else keys.shared)
        self._finish(fetch, keys, failure)
        if keys is not None and self._file is not None:
            self._file.save(keys)

    def _report_shared(self, kids: tuple[str, ...]) -> None:
        """Logs the kids that name several keys, each once for as long as the process runs."""
        new = [kid for kid in kids[:MEMBERS] if kid not in self._shared]
        if new and len(self._shared) < MEMBERS:
            self._shared.update(new)
            log.warning(
                "%s's keys: different keys have one kid, and each is tried: %s",
                self._whose,
                facts({"kid": new}),
            )

    def _take_kept(self) -> None:
        kept = None if self._file is None else self._file.load(self._algorithms, HARD_LIFE)
        if kept is not None:
            self._replace(kept.set, self._clock() - kept.age)

    def _finish(self, fetch: _Fetch, keys: KeySet | None, failure: type[SecretsvcError] | None) -> None:
        """Takes the outcome over. One that comes after its attempt was given up changes nothing."""
        with self._lock:
            if self._pending is fetch:
                self._pending, self._failure = None, failure
                if keys is not None:
                    self._replace(keys, fetch.started)
                if self._starts_cooldown(fetch, keys):
                    self._cooling_since = fetch.started
        fetch.finished.set()

    def _replace(self, keys: KeySet, seen: float) -> None:
        before = self._held
        if before is not None and before.set == keys:
            self._held = _Held(before.set, seen)
            return
        self._held = _Held(keys, seen)
        self._generation += 1

    @staticmethod
    def _starts_cooldown(fetch: _Fetch, keys: KeySet | None) -> bool:
        """Whether a cool-down follows."""
        if keys is None:
            # Nobody asked for a first set before its time: whoever asks now may try at once.
            return fetch.wanted is not None or fetch.replaces
        # A first load or a routine refresh answers no unknown kid: a cool-down after it would only put
        # off the first use of a rotated key.
        return fetch.wanted is not None and (fetch.replaces or fetch.wanted not in keys.keys)
