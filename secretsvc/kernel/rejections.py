"""Refusals: counted by reason, and logged in few lines (contract 6.5).

However many there are, what is kept of them has a fixed size, and each reason has at most one line in a
window for each configured issuer.
"""

from __future__ import annotations

import logging
import re
import threading
import time
from collections.abc import Callable, Mapping
from enum import Enum
from types import MappingProxyType

log = logging.getLogger(__name__)

WINDOW = 60.0
#: Characters of one fact, and names or members of one list, that a line may hold.
LENGTH = 200
MEMBERS = 20

_ASSERTION, _TOKEN = "assertion", "service token"
_CROSS_SITE, _FORM = "cross-site request", "form"
# All but the printable characters of ASCII without the quotation mark and the backslash.
_ODD = re.compile(r"[^ !#-\[\]-~]")


class RejectionReason(Enum):
    """All the reasons there are: what is refused, and why, in constant words."""

    ABSENT = _ASSERTION, "absent"
    AMBIGUOUS = _ASSERTION, "two cookies that differ"
    MALFORMED = _ASSERTION, "malformed"
    ALGORITHM = _ASSERTION, "algorithm"
    HEADER = _ASSERTION, "header not supported"
    NO_KID = _ASSERTION, "no kid"
    UNKNOWN_KID = _ASSERTION, "unknown kid"
    SIGNATURE = _ASSERTION, "signature"
    ISSUER = _ASSERTION, "issuer"
    AUDIENCE = _ASSERTION, "audience"
    MISSING_CLAIM = _ASSERTION, "missing claim"
    TIME = _ASSERTION, "malformed time"
    EXPIRED = _ASSERTION, "expired"
    NOT_YET = _ASSERTION, "not yet valid"
    EMAIL_VERIFIED = _ASSERTION, "email_verified"
    CLASSIFICATION = _ASSERTION, "classification"
    SUBJECT = _ASSERTION, "subject"
    RESERVED = _ASSERTION, "reserved common_name"
    TWO_ISSUERS = _ASSERTION, "issuer and audience of two"
    CLAIM_TWICE = _ASSERTION, "claim by name and by path"
    REQUIRED_CLAIM = _ASSERTION, "required claim"
    TEMPLATE = _ASSERTION, "subject template"
    OTHER_ISSUER = _ASSERTION, "identity of another issuer"
    TOKENS_OFF = _TOKEN, "switched off"
    CHECKSUM = _TOKEN, "checksum"
    NOT_IN_FORCE = _TOKEN, "unknown, expired or removed"
    FETCH_SITE = _CROSS_SITE, "Sec-Fetch-Site"
    ORIGIN = _CROSS_SITE, "Origin"
    NO_FORM_TOKEN = _FORM, "no token"
    FORM_TOKEN = _FORM, "token too old, or another identity's"


_ISSUERS = "ACCESS_ISSUER, WORKLOAD_ISSUERS"
#: The settings to look at; `{}` is what the names of the issuer's own begin with. A form has none.
LOOK_AT: Mapping[RejectionReason, str] = {
    RejectionReason.ABSENT: "ACCESS_HEADER, ACCESS_COOKIE",
    RejectionReason.AMBIGUOUS: "ACCESS_COOKIE",
    RejectionReason.MALFORMED: "ACCESS_HEADER, ACCESS_COOKIE",
    RejectionReason.ALGORITHM: "{}ALGORITHMS",
    RejectionReason.HEADER: "{}ISSUER",
    RejectionReason.NO_KID: "{}JWKS_URL",
    RejectionReason.UNKNOWN_KID: "{}JWKS_URL",
    RejectionReason.SIGNATURE: "{}JWKS_URL",
    RejectionReason.ISSUER: _ISSUERS,
    RejectionReason.AUDIENCE: "{}AUDIENCE",
    RejectionReason.MISSING_CLAIM: "{}ISSUER, {}AUDIENCE",
    RejectionReason.TIME: "{}ISSUER",
    RejectionReason.EXPIRED: "ACCESS_LEEWAY",
    RejectionReason.NOT_YET: "ACCESS_LEEWAY",
    RejectionReason.EMAIL_VERIFIED: "{}ISSUER",
    RejectionReason.CLASSIFICATION: _ISSUERS,
    RejectionReason.SUBJECT: "ACCESS_ISSUER",
    RejectionReason.RESERVED: "WORKLOAD_ISSUERS",
    RejectionReason.TWO_ISSUERS: _ISSUERS,
    RejectionReason.CLAIM_TWICE: "{}SUBJECT, {}REQUIRE",
    RejectionReason.REQUIRED_CLAIM: "{}REQUIRE",
    RejectionReason.TEMPLATE: "{}SUBJECT",
    RejectionReason.OTHER_ISSUER: "{}ISSUER",
    RejectionReason.TOKENS_OFF: "SERVICE_TOKENS",
    RejectionReason.FETCH_SITE: "PUBLIC_ORIGIN",
    RejectionReason.ORIGIN: "PUBLIC_ORIGIN",
}
#: What to do about a reason that lies in no setting.
_IN_THE_TOKEN: Mapping[RejectionReason, str] = {
    RejectionReason.CHECKSUM: "the token is cut, mistyped or another product's",
    RejectionReason.NOT_IN_FORCE: "look at the list of tokens of its identity",
}


def advice(reason: RejectionReason, group: str) -> str:
    """Return where the cause of a refusal may lie; empty for a form."""
    settings = LOOK_AT.get(reason, "").replace("{}", group)
    return f"look at {settings}" if settings else _IN_THE_TOKEN.get(reason, "")


class Refusals:
    """The refusals of one process. `window` is in seconds, by a monotonic `clock`."""

    def __init__(self, window: float = WINDOW, clock: Callable[[], float] = time.monotonic) -> None:
        self._window, self._clock = window, clock
        # Guards the two fields below, for an instant each time.
        self._lock = threading.Lock()
        self._totals = dict.fromkeys(RejectionReason, 0)
        # When each reason had its last line for a group, and the refusals without a line since then.
        self._logged: dict[tuple[RejectionReason, str], tuple[float, int]] = {}

    def totals(self) -> Mapping[RejectionReason, int]:
        """How often each reason there is was met since the start."""
        with self._lock:
            return MappingProxyType(dict(self._totals))

    def note(
        self, reason: RejectionReason, request_id: str, unverified: Callable[[], str] = str, group: str = ""
    ) -> None:
        """Counts a refusal, and logs the first of its reason and group in each window.

        `unverified` makes the text of what the request says of itself, see `facts`; only a line asks for it.
        `group` is that of `advice`: it comes from the settings and never from a request, so that there are
        few of them.
        """
        now, key = self._clock(), (reason, group)
        with self._lock:
            self._totals[reason] += 1
            last, left_out = self._logged.get(key, (None, 0))
            if last is not None and now - last < self._window:
                self._logged[key] = (last, left_out + 1)
                return
            self._logged[key] = (now, 0)
        what, why = reason.value
        what_to_do = advice(reason, group)
        log.info(
            "%s refused: %s;%s request %s; unlogged since the last such line: %d; unverified: %s",
            what,
            why,
            f" {what_to_do};" if what_to_do else "",
            request_id,
            left_out,
            unverified() or "nothing",
        )


def facts(named: Mapping[str, object]) -> str:
    """What somebody unknown claims, by names of ours, for a line of the log; None is left out.

    Texts and lists of them are quoted, escaped, in ASCII and cut to `LENGTH`; so are numbers. Of anything
    else only the type is told.
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
