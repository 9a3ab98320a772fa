"""Settings: an ini key `secretsvc.<name>`, an environment variable that wins, a type, and no silent default.

A value is read when it is needed. A missing or malformed one raises `ServerMisconfigured` there, so
that a bad `MASTER_KEY` stops the operations that need it and nothing else (contract 1).
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Generic, TypeVar, overload

import limits

from secretsvc.kernel.addresses import Network, networks
from secretsvc.kernel.errors import ServerMisconfigured
from secretsvc.kernel.log_throttle import LogThrottle
from secretsvc.kernel.origins import Origin
from secretsvc.kernel.parsers import (
    MalformedError,
    algorithms,
    comma_separated,
    database_url,
    emails,
    file_path,
    header_name,
    integer,
    is_quoted,
    key_url,
    listen_address,
    log_name,
    master_key,
    optional_file_path,
    optional_master_key,
    origin,
    request_rate,
    required_text,
    slugs,
    switch,
)

log = logging.getLogger(__name__)

T = TypeVar("T")
REQUIRED: Any = object()


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

    @overload
    def __get__(self, instance: None, owner: type) -> Setting[T]: ...
    @overload
    def __get__(self, instance: Sources, owner: type) -> T: ...
    def __get__(self, instance: Sources | None, owner: type) -> Setting[T] | T:
        if instance is None:
            return self
        value: T = self._read(instance)
        if not self.fresh:
            instance.__dict__[self.name] = value
        return value

    def _read(self, instance: Sources) -> T:
        variable = instance.variable_prefix + self.variable
        raw = instance.environ.get(variable)
        if raw is None:
            raw = instance.ini.get(self.ini or instance.ini_prefix + self.name)
        if raw is None:
            if self.default is REQUIRED:
                instance.complain(f"setting {variable} is missing")
                raise ServerMisconfigured()
            return self.default
        if is_quoted(raw):
            # A carrier kept them (docker --env-file, a literal in YAML): they are never part of a value.
            instance.complain(f"setting {variable} is malformed: its value is in quotes")
            raise ServerMisconfigured()
        try:
            return self.parse(raw)
        except ValueError as error:
            reason = f": {error}" if isinstance(error, MalformedError) else ""
            instance.complain(f"setting {variable} is malformed{reason}")
            raise ServerMisconfigured() from None


class Sources:
    """Where a group of settings is read from. Its representation shows no value."""

    #: What stands before the name of each, in a variable and in the ini.
    variable_prefix, ini_prefix = "", "secretsvc."

    def __init__(self, ini: Mapping[str, str], environ: Mapping[str, str] = os.environ) -> None:
        self.ini, self.environ = ini, environ
        self._complaints = LogThrottle()
        self._problems: dict[str, None] = {}

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

    def complain(self, text: str) -> None:
        """Log a problem of a setting, at most once a minute, and keep it for `take_problems`."""
        if self._complaints.passes(text) is not None:
            self._problems[text] = None
            log.error(text)

    def take_problems(self) -> list[str]:
        """Return the problems since the last call, each once and without a value of a setting."""
        problems, self._problems = self._problems, {}
        return list(problems)

    def reset(self) -> None:
        """Read each setting again at its next use, and log its problem again."""
        for name in self.known():
            vars(self).pop(name, None)
        self._complaints, self._problems = LogThrottle(), {}

    @classmethod
    def own(cls, ini: Mapping[str, str]) -> Settings:
        """Those of one application, to which packages may add."""
        kind: type[Settings] = type("Settings", (cls,), {})
        return kind(ini)

    @classmethod
    def known(cls) -> dict[str, Setting[object]]:
        """All that there are, by name, those that packages added included."""
        named = (pair for kind in reversed(cls.__mro__) for pair in vars(kind).items())
        return {name: one for name, one in named if isinstance(one, Setting)}

    def add(self, name: str, setting: Setting[object]) -> None:
        """Takes in one of a package; one that is there by that name already stays."""
        if name not in self.known():
            setattr(type(self), name, setting)
            setting.__set_name__(type(self), name)

    def report(self) -> frozenset[str]:
        """Read each setting, and return the names of those that are missing or malformed.

        The key provider knows which settings of the master key it needs, so those are omitted.
        """
        bad = set()
        for name in self.known():
            if not name.startswith("master_key"):
                try:
                    getattr(self, name)
                except ServerMisconfigured:
                    bad.add(name)
        return frozenset(bad)


class Settings(Sources):
    """What `contract.md` section 1 lists, by name."""

    database_url = Setting(database_url, ini="sqlalchemy.url")
    database_pool_size = Setting(integer(1, 1_000), 8)
    database_timeout = Setting(integer(1, 3_600), 10)
    key_provider = Setting(required_text, "environment")
    master_key = Setting(master_key)
    master_key_old: Setting[bytes | None] = Setting(optional_master_key, None)
    master_key_file: Setting[Path | None] = Setting(file_path, None)
    master_key_old_file: Setting[Path | None] = Setting(optional_file_path, None)
    bootstrap_admins: Setting[frozenset[str]] = Setting(emails, frozenset(), fresh=True)
    access_issuer = Setting(required_text)
    access_audience = Setting(comma_separated)
    access_jwks_url = Setting(key_url)
    access_algorithms: Setting[tuple[str, ...]] = Setting(algorithms, ("RS256", "ES256"))
    access_leeway = Setting(integer(0, 60), 30)
    access_jwks_cooldown = Setting(integer(0, 86_400), 30)
    access_jwks_cache: Setting[Path | None] = Setting(file_path, None)
    access_header = Setting(header_name, "Proxy-Access-Jwt-Assertion")
    access_cookie = Setting(header_name, "Proxy_Authorization")
    service_tokens: Setting[bool] = Setting(switch, False)
    workload_issuers: Setting[tuple[str, ...]] = Setting(slugs, ())
    edge_cache_header = Setting(header_name, "Edge-CDN-Cache-Control")
    public_origin: Setting[Origin | None] = Setting(origin, None)
    secret_max_bytes = Setting(integer(1, 2**40), 65_536)
    # A full replace is one atomic batch, which both databases must be able to take.
    env_max_secrets = Setting(integer(1, 10_000), 500)
    plaintext_max_bytes = Setting(integer(1, 2**40), 134_217_728)
    body_max_bytes = Setting(integer(1, 2**40), 1_048_576)
    rate_limit: Setting[limits.RateLimitItem | None] = Setting(request_rate, limits.parse("6000/minute"))
    rate_limit_storage = Setting(required_text, "memory://")
    #: Bytes of values that an identity writes to an environment, and identities that it announces.
    write_limit: Setting[limits.RateLimitItem | None] = Setting(request_rate, limits.parse("67108864/day"))
    identity_limit: Setting[limits.RateLimitItem | None] = Setting(request_rate, limits.parse("100/day"))
    denial_limit: Setting[limits.RateLimitItem | None] = Setting(request_rate, limits.parse("60/minute"))
    last_seen_resolution = Setting(integer(0, 2**53 - 1), 1_000)
    audit_seal_seconds = Setting(integer(1, 86_400), 10)
    audit_origin = Setting(log_name, "secretsvc")
    operations_listen: Setting[str | None] = Setting(listen_address, None)
    drain_seconds = Setting(integer(0, 86_400), 30)
    trusted_proxies: Setting[tuple[Network, ...]] = Setting(networks, ())

    def require_sealing(self) -> None:
        """Pass if the settings that sealing needs are well-formed. Raises `ServerMisconfigured`."""
        _ = self.audit_seal_seconds, self.audit_origin
