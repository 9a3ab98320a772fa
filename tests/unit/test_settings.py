"""The parsers of settings, and what is never a default."""

from __future__ import annotations

import base64
import logging
from ipaddress import ip_network
from pathlib import Path

import pytest

from secretsvc.kernel.errors import ServerMisconfigured
from secretsvc.kernel.settings import Setting, Settings
from secretsvc.kernel.workloads import Workload

KEY = bytes(range(223, 255))


def settings(**values: str) -> Settings:
    return Settings({}, values)


DEFAULTS = {
    "database_pool_size": 8,
    "database_timeout": 10,
    "key_provider": "environment",
    "master_key_file": None,
    "master_key_old_file": None,
    "master_key_old": None,
    "bootstrap_admins": frozenset(),
    "access_algorithms": ("RS256", "ES256"),
    "access_leeway": 30,
    "access_jwks_cooldown": 30,
    "access_jwks_cache": None,
    "access_header": "Proxy-Access-Jwt-Assertion",
    "access_cookie": "Proxy_Authorization",
    "edge_cache_header": "Edge-CDN-Cache-Control",
    "public_origin": None,
    "secret_max_bytes": 65_536,
    "env_max_secrets": 500,
    "plaintext_max_bytes": 134_217_728,
    "body_max_bytes": 1_048_576,
    "rate_limit_storage": "memory://",
    "last_seen_resolution": 1_000,
    "audit_seal_seconds": 10,
    "audit_origin": "secretsvc",
    "operations_listen": None,
    "drain_seconds": 30,
    "trusted_proxies": (),
    "service_tokens": False,
    "workload_issuers": (),
}
REQUIRED = {"database_url", "master_key", "access_issuer", "access_audience", "access_jwks_url"}


@pytest.mark.parametrize(("name", "value"), DEFAULTS.items())
def test_defaults_are_those_of_the_contract(name, value):
    assert getattr(settings(), name) == value


#: How many are allowed, and in how many seconds.
LIMITS = {
    "rate_limit": (6_000, 60),
    "denial_limit": (60, 60),
    "write_limit": (67_108_864, 86_400),
    "identity_limit": (100, 86_400),
}


@pytest.mark.parametrize(("name", "allowed"), LIMITS.items())
def test_the_limits_default_to_those_of_the_contract(name, allowed):
    rate = getattr(settings(), name)
    assert (rate.amount, rate.get_expiry()) == allowed


@pytest.mark.parametrize("name", sorted(REQUIRED))
def test_what_has_no_default_is_missing(name):
    with pytest.raises(ServerMisconfigured):
        getattr(settings(), name)


def test_every_setting_is_in_one_of_the_tables():
    names = {name for name, setting in vars(Settings).items() if isinstance(setting, Setting)}
    assert names == {*DEFAULTS, *REQUIRED, *LIMITS}


