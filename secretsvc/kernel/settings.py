"""Settings: an ini key `secretsvc.<name>`, an environment variable that wins, a type, and no silent default.

A value is read when it is needed. A missing or malformed one raises `ServerMisconfigured` there, so
that a bad `MASTER_KEY` stops the operations that need it and nothing else (contract 1).
"""

from __future__ import annotations

import base64
import binascii
import logging
import os
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Generic, TypeVar, overload
from urllib.parse import urlsplit

import limits
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

from secretsvc.kernel.addresses import Network, networks
from secretsvc.kernel.errors import ServerMisconfigured
from secretsvc.kernel.origins import Origin, parse_origin
from secretsvc.kernel.subjects import email_subject
from secretsvc.kernel.throttle import Throttle

log = logging.getLogger(__name__)

T = TypeVar("T")
REQUIRED: Any = object()

ASYMMETRIC_ALGORITHMS = frozenset(
    ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"]
)
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
TOKEN = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}")


class Setting(Generic[T]):
    """A typed attribute of `Settings`. `fresh` ones are evaluated at each access."""

    def __init__(
        self,
        parse: Callable[[str], T],
        default: T = REQUIRED,
        *,
        ini: str | None = None,
        fresh: bool = False,
    ) -> None:
        self.parse, self.default, self.ini, self.fresh = parse, default, ini, fresh

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name
        self.variable = name.upper()
        self.ini = self.ini or f"secretsvc.{name}"

    @overload
    def __get__(self, instance: None, owner: type) -> Setting[T]: ...
    @overload
    def __get__(self, instance: Settings, owner: type) -> T: ...
    def __get__(self, instance: Settings | None, owner: type) -> Setting[T] | T:
        if instance is None:
            return self
        value: T = self._read(instance)
        if not self.fresh:
            instance.__dict__[self.name] = value
        return value

    def _read(self, instance: Settings) -> T:
        raw = instance.environ.get(self.variable)
        if raw is None:
            raw = instance.ini.get(self.ini or "")
        if raw is None:
            if self.default is REQUIRED:
                instance.complain(f"setting {self.variable} is missing")
                raise ServerMisconfigured()
            return self.default
        try:
            return self.parse(raw)
        except ValueError:
            instance.complain(f"setting {self.variable} is malformed")
            raise ServerMisconfigured() from None


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
        make_url(url)
    except ArgumentError:
        raise ValueError from None
    return url


def comma_separated(raw: str) -> tuple[str, ...]:
    """Comma-separated, at least one, each once, in order."""
    parts = tuple(dict.fromkeys(part.strip() for part in raw.split(",") if part.strip()))
    if not parts:
        raise ValueError
    return parts


def algorithms(raw: str) -> tuple[str, ...]:
    """JWS algorithms, asymmetric ones only."""
    names = comma_separated(raw)
    if not ASYMMETRIC_ALGORITHMS.issuperset(names):
        raise ValueError
    return names


@lru_cache(maxsize=8)
def emails(raw: str) -> frozenset[str]:
    """Comma-separated e-mail addresses, normalised as subjects; may be empty."""
    return frozenset(email_subject(part.strip()) for part in raw.split(",") if part.strip())


def required_text(raw: str) -> str:
    """Any text but an empty one."""
    if not raw.strip():
        raise ValueError
    return raw.strip()


def file_path(raw: str) -> Path:
    """A path; relative to the working directory if it is not absolute."""
    return Path(required_text(raw))


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


def rate(raw: str) -> limits.RateLimitItem | None:
    """One limit in the notation of the `limits` library; an empty text turns it off."""
    if not raw.strip():
        return None
    items = limits.parse_many(raw)
    # A second limit would be ignored, and one of nothing would lock everybody out.
    if len(items) != 1 or items[0].amount < 1:
        raise ValueError
    return items[0]


class Settings:
    """What `contract.md` section 1 lists, by name. Its representation shows no value."""

    database_url = Setting(database_url, ini="sqlalchemy.url")
    key_provider = Setting(required_text, "environment")
    master_key = Setting(master_key)
    master_key_old: Setting[bytes | None] = Setting(optional_master_key, None)
    master_key_file: Setting[Path | None] = Setting(file_path, None)
    master_key_old_file: Setting[Path | None] = Setting(file_path, None)
    bootstrap_admins: Setting[frozenset[str]] = Setting(emails, frozenset(), fresh=True)
    access_issuer = Setting(required_text)
    access_audience = Setting(comma_separated)
    access_jwks_url = Setting(key_url)
    access_algorithms: Setting[tuple[str, ...]] = Setting(algorithms, ("RS256", "ES256"))
    access_leeway = Setting(integer(0, 60), 30)
    access_jwks_cooldown = Setting(integer(0, 86_400), 30)
    access_header = Setting(header_name, "Proxy-Access-Jwt-Assertion")
    access_cookie = Setting(header_name, "Proxy_Authorization")
    edge_cache_header = Setting(header_name, "Edge-CDN-Cache-Control")
    public_origin: Setting[Origin | None] = Setting(origin, None)
    secret_max_bytes = Setting(integer(1, 2**40), 65_536)
    # A full replace is one atomic batch, which both databases must be able to take.
    env_max_secrets = Setting(integer(1, 10_000), 500)
    plaintext_max_bytes = Setting(integer(1, 2**40), 134_217_728)
    body_max_bytes = Setting(integer(1, 2**40), 1_048_576)
    rate_limit: Setting[limits.RateLimitItem | None] = Setting(rate, limits.parse("6000/minute"))
    rate_limit_storage = Setting(required_text, "memory://")
    denial_limit: Setting[limits.RateLimitItem | None] = Setting(rate, limits.parse("60/minute"))
    last_seen_resolution = Setting(integer(0, 2**53 - 1), 1_000)
    operations_listen: Setting[str | None] = Setting(listen_address, None)
    drain_seconds = Setting(integer(0, 86_400), 30)
    trusted_proxies: Setting[tuple[Network, ...]] = Setting(networks, ())

    def __init__(self, ini: Mapping[str, str], environ: Mapping[str, str] = os.environ) -> None:
        self.ini, self.environ = ini, environ
        self._complaints = Throttle()

    def __repr__(self) -> str:
        return "<Settings>"

    def complain(self, text: str) -> None:
        """Logs what is wrong with a setting, at most once a minute, however many requests need it."""
        if self._complaints.passes(text) is not None:
            log.error(text)

    def report(self) -> frozenset[str]:
        """Logs the name of each setting that is missing or malformed, once, at the start, and returns them.

        Which of the master key's are needed is for the key provider to say.
        """
        bad = set()
        for name, setting in vars(type(self)).items():
            if isinstance(setting, Setting) and not name.startswith("master_key"):
                try:
                    getattr(self, name)
                except ServerMisconfigured:
                    bad.add(name)
        return frozenset(bad)
