"""When a grant is to end, as a form has it: a span from now, or an exact time."""

from __future__ import annotations

from secretsvc.kernel.authorization import is_expired
from secretsvc.kernel.errors import ValidationFailed
from secretsvc.web.forms import Form
from secretsvc.web.pages.time_format import DAY, HOUR, moment, typed_time
from secretsvc.web.request import ServiceRequest

#: The spans that a form offers: the value, what it is called, and its length in milliseconds.
SPANS = (
    ("1h", "1 hour", HOUR),
    ("1d", "1 day", DAY),
    ("1w", "1 week", 7 * DAY),
    ("3m", "3 months", 91 * DAY),
    ("never", "No end", None),
)
WEEK = 7 * DAY
_LENGTHS = {value: length for value, _, length in SPANS}


def read_end(request: ServiceRequest) -> int | None:
    """When a form has a grant end, in epoch milliseconds, None for never; an exact time goes before a span.

    Raises `ValidationFailed`, also for what is past: nobody means to type a grant that holds nothing.
    """
    return _end(request.form, request.call.now)


def shown_end(form: Form, now: int) -> str | None:
    """The same in words, "" for never; None where what was typed is no time."""
    try:
        end = _end(form, now)
    except ValidationFailed:
        return None
    return "" if end is None else day_of(end, now)


def day_of(at: int, now: int) -> str:
    """A time as it stands in a sentence: "28 November, 14:20 UTC"."""
    then = moment(at)
    year = "" if then.year == moment(now).year else f" {then.year}"
    return f"{then.day} {then:%B}{year}, {then:%H:%M} UTC"


def _end(form: Form, now: int) -> int | None:
    typed, span = form["expires_at"].strip(), form["until"]
    if not typed and span:
        if span not in _LENGTHS:
            raise ValidationFailed.at("expires_at", "Choose one of the spans, or give an exact time.")
        length = _LENGTHS[span]
        return None if length is None else now + length
    end = typed_time(typed) if typed else None
    if is_expired(end, now):
        raise ValidationFailed.at("expires_at", "Must lie in the future; it is read as UTC.")
    return end
