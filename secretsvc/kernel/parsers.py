"""What the text of a setting means. Each parser raises ValueError for a text that is malformed."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from urllib.parse import urlsplit

import limits
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

from secretsvc.kernel.identifiers import is_slug
from secretsvc.kernel.origins import Origin, parse_origin
from secretsvc.kernel.subjects import email_subject
from secretsvc.transparency.signed_note import NAME

ASYMMETRIC_ALGORITHMS = frozenset(
    ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"]
)
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_NO_LISTED_ADDRESS = frozenset("'\"*")
TOKEN = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}")


class MalformedError(ValueError):
    """A malformed text; that of the error says why in constant words, which the log can have."""


def is_quoted(raw: str) -> bool:
    """Whether a text begins and ends with the same quotation mark."""
    text = raw.strip()
    return text[:1] in ("'", '"') and text[0] == text[-1]


def integer(minimum: int, maximum: int) -> Callable[[str], int]:
    """A parser of plain ASCII decimal integers within the bounds."""

    def parse(raw: str) -> int:
        raw = raw.strip()
        if not re.fullmatch(r"[0-9]{1,16}", raw) or not minimum <= int(raw) <= maximum:
            raise ValueError
        return int(raw)

    return parse


def master_key(raw: str) -> bytes:
    """32 bytes from base64, standard or URL-safe, padded or not."""
    text = raw.strip().rstrip("=").replace("-", "+").replace("_", "/")
    try:
        key = base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except binascii.Error:
        raise ValueError from None
    if len(key) != 32:
        raise ValueError
    return key


def log_name(raw: str) -> str:
    """The origin of a log and the name of its key: printable ASCII without spaces and `+`, up to 255."""
    name = raw.strip()
    if not NAME.fullmatch(name):
        raise ValueError
    return name


def optional_master_key(raw: str) -> bytes | None:
    """As `master_key`; an empty text is no key."""
    return master_key(raw) if raw.strip() else None


def database_url(raw: str) -> str:
    """An SQLAlchemy URL; `postgresql://` and `postgres://` both mean the psycopg 3 driver."""
    scheme, separator, rest = raw.strip().partition("://")
    if scheme in ("postgresql", "postgres"):
        scheme = "postgresql+psycopg"
    if not separator or scheme not in ("postgresql+psycopg", "sqlite", "sqlite+pysqlite"):
        raise ValueError
    url = f"{scheme}://{rest}"
    try:
        parts = make_url(url)
    except ArgumentError:
        raise ValueError from None
    in_memory = (
        parts.database in (None, "", ":memory:", "file::memory:") or parts.query.get("mode") == "memory"
    )
    if scheme.startswith("sqlite") and (in_memory or parts.query.get("vfs") == "memdb"):
        raise MalformedError("a database in memory is lost: name a file, as in sqlite:////var/lib/x.sqlite")
    return url


def comma_separated(raw: str) -> tuple[str, ...]:
    """Comma-separated, at least one, each once, in order, none in quotes."""
    parts = tuple(dict.fromkeys(part.strip() for part in raw.split(",") if part.strip()))
    if not parts or any(map(is_quoted, parts)):
        raise ValueError
    return parts


def slugs(raw: str) -> tuple[str, ...]:
    """Comma-separated slugs, in order; may be empty."""
    names = tuple(part.strip() for part in raw.split(",") if part.strip())
    if not all(map(is_slug, names)):
        raise ValueError
    return names


def switch(raw: str) -> bool:
    """`on` or `off`."""
    if raw.strip() not in ("on", "off"):
        raise ValueError
    return raw.strip() == "on"


def algorithms(raw: str) -> tuple[str, ...]:
    """JWS algorithms, asymmetric ones only."""
    names = comma_separated(raw)
    if not ASYMMETRIC_ALGORITHMS.issuperset(names):
        raise ValueError
    return names


@lru_cache(maxsize=8)
def emails(raw: str) -> frozenset[str]:
    """Comma-separated e-mail addresses, normalised as subjects; may be empty.

    Quotation marks and `*` are refused: such an entry names nobody, and no pattern is meant by it.
    """
    if _NO_LISTED_ADDRESS.intersection(raw):
        raise ValueError
    return frozenset(email_subject(part.strip()) for part in raw.split(",") if part.strip())


def required_text(raw: str) -> str:
    """Any text but an empty one."""
    if not raw.strip():
        raise ValueError
    return raw.strip()


def file_path(raw: str) -> Path:
    """A path; relative to the working directory if it is not absolute."""
    return Path(required_text(raw))


def optional_file_path(raw: str) -> Path | None:
    """As `file_path`; an empty text is no file."""
    return file_path(raw) if raw.strip() else None


def key_url(raw: str) -> str:
    """`https:` anywhere, `http:` to a loopback host, or `file:`."""
    url = urlsplit(raw.strip())
    secure = url.scheme == "https" and bool(url.hostname)
    local = url.scheme == "http" and url.hostname in LOOPBACK
    file = url.scheme == "file" and bool(url.path) and not url.netloc
    if not (secure or local or file):
        raise ValueError
    return raw.strip()


def origin(raw: str) -> Origin:
    """An origin of the web, with nothing behind it."""
    return parse_origin(raw.strip())


def listen_address(raw: str) -> str | None:
    """`host:port` or `unix:/path`; an empty text is none."""
    text = raw.strip()
    if not text or re.fullmatch(r"unix:/.+", text):
        return text or None
    host, _, port = text.rpartition(":")
    if not host or not re.fullmatch(r"[0-9]{1,5}", port) or int(port) > 65_535:
        raise ValueError
    return text


def header_name(raw: str) -> str:
    """An HTTP token."""
    if not TOKEN.fullmatch(raw.strip()):
        raise ValueError
    return raw.strip()


def request_rate(raw: str) -> limits.RateLimitItem | None:
    """One limit in the notation of the `limits` library; an empty text turns it off."""
    if not raw.strip():
        return None
    items = limits.parse_many(raw)
    # A second limit would be ignored, and one of nothing would lock everybody out.
    if len(items) != 1 or items[0].amount < 1:
        raise ValueError
    return items[0]
