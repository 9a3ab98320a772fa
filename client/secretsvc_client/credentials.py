"""What proves who asks. It is had anew for each command and kept nowhere."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Protocol
from urllib.parse import quote, urlsplit

from secretsvc_client.errors import Failure, WrongUse
from secretsvc_client.grammar import printable
from secretsvc_client.profiles import CredentialSettings

#: Bytes of a token or of what a command prints.
LONGEST = 65_536
_NAME = re.compile(r"[A-Za-z0-9-]{1,64}")
_LINE = re.compile(r"([A-Za-z0-9-]{1,64}):[ \t]+(\S.*)")
_COMMAND_SECONDS = 60.0
#: What the request itself says.
_TAKEN = {
    "host",
    "connection",
    "content-length",
    "transfer-encoding",
    "content-type",
    "if-none-match",
    "if-match",
    "idempotency-key",
}


class Exchange(Protocol):
    """As `transport.exchange`, of which an answer's status and body are used."""

    def __call__(self, url: str, headers: Mapping[str, str]) -> tuple[int, bytes]:
        """The status and the body of a GET."""


def headers_of(settings: CredentialSettings, environ: Mapping[str, str], fetch: Exchange) -> dict[str, str]:
    """The headers that carry the credential; none where none is configured.

    Raises `WrongUse` for one that cannot be a header, and `Failure` where it could not be had: the service
    has not failed then, and no fallback stands in.
    """
    if settings.token:
        return _bearer(settings.token, settings.header)
    if settings.token_file:
        return _bearer(_file(settings.token_file), settings.header)
    if settings.command:
        return _printed(settings, environ)
    if settings.github_audience:
        return _bearer(_github(settings.github_audience, environ, fetch), settings.header)
    return {}


def _checked(value: str) -> str:
    value = value.strip()
    if not value or len(value) > LONGEST or not value.isascii() or not value.isprintable():
        raise WrongUse("the credential is empty, or holds characters that no header takes")
    return value


def _bearer(token: str, header: str | None) -> dict[str, str]:
    token = _checked(token)
    if header is None or header.lower() == "authorization":
        return {"Authorization": f"Bearer {token}"}
    return {_header_name(header): token}


def _header_name(name: str) -> str:
    if not _NAME.fullmatch(name) or name.lower() in _TAKEN:
        raise WrongUse(f"{printable(name)} is no header that carries a credential")
    return name


def _file(path: str) -> str:
    """What the file holds now: whoever renews it replaces it."""
    try:
        with open(path, "rb") as file:
            return file.read(LONGEST + 1).decode("ascii")
    except UnicodeDecodeError:
        raise WrongUse(f"{printable(path)} holds no token") from None
    except OSError as error:
        raise Failure(f"the token file {printable(path)} cannot be read: {error.strerror}") from None


def _printed(settings: CredentialSettings, environ: Mapping[str, str]) -> dict[str, str]:
    """What a command prints: lines `Name: value`, or a token alone."""
    import subprocess

    program = printable(settings.command[0])
    # The user's own command, from the user's own configuration.
    try:
        done = subprocess.run(
            settings.command,
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            timeout=_COMMAND_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise Failure(f"{program}, which prints the credential, takes too long") from None
    except OSError as error:
        raise Failure(f"{program}, which prints the credential, cannot be run: {error.strerror}") from None
    if done.returncode != 0:
        raise Failure(
            f"{program}, which prints the credential, failed ({done.returncode})", "Log in there first."
        )
    lines = done.stdout[:LONGEST].decode("ascii", "replace").split("\n")
    filled = [line.rstrip("\r") for line in lines if line.strip()]
    matches = [_LINE.fullmatch(line) for line in filled]
    if filled and all(matches):
        return {_header_name(match[1]): _checked(match[2]) for match in matches if match is not None}
    if len(filled) != 1:
        raise Failure(f"{program} printed neither headers nor one token")
    return _bearer(filled[0], settings.header)


def _github(audience: str, environ: Mapping[str, str], fetch: Exchange) -> str:
    """A token of the job for this audience; only within GitHub Actions."""
    import json

    url, token = (environ.get(f"ACTIONS_ID_TOKEN_REQUEST_{name}") for name in ("URL", "TOKEN"))
    if not url or not token:
        raise WrongUse(
            "this is no job of GitHub Actions that may have a token",
            "Give the job `permissions: {id-token: write}`.",
        )
    joint = "&" if urlsplit(url).query else "?"
    try:
        status, body = fetch(f"{url}{joint}audience={quote(audience, safe='')}", _bearer(token, None))
        value = json.loads(body)["value"] if status == 200 else None
    except Failure as failure:
        raise Failure(f"GitHub gave no token: {failure.message}", failure.hint) from None
    except (ValueError, KeyError, TypeError, RecursionError):
        value = None
    if not isinstance(value, str):
        raise Failure("GitHub gave no token", "Is `permissions: {id-token: write}` there?")
    return value
