"""Times as pages show them, relative to now with the exact time in UTC beside, and as they are typed."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime

from secretsvc.kernel.errors import ValidationFailed

MINUTE, HOUR, DAY = 60_000, 3_600_000, 86_400_000
FORMATS = ("%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S")
#: From how many milliseconds on a span is told in a unit, the longest first.
UNITS = ((730 * DAY, 365 * DAY, "year"), (60 * DAY, 30 * DAY, "month"), (14 * DAY, 7 * DAY, "week"))


@dataclass(frozen=True, slots=True)
class RelativeTime:
    """A time element whose text is relative to `now`; both in epoch milliseconds."""

    at: int
    now: int

    def __html__(self) -> str:
        return (
            f'<time datetime="{iso(self.at)}" title="{exact(self.at)}">{relative(self.at, self.now)}</time>'
        )


def relative(at: int, now: int) -> str:
    """How long ago, or in how long: "2 h ago", "yesterday", "in 6 days"."""
    span = abs(at - now)
    if span < MINUTE:
        return "just now" if at <= now else "in a moment"
    if DAY <= span < 2 * DAY:
        return "yesterday" if at < now else "tomorrow"
    text = _span(span)
    return f"{text} ago" if at < now else f"in {text}"


def exact(at: int) -> str:
    """The minute in UTC as people read it."""
    return moment(at).strftime("%Y-%m-%d %H:%M UTC")


def iso(at: int) -> str:
    """The millisecond in UTC as machines read it."""
    return moment(at).isoformat(timespec="milliseconds")


def moment(milliseconds: int) -> datetime:
    """The last moment that a calendar has, where a time lies beyond it."""
    try:
        return datetime.fromtimestamp(milliseconds / 1000, UTC)
    except (ValueError, OverflowError, OSError):
        return datetime.max.replace(tzinfo=UTC)


def typed_time(text: str) -> int:
    """Epoch milliseconds of a date and time that were typed as UTC, with seconds or without.

    Raises `ValidationFailed` at `expires_at`, the field of every form that asks for a time.
    """
    for form in FORMATS if text.isascii() else ():
        with suppress(ValueError):
            return int(datetime.strptime(text, form).replace(tzinfo=UTC).timestamp()) * 1000
    raise ValidationFailed.at("expires_at", "Must be a date and a time, as in 2030-12-31T18:00.")


def _span(milliseconds: int) -> str:
    if milliseconds < HOUR:
        return f"{milliseconds // MINUTE} min"
    if milliseconds < DAY:
        return f"{milliseconds // HOUR} h"
    for least, length, name in UNITS:
        if milliseconds >= least:
            return f"{milliseconds // length:,} {name}{'' if milliseconds // length == 1 else 's'}"
    return f"{milliseconds // DAY} days"
