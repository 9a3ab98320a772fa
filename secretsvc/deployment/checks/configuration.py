"""The settings, the master key, the sources of the issuers' keys, and who may open the files."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

from chameleon.config import CACHE_DIRECTORY
from sqlalchemy.engine import make_url

from secretsvc.authentication.jwks import DEADLINE, KeyCache
from secretsvc.authentication.workload_issuers import workload_keys
from secretsvc.db.sqlite_files import open_to_others
from secretsvc.deployment.checks.contradictions import NAME as SETTINGS
from secretsvc.deployment.checks.contradictions import contradictions
from secretsvc.deployment.checks.findings import Finding, fail, ok, warn
from secretsvc.kernel.errors import ServerMisconfigured
from secretsvc.kernel.release import docs_page
from secretsvc.kernel.settings import Settings
from secretsvc.kernel.workloads import workloads
from secretsvc.registry import report_settings
from secretsvc.server.readiness import settings_state
from secretsvc.web.request import ServiceRegistry

_READ, _WRITE = stat.S_IRGRP | stat.S_IROTH, stat.S_IWGRP | stat.S_IWOTH


def check_settings(registry: ServiceRegistry) -> Iterator[Finding]:
    """Settings that are missing, malformed or contradictory, of workload issuers too."""
    settings = registry.service_settings
    report_settings(settings)
    stops = bool(settings_state(registry).reasons)
    advice = f"{docs_page('settings.md')} says what it takes"
    found = [fail(SETTINGS, f"{problem}: {advice}", stops) for problem in settings.take_problems()]
    if stops and not found:
        found = [fail(SETTINGS, "RATE_LIMIT_STORAGE cannot be used: correct its URL", stops)]
    with suppress(ServerMisconfigured):
        found += _degraded(registry, stops=stops)
    found += contradictions(settings)
    yield from found or [ok(SETTINGS, "none is missing, malformed or contradicts another")]


def _degraded(registry: ServiceRegistry, *, stops: bool) -> Iterator[Finding]:
    """Whether the file of keys and the storage of counts can be used; the service does without."""
    problem = registry.authenticator.keys.problem
    if problem is not None:
        yield warn(SETTINGS, f"the file of ACCESS_JWKS_CACHE is not used: {problem}: delete the file")
    if not stops and not registry.authenticator.is_counting():
        told = "the storage of RATE_LIMIT_STORAGE does not answer"
        yield warn(SETTINGS, f"{told}: until it does, each process counts alone")


def check_key(registry: ServiceRegistry) -> Iterator[Finding]:
    """Whether the key provider gives the keys; `check_database` reports whether they are in use."""
    try:
        yield ok("key", f"the key provider gives master key {registry.load_ring().active_kid}")
    except ServerMisconfigured:
        advice = "give the key, or make a first one by secretsvc-server keygen"
        problems = registry.service_settings.take_problems() or ["the keys are not fit"]
        yield from [fail("key", f"{problem}: {advice}") for problem in problems]


def check_key_sources(settings: Settings) -> Iterator[Finding]:
    """Fetches the signing keys of the access proxy and of each workload issuer, once."""
    for whose, make in _key_caches(settings):
        try:
            cache = make()
        except ServerMisconfigured:
            yield fail("key source", f"that of {whose} cannot be asked: mend its settings first")
            continue
        _fetch(cache)
        if cache.age is not None:
            yield ok("key source", f"{whose} gives its keys")
        else:
            advice = "let this machine reach the source, or mend the setting of its URL"
            told = f"{whose} gave none in time"
            if cache.problem is not None:
                told = f"{whose}'s keys could not be fetched: {cache.problem}"
            yield fail("key source", f"{told}: {advice}")


def _fetch(cache: KeyCache) -> None:
    cache.prepare()
    end = time.monotonic() + DEADLINE + 0.5
    while cache.age is None and cache.problem is None and time.monotonic() < end:
        time.sleep(0.02)


def _key_caches(settings: Settings) -> Iterator[tuple[str, Callable[[], KeyCache]]]:
    yield "the access proxy", lambda: KeyCache(settings.access_jwks_url, settings.access_algorithms, 0)
    with suppress(ServerMisconfigured):
        for one in workloads(settings):
            yield f"the workload issuer {one.name}", partial(workload_keys, settings, one)


def check_files(settings: Settings, ini: str) -> Iterator[Finding]:
    """Whether others than their owner can read files with secrets, or write to files of the service."""
    found = [*_open_files(settings, ini)]
    yield from found or [ok("files", "no file of the service is open to group or others")]


def _open_files(settings: Settings, ini: str) -> Iterator[Finding]:
    for path, mode in _modes(settings, ini):
        if mode & _WRITE:
            yield fail("files", f"group or others may write to {path} (mode {mode:04o}): chmod go-w it")
        elif mode & _READ:
            yield warn("files", f"group or others may read {path} (mode {mode:04o}): chmod 600 it")


def _modes(settings: Settings, ini: str) -> Iterator[tuple[str, int]]:
    """Yield the mode of each file; without a secret in it, without the bits for reading."""
    with suppress(ServerMisconfigured):
        yield from open_to_others(settings.database_url)
    watched: list[tuple[str | Path, bool]] = [(ini, _holds_secrets(settings))]
    for name in ("master_key_file", "master_key_old_file"):
        with suppress(ServerMisconfigured):
            path = getattr(settings, name)
            watched += [] if path is None else [(path, True)]
    with suppress(ServerMisconfigured):
        watched += [] if settings.access_jwks_cache is None else [(settings.access_jwks_cache, False)]
    if CACHE_DIRECTORY is not None:
        watched.append((CACHE_DIRECTORY, False))
    for path, secret in watched:
        with suppress(OSError):
            mode = stat.S_IMODE(os.stat(path).st_mode)
            yield str(path), mode if secret else mode & ~_READ


def _holds_secrets(settings: Settings) -> bool:
    if any(settings.ini.get(f"secretsvc.{name}") for name in ("master_key", "master_key_old")):
        return True
    with suppress(Exception):
        return make_url(settings.ini.get("sqlalchemy.url", "")).password is not None
    return False