PARSED = [
    ("DATABASE_URL", "postgresql://u:p@h/d", "postgresql+psycopg://u:p@h/d"),
    ("DATABASE_URL", "postgres://u:p@h/d?sslmode=require", "postgresql+psycopg://u:p@h/d?sslmode=require"),
    ("DATABASE_URL", "postgresql+psycopg://h/d", "postgresql+psycopg://h/d"),
    ("DATABASE_URL", "sqlite:////var/x.sqlite", "sqlite:////var/x.sqlite"),
    ("DATABASE_URL", " sqlite:///x.sqlite\n", "sqlite:///x.sqlite"),
    ("MASTER_KEY", base64.b64encode(KEY).decode(), KEY),
    ("MASTER_KEY", base64.b64encode(KEY).decode().rstrip("="), KEY),
    ("MASTER_KEY", base64.urlsafe_b64encode(KEY).decode(), KEY),
    ("MASTER_KEY", base64.urlsafe_b64encode(KEY).decode().rstrip("=") + "\n", KEY),
    ("MASTER_KEY_OLD", "", None),
    ("MASTER_KEY_OLD_FILE", " ", None),
    ("MASTER_KEY_OLD_FILE", " /run/old\n", Path("/run/old")),
    ("MASTER_KEY_OLD", base64.b64encode(KEY).decode(), KEY),
    ("BOOTSTRAP_ADMINS", " A@Example.com,b@example.com ,, a@example.com", {"a@example.com", "b@example.com"}),
    ("BOOTSTRAP_ADMINS", " ", frozenset()),
    ("ACCESS_AUDIENCE", "one, two,one", ("one", "two")),
    ("ACCESS_JWKS_URL", "https://team.example.com/certs", "https://team.example.com/certs"),
    ("ACCESS_JWKS_URL", "http://127.0.0.1:8000/certs", "http://127.0.0.1:8000/certs"),
    ("ACCESS_JWKS_URL", "http://localhost/certs", "http://localhost/certs"),
    ("ACCESS_JWKS_URL", "http://[::1]/certs", "http://[::1]/certs"),
    ("ACCESS_JWKS_URL", "file:/etc/jwks.json", "file:/etc/jwks.json"),
    ("ACCESS_JWKS_URL", "file:///etc/jwks.json", "file:///etc/jwks.json"),
    ("ACCESS_ALGORITHMS", "ES256,PS256", ("ES256", "PS256")),
    ("ACCESS_LEEWAY", "0", 0),
    ("ACCESS_LEEWAY", "60", 60),
    ("ACCESS_HEADER", "Cf-Access-Jwt-Assertion", "Cf-Access-Jwt-Assertion"),
    ("PUBLIC_ORIGIN", "https://secrets.example.com", ("https", "secrets.example.com", 443)),
    ("PUBLIC_ORIGIN", " HTTPS://Secrets.Example.COM:443\n", ("https", "secrets.example.com", 443)),
    ("PUBLIC_ORIGIN", "http://localhost:6543", ("http", "localhost", 6543)),
    ("PUBLIC_ORIGIN", "http://[::1]:80", ("http", "[::1]", 80)),
    ("SECRET_MAX_BYTES", " 10 ", 10),
    ("RATE_LIMIT", "", None),
    ("RATE_LIMIT", " ", None),
    ("DENIAL_LIMIT", "", None),
    ("WRITE_LIMIT", "", None),
    ("IDENTITY_LIMIT", " ", None),
    ("LAST_SEEN_RESOLUTION", "0", 0),
    ("OPERATIONS_LISTEN", "", None),
    ("OPERATIONS_LISTEN", "127.0.0.1:9000", "127.0.0.1:9000"),
    ("OPERATIONS_LISTEN", " [::1]:9000\n", "[::1]:9000"),
    ("OPERATIONS_LISTEN", "unix:/run/secretsvc/operations", "unix:/run/secretsvc/operations"),
    ("DRAIN_SECONDS", "0", 0),
    ("SERVICE_TOKENS", "on", True),
    ("SERVICE_TOKENS", " off\n", False),
    ("WORKLOAD_ISSUERS", " ", ()),
    ("WORKLOAD_ISSUERS", "github, gitlab-ci ,", ("github", "gitlab-ci")),
    ("TRUSTED_PROXIES", " ", ()),
    ("TRUSTED_PROXIES", "10.0.0.0/8,::1 ,", (ip_network("10.0.0.0/8"), ip_network("::1"))),
]


@pytest.mark.parametrize(("variable", "raw", "value"), PARSED)
def test_a_well_formed_value_is_read(variable, raw, value):
    assert getattr(settings(**{variable: raw}), variable.lower()) == value


