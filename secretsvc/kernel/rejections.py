"""Refusals: counted by reason, and logged in few lines (contract 6.5).

Memory does not grow with their number, and each reason has at most one line in a window for each configured
issuer.
"""

from __future__ import annotations

import logging
import re
import threading
import time
from collections.abc import Callable, Mapping
from enum import Enum

from secretsvc.kernel.log_throttle import LogThrottle

log = logging.getLogger(__name__)

WINDOW = 60.0
#: A line of the log has at most that many characters of a fact, and that many members of a list.
LENGTH = 200
MEMBERS = 20

_LOOK_AT_ISSUERS = "look at ACCESS_ISSUER, WORKLOAD_ISSUERS"
_ASSERTION, _TOKEN = "assertion", "service token"
_CROSS_SITE, _FORM = "cross-site request", "form"
# All but the printable characters of ASCII without the quotation mark and the backslash.
_ODD = re.compile(r"[^ !#-\[\]-~]")


class RejectionReason(Enum):
    """What is refused and why, in constant words, and what to do about it.

    `value` is the first two. The advice can name settings of an issuer, whose names begin with `{group}`.
    """

    ABSENT = _ASSERTION, "absent", "look at ACCESS_HEADER, ACCESS_COOKIE"
    AMBIGUOUS = _ASSERTION, "two cookies that differ", "look at ACCESS_COOKIE"
    MALFORMED = _ASSERTION, "malformed", "look at ACCESS_HEADER, ACCESS_COOKIE"
    ALGORITHM = _ASSERTION, "algorithm", "look at {group}ALGORITHMS"
    HEADER = _ASSERTION, "header not supported", "look at {group}ISSUER"
    NO_KID = _ASSERTION, "no kid", "look at {group}JWKS_URL"
    UNKNOWN_KID = _ASSERTION, "unknown kid", "look at {group}JWKS_URL"
    SIGNATURE = _ASSERTION, "signature", "look at {group}JWKS_URL"
    ISSUER = _ASSERTION, "issuer", _LOOK_AT_ISSUERS
    AUDIENCE = _ASSERTION, "audience", "look at {group}AUDIENCE"
    MISSING_CLAIM = _ASSERTION, "missing claim", "look at {group}ISSUER, {group}AUDIENCE"
    TIME = _ASSERTION, "malformed time", "look at {group}ISSUER"
    EXPIRED = _ASSERTION, "expired", "look at ACCESS_LEEWAY"
    NOT_YET = _ASSERTION, "not yet valid", "look at ACCESS_LEEWAY"
    EMAIL_VERIFIED = _ASSERTION, "email_verified", "look at {group}ISSUER"
    CLASSIFICATION = _ASSERTION, "classification", _LOOK_AT_ISSUERS
    SUBJECT = _ASSERTION, "subject", "look at ACCESS_ISSUER"
    RESERVED = _ASSERTION, "reserved common_name", "look at WORKLOAD_ISSUERS"
    TWO_ISSUERS = _ASSERTION, "issuer and audience of two", _LOOK_AT_ISSUERS
    CLAIM_TWICE = _ASSERTION, "claim by name and by path", "look at {group}SUBJECT, {group}REQUIRE"
    REQUIRED_CLAIM = _ASSERTION, "required claim", "look at {group}REQUIRE"
    TEMPLATE = _ASSERTION, "subject template", "look at {group}SUBJECT"
    OTHER_ISSUER = _ASSERTION, "identity of another issuer", "look at {group}ISSUER"
    TOKENS_OFF = _TOKEN, "switched off", "look at SERVICE_TOKENS"
    CHECKSUM = _TOKEN, "checksum", "the token is cut, mistyped or another product's"
    NOT_IN_FORCE = _TOKEN, "unknown, expired or removed", "look at the list of tokens of its identity"
    FETCH_SITE = _CROSS_SITE, "Sec-Fetch-Site", "look at PUBLIC_ORIGIN"
    ORIGIN = _CROSS_SITE, "Origin", "look at PUBLIC_ORIGIN"
    NO_FORM_TOKEN = _FORM, "no token"
    FORM_TOKEN = _FORM, "token too old, or another identity's"

    _advice: str

    def __new__(cls, what: str, why: str, advice: str = "") -> RejectionReason:
        made = object.__new__(cls)
        made._value_ = (what, why)
        made._advice = advice
        return made

    def advice(self, group: str) -> str:
        """Return what to do, for a group of settings; empty for a form."""
        return self._advice.format(group=group)


class Refusals:
    """The refusals of one process. `window` is in seconds, by a monotonic `clock`."""

    def __init__(self, window: float = WINDOW, clock: Callable[[], float] = time.monotonic) -> None:
        self._throttle = LogThrottle(window, clock)
        self._lock = threading.Lock()
        self._totals = dict.fromkeys(RejectionReason, 0)

    def totals(self) -> Mapping[RejectionReason, int]:
        """Return the count of each reason since the start."""
        with self._lock:
            return self._totals.copy()

    def note(
        self, reason: RejectionReason, request_id: str, unverified: Callable[[], str] = str, group: str = ""
    ) -> None:
        """Count a refusal, and log the first of its reason and group in each window.

        `unverified` returns the text of what the request claims, see
        `claimed_facts`; it is called only for a line.
        `group` is that of `RejectionReason.advice`: it comes from the settings and never from a request, so
        that there are few groups.
        """
        with self._lock:
            self._totals[reason] += 1
        suppressed = self._throttle.passes((reason, group))
        if suppressed is None:
            return
        what, why = reason.value
        advice = reason.advice(group)
        log.info(
            "%s refused: %s;%s request %s; unlogged since the last such line: %d; unverified: %s",
            what,
            why,
            f" {advice};" if advice else "",
            request_id,
            suppressed,
            unverified() or "nothing",
        )


def claimed_facts(named: Mapping[str, object]) -> str:
    """Return what an unknown caller claims, by names of ours, for a line of the log; None is omitted.

    Texts and lists of texts are quoted, escaped, in ASCII and cut to `LENGTH`; so are numbers. Of any other
    value only the type is logged.
    """
    return " ".join(f"{name}={_shown(value)}" for name, value in named.items() if value is not None)


def _shown(value: object) -> str:
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return repr(value)[:LENGTH]
    if isinstance(value, list):
        members = [member for member in value if isinstance(member, str)]
        return _quoted(", ".join(member[:LENGTH] for member in members[:MEMBERS]))
    return type(value).__name__


def _quoted(text: str) -> str:
    escaped = _ODD.sub(lambda found: f"\\u{{{ord(found[0]):x}}}", text[:LENGTH])
    # Cut within an escape, a backslash at the end would seem to belong to the quotation mark.
    return f'"{escaped[:LENGTH].rstrip(chr(92))}"'
