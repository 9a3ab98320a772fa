"""The failure for an error response, and whether the service itself sent it (contract 16.8)."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

from secretsvc_client.errors import Failure, failure_of
from secretsvc_client.grammar import REQUEST_ID, printable
from secretsvc_client.origins import Origin
from secretsvc_client.transport import Answer

_HINTS = {
    401: "Is the credential there and in force? See `secretsvc login --help`.",
    403: "Ask an administrator for a grant; `secretsvc access` shows what you have.",
    404: "It is not there, or you have no grant on it; `secretsvc projects` shows what you see.",
    409: "Look at it again with `secretsvc list` or `secretsvc history`, then repeat.",
    412: "Somebody wrote meanwhile: look with `secretsvc history`, then repeat.",
    429: "Wait and ask again, less often.",
}
_FOREIGN_DENIAL = "An access proxy or a firewall may refuse the credential: run `secretsvc login URL` to see."
_FOREIGN = "A load balancer or another program may answer at that URL."
_ENVELOPE = ("code", "message", "request_id")


def refusal(answer: Answer, origin: Origin, request_id: str) -> Failure:
    """Return what an answer that is no success means; `request_id` is the one that was sent."""
    envelope = _own_envelope(answer)
    if 300 <= answer.status < 400 and "location" in answer.headers:
        failure = _redirect(answer, origin)
    elif envelope is None:
        failure = failure_of(answer.status, is_own=False)(
            f"{answer.status} from something in front of the service",
            _FOREIGN_DENIAL if answer.status in (401, 403) else _FOREIGN,
        )
    else:
        failure = _denial(answer.status, envelope)
        failure.is_own = True
    failure.status = answer.status
    failure.request_id = failure.request_id or request_id
    seconds = answer.headers.get("retry-after", "")
    if seconds.isascii() and seconds.isdigit() and len(seconds) < 6:
        failure.retry_after = int(seconds)
        failure.hint = f"Ask again in {seconds} s."
    return failure


def _own_envelope(answer: Answer) -> dict[str, Any] | None:
    """Return the error of the service itself, whose code may be of a newer service; None for another body."""
    try:
        found = json.loads(answer.body)
    except (ValueError, RecursionError):
        return None
    is_own = isinstance(found, dict) and all(isinstance(found.get(name), str) for name in _ENVELOPE)
    return found if is_own else None


def _redirect(answer: Answer, origin: Origin) -> Failure:
    target = ""
    with suppress(ValueError):
        target = urlsplit(answer.headers["location"]).netloc.rpartition("@")[2]
    return Failure(
        f"{origin.authority} answers with a redirect{f' to {printable(target)}' if target else ''},"
        " which is not followed",
        "It may be the login of an access proxy: run `secretsvc login URL` to see.",
    )


def _denial(status: int, envelope: dict[str, Any]) -> Failure:
    failure = failure_of(status, is_own=True)(f"{status} {printable(envelope['message'])[:500]}")
    hint = envelope.get("hint")
    failure.hint = printable(hint)[:500] if isinstance(hint, str) else _HINTS.get(status)
    failure.code = printable(envelope["code"])[:64]
    if REQUEST_ID.fullmatch(envelope["request_id"]):
        failure.request_id = envelope["request_id"]
    issues = envelope.get("issues")
    for one in issues[:20] if isinstance(issues, list) else []:
        if isinstance(one, dict):
            failure.issues.append((printable(one.get("path"))[:300], printable(one.get("message"))[:300]))
    return failure