MALFORMED = [
    *[("DATABASE_URL", raw) for raw in ("", "x", "sqlite", "mysql://h/d", "postgresql+psycopg2://h/d")],
    *[("DATABASE_URL", raw) for raw in ("postgresql://h:port/d", "sqlite+aiosqlite:///x", "file:///x")],
    ("DATABASE_URL", "postgresql://u@h:5432,g:5432/d"),
    *[("MASTER_KEY", base64.b64encode(bytes(size)).decode()) for size in (0, 16, 31, 33, 64)],
    *[
        ("MASTER_KEY", raw)
        for raw in ("A" * 42, "A" * 42 + "!", "é" * 43, "0" * 64, "A" * 20 + " " + "A" * 23)
    ],
    *[("MASTER_KEY_OLD", raw) for raw in ("x", base64.b64encode(bytes(31)).decode())],
    *[("BOOTSTRAP_ADMINS", raw) for raw in ("x", "a@b@c", "a@example.com;b@example.com", "a@example.com, b")],
    *[("ACCESS_ISSUER", raw) for raw in ("", "  ")],
    *[("ACCESS_AUDIENCE", raw) for raw in ("", ",", " , ")],
    *[("ACCESS_JWKS_URL", raw) for raw in ("", "x", "https://", "https:/x", "http://example.com/x")],
    *[("ACCESS_JWKS_URL", raw) for raw in ("http://127.0.0.1.example.com/", "http://localhost@example.com/")],
    *[("ACCESS_JWKS_URL", raw) for raw in ("file:", "file://host/x", "ftp://127.0.0.1/x", "http://[::1/x")],
    *[("ACCESS_ALGORITHMS", raw) for raw in ("", "HS256", "none", "RS256,HS512", "rs256", "RS256;ES256")],
    *[("ACCESS_LEEWAY", raw) for raw in ("", "61", "-1", "+1", "1.0", "1e1", "٣", "1_0", "0x1", "thirty")],
    *[("ACCESS_HEADER", raw) for raw in ("", "a b", "a:b", "é", "a\r\nb", "x" * 129)],
    *[("ACCESS_COOKIE", raw) for raw in ("", "a;b", "a=b")],
    *[("EDGE_CACHE_HEADER", raw) for raw in ("", "a b", "a\nb")],
    *[("PUBLIC_ORIGIN", raw) for raw in ("", " ", "null", "*", "example.com", "//example.com", "https://")],
    *[
        ("PUBLIC_ORIGIN", raw)
        for raw in ("https://example.com/", "https://example.com/x", "https://a, https://b")
    ],
    *[
        ("PUBLIC_ORIGIN", raw)
        for raw in ("ftp://example.com", "https://u@example.com", "https://example.com?x")
    ],
    *[
        ("PUBLIC_ORIGIN", raw)
        for raw in ("https://example.com:", "https://example.com:65536", "https://[::1")
    ],
    *[
        ("BOOTSTRAP_ADMINS", raw)
        for raw in (
            *("'boss@example.com", 'boss@example.com"', "bo'ss@example.com", '"a"@example.com'),
            *("a@example.com,'b@example.com'", "a@example.com b@example.com", "a b@example.com"),
            *("*@example.com", "a@*.example.com", "a@example.com,*", "*"),
        )
    ],
    *[("ACCESS_AUDIENCE", raw) for raw in ("a,'b'", '"a",b', "a, 'b' ,c")],
    *[("SECRET_MAX_BYTES", raw) for raw in ("", "0", "64k", "-1")],
    *[("ENV_MAX_SECRETS", raw) for raw in ("", "0", "10001", "many")],
    *[("BODY_MAX_BYTES", raw) for raw in ("", "0", "1MB")],
    *[("RATE_LIMIT", raw) for raw in ("lots", "1", "/minute", "1/day;2/hour", "0/minute")],
    ("DENIAL_LIMIT", "0/minute"),
    *[("RATE_LIMIT_STORAGE", raw) for raw in ("", "  ")],
    *[
        ("OPERATIONS_LISTEN", raw)
        for raw in ("9000", ":9000", "host", "host:", "host:http", "h:65536", "unix:")
    ],
    *[("DRAIN_SECONDS", raw) for raw in ("", "-1", "1.5", "soon")],
    *[("LAST_SEEN_RESOLUTION", raw) for raw in ("", "-1", str(2**53))],
    *[("SERVICE_TOKENS", raw) for raw in ("", "On", "true", "1", "yes")],
    *[("WORKLOAD_ISSUERS", raw) for raw in ("GitHub", "a_b", "a b", "-a", "a;b", "x" * 65)],
    *[("TRUSTED_PROXIES", raw) for raw in ("x", "10.0.0.1/8", "10.0.0.0/33", "10.0.0.0-10.0.0.9", "*", "1")],
]


