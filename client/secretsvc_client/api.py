"""The calls of the API: paths, queries and bodies; the answers are checked where they are used.

The server is not trusted: what is of another shape than the specification's is a `Failure`. Fields that are
unknown are ignored, for servers may be newer.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator, Mapping
from typing import Any, Optional, Union, cast
from urllib.parse import urlencode, urlsplit

from secretsvc_client import VERSION, credentials
from secretsvc_client.errors import Failure
from secretsvc_client.grammar import printable, segment
from secretsvc_client.origins import origin_of
from secretsvc_client.refusals import refusal
from secretsvc_client.repeats import Repeats
from secretsvc_client.settings import Settings
from secretsvc_client.transport import Answer, exchange

API = "/api/v1"
Json = dict[str, Any]
Query = Mapping[str, Optional[Union[str, int]]]
_DEBUG_WIDTH = 200
#: Seconds for which a credential is good for further requests of one command.
_MOMENT = 30.0


class Service:
    """The service of the settings, asked with the settings' credential."""

    def __init__(self, settings: Settings, environ: Mapping[str, str], wait: float = 0.0) -> None:
        """`wait` is the number of seconds from now on for which a busy service is asked again."""
        self.settings, self._environ = settings, environ
        self._repeats = Repeats(wait)
        self.origin = origin_of(settings.need_url())
        self._kept: tuple[float, dict[str, str]] = (0.0, {})

    def get(self, path: str, query: Query | None = None) -> Json:
        """The object that a GET answers with."""
        return as_object(self.answer("GET", path, query))

    def send(self, method: str, path: str, body: Json) -> Json:
        """Return the object that a request with a body answers with."""
        return as_object(self.answer(method, path, None, body))

    def write(self, path: str, body: Json) -> Json:
        """Send a secret write, again if a proxy answers 502; return the object of the answer.

        The service does the write once, for it knows the repetition by its key (contract 8.2).
        """
        key = {"Idempotency-Key": os.urandom(16).hex()}
        try:
            return as_object(self.answer("POST", path, None, body, key))
        except Failure as failure:
            if failure.status == 502:
                failure.hint = "It may be written or not: see `secretsvc history`."
            raise

    def pages(self, path: str, query: Query, limit: int | None) -> Iterator[Json]:
        """The items of a list, page by page, so many at most."""
        cursor, given = None, 0
        while True:
            page = self.get(path, {**query, "cursor": cursor})
            items, following = items_of(page), page.get("next_cursor")
            yield from items if limit is None else items[: limit - given]
            given += len(items)
            if not isinstance(following, str) or (limit is not None and given >= limit):
                return
            if following == cursor or not items:
                raise Failure("the service does not come to the end of its list")
            cursor = following

    def answer(
        self,
        method: str,
        path: str,
        query: Query | None = None,
        body: Json | None = None,
        headers: Mapping[str, str] | None = None,
        *,
        anonymous: bool = False,
    ) -> Answer:
        """Return the answer to a request, 2xx or 304; raise the `Failure` that any other means."""
        given, done = headers or {}, 0
        while True:
            try:
                return self._answer(method, path, query, body, given, anonymous)
            except Failure as failure:
                pause = self._repeats.pause(failure, done, is_safe_write="Idempotency-Key" in given)
                if pause is None:
                    raise
            done += 1
            time.sleep(pause)

    def _answer(
        self,
        method: str,
        path: str,
        query: Query | None,
        body: Json | None,
        headers: Mapping[str, str],
        anonymous: bool,
    ) -> Answer:
        request_id = os.urandom(12).hex()
        sent = {"Accept": "*/*", "User-Agent": f"secretsvc-client/{VERSION}", "X-Request-Id": request_id}
        sent.update(headers)
        raw = None
        if body is not None:
            raw = json.dumps(body).encode()
            sent["Content-Type"] = "application/json"
        if not anonymous:
            sent.update(self._credential())
        asked = {name: value for name, value in (query or {}).items() if value is not None}
        target = self.origin.path + API + path + (f"?{urlencode(asked)}" if asked else "")
        began = time.monotonic()
        try:
            answer = exchange(self.origin, method, target, sent, raw, self.settings.timeout)
        except Failure as failure:
            failure.request_id = request_id
            self._tell(method, target, failure.message, began, request_id)
            raise
        self._tell(method, target, str(answer.status), began, request_id)
        if 200 <= answer.status < 300 or (answer.status == 304 and "If-None-Match" in sent):
            return answer
        raise self._refusal(answer, request_id)

    def _refusal(self, answer: Answer, request_id: str) -> Failure:
        """Return `refusal`, with a hint if no credential was sent."""
        failure = refusal(answer, self.origin, request_id)
        is_unknown = answer.status == 401 or (answer.status == 403 and not failure.is_own)
        if is_unknown and not self.settings.credential.has_source:
            failure.hint = (
                f"No credential was sent, for none is kept for {self.origin.server}: run `secretsvc login"
                f" {self.origin}` with --command or --token-file, or set SECRETSVC_TOKEN."
            )
        return failure

    def _credential(self) -> dict[str, str]:
        """The headers; those of a moment ago where a command or another server gives them."""
        made, headers = self._kept
        settings = self.settings.credential
        is_slow = bool(settings.command or settings.github_audience)
        if not (is_slow and headers and time.monotonic() - made < _MOMENT):
            headers = credentials.headers_of(settings, self._environ, self._fetch)
            self._kept = (time.monotonic(), headers)
        return headers

    def _fetch(self, url: str, headers: Mapping[str, str]) -> tuple[int, bytes]:
        """A GET to another server, which is told nothing but these headers."""
        parts = urlsplit(url)
        origin = origin_of(f"{parts.scheme}://{parts.netloc}")
        answer = exchange(origin, "GET", f"{parts.path}?{parts.query}", headers, None, self.settings.timeout)
        return answer.status, answer.body

    def _tell(self, method: str, target: str, outcome: str, began: float, request_id: str) -> None:
        if self.settings.is_debug:
            took = (time.monotonic() - began) * 1000
            what = f"{method} {printable(target)[:_DEBUG_WIDTH]}: {outcome}"
            print(f"{what} ({took:.0f} ms, request {request_id})", file=sys.stderr)


