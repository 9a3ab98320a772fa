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
from secretsvc.deployment.checks.findings import (
    Complaints,
    Finding,
    Level,
    complaints,
    fail,
    ok,
    warn,
)
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
    settings, answers = registry.service_settings, True
    with complaints() as found:
        report_settings(settings)
        stops = bool(settings_state(registry).reasons)
        with suppress(ServerMisconfigured):
            answers = stops or registry.authenticator.is_counting()
    amiss = found.findings(SETTINGS, f"{docs_page('settings.md')} says what it takes", stops=stops)
    if stops and all(one.level is not Level.FAIL for one in amiss):
        amiss.append(fail(SETTINGS, "RATE_LIMIT_STORAGE cannot be used: correct its URL", stops))
    if not answers:
        told = "the storage of RATE_LIMIT_STORAGE does not answer"
        amiss.append(warn(SETTINGS, f"{told}: until it does, each process counts alone"))
    amiss += contradictions(settings)
    yield from amiss or [ok(SETTINGS, "none is missing, malformed or contradicts another")]


def check_key(registry: ServiceRegistry) -> Iterator[Finding]:
    """Whether the key provider gives the keys; whether one is in use is for the database to say."""
    kid = None
    with complaints() as found, suppress(ServerMisconfigured):
        kid = registry.load_ring().active_kid
    if kid is not None:
        yield ok("key", f"the key provider gives master key {kid}")
        return
    advice = "give the key, or make a first one by secretsvc-server keygen"
    yield from found.findings("key", advice) or [fail("key", f"the keys are not fit: {advice}")]


def check_key_sources(settings: Settings) -> Iterator[Finding]:
    """Fetches the signing keys of the access proxy and of each workload issuer, once."""
    for whose, make in _key_caches(settings):
        cache = None
        with complaints() as found, suppress(ServerMisconfigured):
            cache = make()
            _fetch(cache, found)
        if cache is None:
            yield fail("key source", f"that of {whose} cannot be asked: mend its settings first")
        elif cache.age is not None:
            yield ok("key source", f"{whose} gives its keys")
        else:
            advice = "let this machine reach the source, or mend the setting of its URL"
            told = [record.getMessage().strip() for record in found.records] or [f"{whose} gave none in time"]
            yield fail("key source", f"{'; '.join(told)}: {advice}")


def _fetch(cache: KeyCache, found: Complaints) -> None:
    cache.prepare()
    end = time.monotonic() + DEADLINE + 0.5
    while cache.age is None and not found.records and time.monotonic() < end:
        time.sleep(0.02)


def _key_caches(settings: Settings) -> Iterator[tuple[str, Callable[[], KeyCache]]]:
    yield "the access proxy", lambda: KeyCache(settings.access_jwks_url, settings.access_algorithms, 0)
    with suppress(ServerMisconfigured):
        for one in workloads(settings):
            yield f"the workload issuer {one.name}", partial(workload_keys, settings, one)


def check_files(settings: Settings, ini: str) -> Iterator[Finding]:
    """Which files with secrets in them others than their owner may read, and which of ours they may write."""
    amiss = [*_open_files(settings, ini)]
    yield from amiss or [ok("files", "no file of the service is open to group or others")]


def _open_files(settings: Settings, ini: str) -> Iterator[Finding]:
    for path, mode in _modes(settings, ini):
        if mode & _WRITE:
            yield fail("files", f"group or others may write to {path} (mode {mode:04o}): chmod go-w it")
        elif mode & _READ:
            yield warn("files", f"group or others may read {path} (mode {mode:04o}): chmod 600 it")


def _modes(settings: Settings, ini: str) -> Iterator[tuple[str, int]]:
    """Of each file the bits that matter: who may read what holds no secret does not."""
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
