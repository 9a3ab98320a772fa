"""The signing keys of one issuer, held so that its outages are not ours (contract 1, 6.3)."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from pathlib import Path

from secretsvc.authentication.jose import Keys, KeySet, usable_keys
from secretsvc.authentication.jwks_cache_file import KeyFile, UnusableKeyFile
from secretsvc.authentication.jwks_source import NO_CREDENTIALS, Credentials, UnreadableFile, key_source
from secretsvc.kernel.errors import (
    IdentityProviderUnavailable,
    SecretsvcError,
    ServerMisconfigured,
    Unauthenticated,
)
from secretsvc.kernel.rejections import MEMBERS, claimed_facts

log = logging.getLogger(__name__)

SOFT_LIFE = 300.0
HARD_LIFE = 86_400.0
DEADLINE = 3.0
# Between two attempts to get a first set: no user gets in without one, and it is no refetch (contract 1).
FIRST_PAUSE = 1.0
# How long a request waits for a fetch that another one started: enough for a healthy source, too little for
# unknown kids to occupy every thread of the server while the source hangs.
FOLLOWER_WAIT = 0.25


@dataclass(slots=True, eq=False)
class _Fetch:
    """One attempt to fetch, perhaps for a `wanted` kid. It `replaces` a set if the cache has one.

    `started` is by the cache's clock, `began` by the real one, for waiting.
    """

    started: float
    wanted: str | None
    replaces: bool
    began: float = field(default_factory=time.monotonic)
    finished: threading.Event = field(default_factory=threading.Event)

    def wait(self, seconds: float) -> None:
        """Wait until it has finished, at most `seconds` from its beginning."""
        self.finished.wait(max(0.0, self.began + seconds - time.monotonic()))


@dataclass(frozen=True, slots=True)
class _Held:
    """The set in use and when it was last seen at the source."""

    set: KeySet
    seen: float


class KeyCache:
    """Signing keys by kid, from one source. A known kid never waits for the source.

    The set, by the time since the source was last seen to have it::

        none  --fetched, or loaded from a file--> fresh   (a set from a file keeps its age)
        fresh --5 minutes-----------------------> stale   (refreshed in the background)
        stale --fetched-------------------------> fresh
        stale --24 hours------------------------> none

    The source, of which at most one fetch is under way::

        idle     --unknown kid, refresh due, changed file-----------> fetching
        fetching --no kid was wanted, or the first set has it-------> idle
        fetching --any other kid was wanted, or a refresh failed----> cooling
        cooling  --`cooldown` seconds after the fetch began---------> idle   (1 s before the first set)

    While the source cools, an unknown kid starts no fetch; a refresh does. An unknown kid raises
    `Unauthenticated` after a fetch that succeeded, and the error in `_failure` after one that failed.

    `clock` is monotonic; it, `cooldown` and `deadline` (of a whole fetch) are in seconds. `issuer_label` is
    for the log. `cache_file` outlives the process.
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
        issuer_label: str = "the access proxy",
        cache_file: Path | None = None,
    ) -> None:
        #: Why the file was not used, or the last failed fetch failed; for `check`.
        self.problem: str | None = None
        self._source, self._issuer_label = key_source(url, deadline, credentials), issuer_label
        self._algorithms, self._cooldown = frozenset(algorithms), cooldown
        self._deadline, self._clock = deadline, clock
        # Guards the state of the set and of the source; never held during a fetch.
        self._lock = threading.Lock()
        # The set, and the number of sets so far.
        self._held: _Held | None = None
        self._generation = 0
        # The source: the fetch under way, when the last one started, and the error that it ended with.
        self._pending: _Fetch | None = None
        self._last_started: float | None = None
        self._failure: type[SecretsvcError] | None = None
        # When the fetch started after which the source cools.
        self._cooling_since: float | None = None
        # Shared kids that the log has named.
        self._shared: set[str] = set()
        self._file = None if cache_file is None or self._source.local else KeyFile(cache_file, url)
        self._load_file()

    @property
    def generation(self) -> int:
        """The number of key sets so far: with another one, what was verified before can fail now.

        Reading it also starts a refresh that is due, and notices a changed file and an expired set. So a
        caller that compares it instead of calling `find` learns of a withdrawn key as soon.
        """
        self._refresh_if_due(self._clock())
        return self._generation

    @property
    def is_local(self) -> bool:
        """Whether the keys are in a file."""
        return self._source.local

    @property
    def age(self) -> float | None:
        """Seconds since the source was last seen to have the set; None without a set."""
        held = self._held
        return None if held is None else self._clock() - held.seen

    def prepare(self) -> None:
        """Fetch the first set, later refresh it when that is due. Call it often."""
        now = self._clock()
        self._refresh_if_due(now)
        last = self._last_started
        # Keys from the file may have been withdrawn, so they do not replace the first fetch.
        if last is None or (self._held is None and now - last >= FIRST_PAUSE):
            self._start_fetch(now, None)

    def find(self, kid: str, alg: str) -> Keys:
        """Return the keys for `alg` under `kid`: one, unless the source has several.

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
            # Its thread hangs where the deadline does not apply, such as in a name look-up.
            self._finish(fetch, None, IdentityProviderUnavailable)
        with self._lock:
            held = self._held
            if held is None or (kid not in held.set.keys and (self._failure or not answered)):
                if self._failure not in (None, IdentityProviderUnavailable):
                    raise self._failure()
                raise IdentityProviderUnavailable(self._rest(now))
            return held

    def _refresh_if_due(self, now: float) -> None:
        """Drop an expired set, and start a refresh that is due; never waits, but for a file."""
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
        """Return the fetch under way and whether this call began it; None while the source cools."""
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
        """Return the seconds until an unknown kid can start a fetch again; few before the first set."""
        pause = min(FIRST_PAUSE, self._cooldown) if self._generation == 0 else self._cooldown
        return 0.0 if self._cooling_since is None else max(0.0, self._cooling_since + pause - now)

    def _fetch(self, fetch: _Fetch) -> None:
        keys, failure = None, None
        try:
            keys = usable_keys(self._source.read(), self._algorithms)
        except Exception as error:
            # No answer of the source can end this thread before `_finish`.
            name, code = type(error).__name__, getattr(error, "code", "")
            self.problem = f"{name} {code}".strip()
            log.warning("%s's keys could not be fetched: %s %s", self._issuer_label, name, code)
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
                self._issuer_label,
                claimed_facts({"kid": new}),
            )

    def _load_file(self) -> None:
        if self._file is None:
            return
        try:
            kept = self._file.load(self._algorithms, HARD_LIFE)
        except UnusableKeyFile as error:
            self.problem = str(error)
            log.warning("the file of ACCESS_JWKS_CACHE is not used: %s", error)
            return
        if kept is not None:
            self._replace(kept.set, self._clock() - kept.age)

    def _finish(self, fetch: _Fetch, keys: KeySet | None, failure: type[SecretsvcError] | None) -> None:
        """Apply the outcome of a fetch, unless the fetch was given up before."""
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
        """Return whether the source cools after that fetch."""
        if keys is None:
            # No request asked for this first set: the next request can start a fetch at once.
            return fetch.wanted is not None or fetch.replaces
        # A first load or a routine refresh was for no unknown kid: a cool-down would only delay the first use
        # of a rotated key.
        return fetch.wanted is not None and (fetch.replaces or fetch.wanted not in keys.keys)
