"""A pool of applications for tests: to make one takes 150 ms."""

from __future__ import annotations

from contextlib import suppress
from itertools import chain
from typing import Any

import secretsvc
from secretsvc.kernel.log_throttle import LogThrottle
from secretsvc.kernel.rejections import Refusals
from secretsvc.registry import report

#: Variables whose settings are read when they are needed: an application of the pool can be given others.
READ_LATE = {"BOOTSTRAP_ADMINS", "DENIAL_LIMIT", "LAST_SEEN_RESOLUTION", "BODY_MAX_BYTES", "ENV_MAX_SECRETS"}
READ_LATE |= {"PLAINTEXT_MAX_BYTES", "SECRET_MAX_BYTES", "IDENTITY_LIMIT", "WRITE_LIMIT"}
READ_LATE |= {"MASTER_KEY", "MASTER_KEY_OLD"}
_URL = "sqlalchemy.url"
_LATE = {_URL, *(f"secretsvc.{name.lower()}" for name in READ_LATE)}


class ApplicationPool:
    """Applications, each for one database at a time.

    An application keeps what it knows of tokens and keys; `reset` drops the rest.
    """

    def __init__(self) -> None:
        self._idle: dict[tuple[tuple[str, str], ...], list[Any]] = {}

    def acquire(self, settings: dict[str, str]) -> Any:
        """Return an application under these settings, as new."""
        idle = self._idle.get(_kind(settings))
        if not idle:
            return secretsvc.main({}, **settings)
        # An application that has the database open has its statements compiled.
        same = [app for app in idle if app.registry.settings[_URL] == settings[_URL]]
        app = (same or idle)[-1]
        idle.remove(app)
        reset(app, settings)
        return app

    def release(self, app: Any, settings: dict[str, str]) -> None:
        """Take an application back, unless settings that are read at the start are wrong."""
        wrong = app.registry.service_settings.report()
        if not wrong <= {name.lower() for name in READ_LATE}:
            dispose_engine(app)
            return
        for name in wrong:
            app.registry.settings.pop(f"secretsvc.{name}", None)
        idle = self._idle.setdefault(_kind(settings), [])
        # An application that is idle twice would serve two databases at once.
        if app not in idle:
            idle.append(app)

    def close(self) -> None:
        """Close all connections."""
        for app in chain.from_iterable(self._idle.values()):
            dispose_engine(app)


def reset(app: Any, settings: dict[str, str]) -> None:
    """Make an application as new, under the late settings and the database of `settings`."""
    registry = app.registry
    registry.refusals = registry.authenticator.refusals = Refusals()
    registry.tracebacks = LogThrottle()
    with suppress(AttributeError):
        del registry.authenticator.counter
    if registry.settings[_URL] != settings[_URL]:
        dispose_engine(app)
    before = dict(registry.settings)
    for name in _LATE:
        registry.settings.pop(name, None)
    registry.settings.update({name: value for name, value in settings.items() if name in _LATE})
    registry.service_settings.reset()
    if _without_url(before) == _without_url(registry.settings):
        # Which keys are in use depends on the database.
        registry.load_ring().keep(None)
    else:
        registry.load_ring.cache_clear()
        report(registry)


def dispose_engine(app: Any) -> None:
    """Close the connections of an application; the next request connects to the database of its settings."""
    database = app.registry.database
    if "engine" in vars(database):
        database.engine.dispose()
        del database.engine


def _kind(settings: dict[str, str]) -> tuple[tuple[str, str], ...]:
    # Statements compiled for one engine are of no use on the other.
    engine = settings[_URL].partition(":")[0]
    return ("engine", engine), *sorted(pair for pair in settings.items() if pair[0] not in _LATE)


def _without_url(settings: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in settings.items() if name != _URL}


applications = ApplicationPool()