@pytest.mark.parametrize(("variable", "raw"), MALFORMED)
def test_a_malformed_value_is_no_silent_default(caplog, variable, raw):
    with caplog.at_level(logging.DEBUG), pytest.raises(ServerMisconfigured) as caught:
        getattr(settings(**{variable: raw}), variable.lower())
    assert caplog.messages == [f"setting {variable} is malformed"]
    assert (caught.value.message, caught.value.__cause__) == (ServerMisconfigured.default_message, None)


@pytest.mark.parametrize("quote", ["'", '"'])
@pytest.mark.parametrize("name", sorted(Settings.known()))
def test_quotes_around_any_setting_are_malformed(caplog, name, quote):
    # Each is well-formed without them for some setting, and within them for some other.
    for value in ("", "on", "1", "a@example.com", "https://example.com", "sqlite:///x", "X-Name"):
        caplog.clear()
        variable = name.upper()
        with pytest.raises(ServerMisconfigured):
            getattr(settings(**{variable: f" {quote}{value}{quote} "}), name)
        assert caplog.messages == [f"setting {variable} is malformed: its value is in quotes"]
    ini = {Settings.known()[name].ini or f"secretsvc.{name}": f"{quote}1{quote}"}
    with pytest.raises(ServerMisconfigured):
        getattr(Settings(ini, {}), name)


@pytest.mark.parametrize("name", sorted(Workload.known()))
def test_quotes_around_a_setting_of_a_workload_issuer_are_malformed(caplog, name):
    variable = f"WORKLOAD_CI_{name.upper()}"
    with pytest.raises(ServerMisconfigured):
        getattr(Workload(settings(**{variable: "'a=b'"}), "ci"), name)
    assert caplog.messages == [f"setting {variable} is malformed: its value is in quotes"]


def test_quotes_within_a_setting_are_its_own():
    url = "postgresql://u:'p\"@h/d"
    assert settings(DATABASE_URL=url).database_url == url.replace("postgresql", "postgresql+psycopg")
    assert settings(ACCESS_ISSUER="a'b'").access_issuer == "a'b'"


def test_a_complaint_is_logged_once_a_minute_however_often_a_setting_is_needed(caplog):
    bad = settings(ACCESS_LEEWAY="x")
    for _ in range(9):
        for name in ("access_leeway", "access_issuer"):
            with pytest.raises(ServerMisconfigured):
                getattr(bad, name)
    assert caplog.messages == ["setting ACCESS_LEEWAY is malformed", "setting ACCESS_ISSUER is missing"]


def test_the_variable_wins_over_the_ini_key():
    both = Settings({"secretsvc.access_leeway": "1"}, {"ACCESS_LEEWAY": "2"})
    assert both.access_leeway == 2
    assert Settings({"secretsvc.access_leeway": "1"}, {}).access_leeway == 1


def test_the_database_has_the_usual_ini_key():
    assert Settings({"sqlalchemy.url": "sqlite:///x"}, {}).database_url == "sqlite:///x"


def test_bootstrap_admins_are_evaluated_at_each_access_and_the_rest_once():
    environ = {"BOOTSTRAP_ADMINS": "a@example.com", "ACCESS_LEEWAY": "1"}
    live = Settings({}, environ)
    assert (live.bootstrap_admins, live.access_leeway) == ({"a@example.com"}, 1)
    environ.update(BOOTSTRAP_ADMINS="b@example.com", ACCESS_LEEWAY="2")
    assert (live.bootstrap_admins, live.access_leeway) == ({"b@example.com"}, 1)


def test_no_value_shows_in_a_representation():
    secret = base64.b64encode(KEY).decode()
    shown = settings(MASTER_KEY=secret)
    assert shown.master_key == KEY
    assert secret not in repr(shown)
    assert repr(KEY) not in repr(shown)