def environment_path(settings: Settings) -> str:
    """The path of the environment that is meant."""
    return f"/projects/{segment(settings.need_project())}/environments/{segment(settings.need_environment())}"


def as_object(answer: Answer) -> Json:
    """The JSON object that an answer holds; raises `Failure` for anything else."""
    try:
        found = json.loads(answer.body)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise Failure(
            "the answer is not the service's", "Does a login page or another program stand at that URL?"
        )
    return cast("Json", found)


def items_of(found: Json, name: str = "items") -> list[Json]:
    """The objects of a list; raises `Failure` where there is none."""
    items = found.get(name)
    if not isinstance(items, list) or not all(isinstance(one, dict) for one in items):
        raise Failure(
            f"the answer lacks {name}, which the client needs", "Is the client newer than the service?"
        )
    return items


def secrets_of(found: Json) -> dict[str, Any]:
    """Return the secrets of an export, whose values are not checked; raise `Failure` if there are none."""
    secrets = found.get("secrets")
    if isinstance(secrets, dict):
        return secrets
    raise Failure("the answer lacks secrets, which the client needs", "Is there another program at that URL?")


def revision_of(answer: Answer) -> int:
    """Return the revision of an export that is no JSON; raise `Failure` if it is not the service's."""
    tag = answer.headers.get("etag", "").strip('"')
    if tag.isascii() and tag.isdigit():
        return int(tag)
    raise Failure("the answer lacks its revision", "Is there another program at that URL?")


def number(found: Json, name: str) -> int:
    """A whole number of an answer; raises `Failure` where there is none."""
    value = found.get(name)
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    raise Failure(f"the answer lacks {name}, which the client needs", "Is the client newer than the service?")


def text(found: Json, name: str) -> str:
    """A text of an answer; raises `Failure` where there is none."""
    value = found.get(name)
    if isinstance(value, str):
        return value
    raise Failure(f"the answer lacks {name}, which the client needs", "Is the client newer than the service?")
