"""Settings that contradict each other, or the unit that runs the service."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from secretsvc.deployment.checks.findings import Finding, fail, warn
from secretsvc.kernel.errors import ServerMisconfigured
from secretsvc.kernel.settings import Settings
from secretsvc.registry import unexportable_bytes

NAME = "settings"
UNITS, UNIT_NAMES = Path("/etc/systemd/system"), ("secretsvc.service", "secretsvc@.service")
#: How long the files of deploy/ wait for a process that stops, in seconds.
STOP_SECONDS = 45.0
#: systemd's own, in seconds, where a unit names none.
SYSTEMD_SECONDS = 90.0
_TIMEOUT = re.compile(r"(?m)^[ \t]*Timeout(?:Stop)?Sec[ \t]*=[ \t]*(.*?)[ \t]*$")
_SPAN = re.compile(r"([0-9.]+)\s*([a-z]*)")
_UNITS_OF_TIME = {
    "ms": 0.001,
    "": 1.0,
    "s": 1.0,
    "sec": 1.0,
    "min": 60.0,
    "m": 60.0,
    "h": 3600.0,
    "hr": 3600.0,
}


def contradictions(settings: Settings, units: Path = UNITS) -> Iterator[Finding]:
    """Return a finding for each; settings that are malformed are not compared."""
    for compare in (_unused_keys, _small_bodies, _small_plaintext):
        with suppress(ServerMisconfigured):
            yield from compare(settings)
    with suppress(ServerMisconfigured):
        yield from _short_stops(settings.drain_seconds, units)


def _unused_keys(settings: Settings) -> Iterator[Finding]:
    provider = settings.key_provider
    unused = ("MASTER_KEY", "MASTER_KEY_OLD")
    if provider == "environment":
        unused = ("MASTER_KEY_FILE", "MASTER_KEY_OLD_FILE")
    for name in unused:
        raw = settings.environ.get(name, settings.ini.get(f"secretsvc.{name.lower()}", ""))
        if raw.strip():
            advice = f"remove it, or choose another KEY_PROVIDER than {provider}"
            yield fail(NAME, f"{name} is set, and the key provider does not use it: {advice}")


def _small_bodies(settings: Settings) -> Iterator[Finding]:
    if settings.body_max_bytes < settings.secret_max_bytes:
        told = "BODY_MAX_BYTES is below SECRET_MAX_BYTES, so that no request can carry the longest value"
        yield fail(NAME, f"{told}: raise it, or lower SECRET_MAX_BYTES")


def _small_plaintext(settings: Settings) -> Iterator[Finding]:
    full = unexportable_bytes(settings)
    if full:
        told = f"a quarter of PLAINTEXT_MAX_BYTES is below {full} bytes"
        yield warn(NAME, f"{told}, so that a full environment cannot be exported: raise it")


def _short_stops(drain: int, units: Path) -> Iterator[Finding]:
    found = {name: _stop_seconds(units, name) for name in UNIT_NAMES if (units / name).exists()}
    advice = "raise TimeoutStopSec above it, or lower DRAIN_SECONDS"
    for name, seconds in found.items():
        if drain >= seconds:
            told = f"DRAIN_SECONDS is {drain}, and {name} ends the process after {seconds:g} s"
            yield fail(NAME, f"{told}: {advice}")
    if not found and drain >= STOP_SECONDS:
        told = f"DRAIN_SECONDS is {drain}, and the files of deploy/ end the process after {STOP_SECONDS:g} s"
        yield warn(NAME, f"{told}: raise the time that whatever stops the process waits above it")


def _stop_seconds(units: Path, name: str) -> float:
    """The stop timeout that a unit and its drop-ins set."""
    seconds = SYSTEMD_SECONDS
    for path in (units / name, *sorted((units / f"{name}.d").glob("*.conf"))):
        with suppress(OSError, UnicodeDecodeError):
            for raw in _TIMEOUT.findall(path.read_text("utf-8")):
                seconds = _seconds(raw)
    return seconds


def _seconds(raw: str) -> float:
    """A time span of systemd, such as `1min 30s`; one that it does not read leaves its own default."""
    spans = [(float(count), unit) for count, unit in _SPAN.findall(raw)]
    if not all(unit in _UNITS_OF_TIME for _, unit in spans):
        return SYSTEMD_SECONDS
    # 0 and infinity wait for ever.
    return sum(count * _UNITS_OF_TIME[unit] for count, unit in spans) or float("inf")
