"""Settings as the running service meets them (contract 1): a bad one fails what needs it, by its name."""

from __future__ import annotations

import base64
import logging
from collections.abc import Iterator
from typing import Any

import pytest
from service import API, HEADER, MASTER_KEY, arrange
from wsgi import call

SHORT_KEY = base64.b64encode(b"marker-" + bytes(24)).decode()
READ = ("GET", f"{API}/projects", None)
HEALTH = ("GET", f"{API}/health", None)
SECRET = ("GET", f"{API}/projects/shop/environments/prod/secrets/KEY", None)
EXPORT = ("GET", f"{API}/projects/shop/environments/prod/secrets:export", None)
WRITE = (
    "POST",
    f"{API}/projects/shop/environments/prod/secrets:batch",
    b'{"mode":"merge","set":{"NEW":"x"}}',
)
ANNOUNCE = ("POST", f"{API}/identities", b'{"kind":"service","subject":"robot"}')

MALFORMED = [
    ("MASTER_KEY", SHORT_KEY, HEALTH),
    ("MASTER_KEY", SHORT_KEY, SECRET),
    ("MASTER_KEY", SHORT_KEY, WRITE),
    ("MASTER_KEY", "marker", HEALTH),
    ("MASTER_KEY", "", HEALTH),
    ("MASTER_KEY_OLD", SHORT_KEY, HEALTH),
    ("BOOTSTRAP_ADMINS", "marker", READ),
    ("ACCESS_ISSUER", "", READ),
    ("ACCESS_AUDIENCE", " , ", READ),
    ("ACCESS_JWKS_URL", "", READ),
    ("ACCESS_JWKS_URL", "http://marker.example.com/certs", READ),
    ("ACCESS_JWKS_URL", "ftp://marker.example.com/certs", READ),
    ("ACCESS_ALGORITHMS", "", READ),
    ("ACCESS_ALGORITHMS", "HS256", READ),
    ("ACCESS_ALGORITHMS", "RS256,none", READ),
    ("ACCESS_LEEWAY", "61", READ),
    ("ACCESS_LEEWAY", "-1", READ),
    ("ACCESS_LEEWAY", "marker", READ),
    ("ACCESS_JWKS_COOLDOWN", "", READ),
    ("ACCESS_JWKS_CACHE", "", READ),
    ("ACCESS_HEADER", "marker: x", READ),
    ("ACCESS_COOKIE", "", READ),
    ("WORKLOAD_ISSUERS", "Marker marker", READ),
    ("EDGE_CACHE_HEADER", "marker: x", SECRET),
    ("PUBLIC_ORIGIN", "marker", SECRET),
    ("PUBLIC_ORIGIN", "marker", WRITE),
    ("PUBLIC_ORIGIN", "https://marker.example.com/", WRITE),
    ("PUBLIC_ORIGIN", "", WRITE),
    ("SECRET_MAX_BYTES", "64k", WRITE),
    ("SECRET_MAX_BYTES", "0", WRITE),
    ("ENV_MAX_SECRETS", "marker", WRITE),
    ("ENV_MAX_SECRETS", "0", WRITE),
    ("PLAINTEXT_MAX_BYTES", "128MiB", EXPORT),
    ("PLAINTEXT_MAX_BYTES", "0", EXPORT),
    ("BODY_MAX_BYTES", "1MB", WRITE),
    ("RATE_LIMIT", "marker", READ),
    ("WRITE_LIMIT", "marker", WRITE),
    ("WRITE_LIMIT", "0/day", WRITE),
    ("IDENTITY_LIMIT", "marker", ANNOUNCE),
    ("RATE_LIMIT_STORAGE", "marker://nowhere", READ),
    ("RATE_LIMIT_STORAGE", "marker://nowhere", WRITE),
    ("RATE_LIMIT_STORAGE", "", READ),
    ("LAST_SEEN_RESOLUTION", "1s", READ),
    ("TRUSTED_PROXIES", "marker", READ),
    ("TRUSTED_PROXIES", "10.0.0.0/8, marker", HEALTH),
]


def ask(service, request):
    method, target, body = request
    headers = {HEADER: service.issuer.sign("root@example.com"), "Content-Type": "application/json"}
    if target.endswith("/health"):
        headers = {}
    return call(service.app, method, target, headers, body or b"")


@pytest.fixture
def filled(service):
    """The service with one secret, so that each request of the table would succeed."""
    admin = arrange(service)
    admin.post("/projects/shop/environments/prod/secrets:batch", {"mode": "merge", "set": {"KEY": "x"}})
    for request in (READ, HEALTH, SECRET, EXPORT, WRITE):
        assert ask(service, request).status == 200
    return service


def _of_each_kind(rows: list[Any]) -> Iterator[Any]:
    """Which values are malformed, the parsers' own tests hold: here one of each setting is enough."""
    met = set()
    for name, value, asked in rows:
        yield pytest.param(name, value, asked, marks=[pytest.mark.slow] * ((name, asked) in met))
        met.add((name, asked))


@pytest.mark.parametrize(("name", "value", "request_"), list(_of_each_kind(MALFORMED)))
def test_a_malformed_setting_fails_what_needs_it_and_is_named_in_the_log(
    filled, caplog, name, value, request_
):
    limit = {"RATE_LIMIT": "9/day"} if name == "RATE_LIMIT_STORAGE" and request_ is READ else {}
    caplog.clear()
    service = filled.restarted(**limit, **{name: value})
    with caplog.at_level(logging.DEBUG):
        answered = ask(service, request_)
    assert (answered.status, answered.code) == (500, "SERVER_MISCONFIGURED")
    assert answered.json.keys() == {"code", "message", "request_id", "hint"}
    assert any(name in record.getMessage().split() for record in caplog.records)
    for text in (caplog.text, answered.body.decode()):
        assert "marker" not in text
        assert SHORT_KEY not in text
    service.close()


@pytest.mark.parametrize("name", ["ACCESS_ISSUER", "ACCESS_AUDIENCE", "ACCESS_JWKS_URL"])
def test_without_issuer_audience_or_key_source_every_authenticated_route_fails(service, caplog, name):
    bare = service.restarted(**{name: None})
    assert f"setting {name} is missing" in caplog.text
    for path in ("/projects", "/whoami", "/nothing"):
        assert bare.user().get(path, 500).json["code"] == "SERVER_MISCONFIGURED"
    bare.nobody().get("/health")
    bare.close()


def test_without_a_master_key_whatever_needs_no_ring_goes_on(service, caplog):
    admin = arrange(service)
    base = "/projects/shop/environments/prod/secrets"
    admin.post(f"{base}:batch", {"mode": "merge", "set": {"KEY": "x"}})
    bare = service.restarted(MASTER_KEY=None)
    admin = bare.user()
    assert "setting MASTER_KEY is missing" in caplog.text
    assert bare.nobody().get("/health", 500).json["code"] == "SERVER_MISCONFIGURED"
    assert [item["slug"] for item in admin.get("/projects").json["items"]] == ["shop"]
    admin.get("/projects/shop/environments")
    admin.patch("/projects/shop", {"name": "Renamed"})
    for path in (f"{base}/KEY", f"{base}:export", base):
        assert admin.get(path, 500).json["code"] == "SERVER_MISCONFIGURED"
    written = admin.post(f"{base}:batch", {"mode": "merge", "set": {"KEY": "y"}}, 500)
    assert written.json["code"] == "SERVER_MISCONFIGURED"
    assert admin.get("/projects/shop/environments/prod").json["rev"] == 1
    bare.close()


@pytest.mark.parametrize(
    "url",
    [
        "marker",
        "mysql://marker@localhost/x",
        "postgresql://marker@[::1/x",
        "postgresql://marker:1@h:port/x",
        "",
    ],
)
def test_a_malformed_database_url_is_a_misconfiguration(make_service, caplog, url):
    service = make_service()
    bad = service.restarted(**{"SQLALCHEMY.URL": url})
    assert bad.user().get("/projects", 500).json["code"] == "SERVER_MISCONFIGURED"
    assert "DATABASE_URL" in caplog.text
    assert "marker" not in caplog.text
    bad.nobody().get("/health")


def test_the_environment_wins_over_the_ini(make_service, monkeypatch):
    monkeypatch.setenv("BOOTSTRAP_ADMINS", "ada@example.com")
    monkeypatch.setenv("MASTER_KEY", "nonsense")
    service = make_service()
    assert service.user("ada@example.com").get("/whoami").json["global_role"] == "admin"
    assert service.user("root@example.com").get("/whoami").json["global_role"] is None
    service.nobody().get("/health", 500)


@pytest.mark.slow
def test_the_database_of_the_environment_wins_too(database_url, issuer, make_service, monkeypatch):
    monkeypatch.setenv("DATABASE_URL", database_url.replace("postgresql+psycopg://", "postgres://"))
    service = make_service(**{"SQLALCHEMY.URL": "nonsense"})
    service.user().get("/whoami")
    assert len(service.audit()) == 2


def test_an_empty_variable_is_a_value_and_no_absence(make_service, monkeypatch):
    monkeypatch.setenv("MASTER_KEY", "")
    assert make_service().nobody().get("/health", 500).json["code"] == "SERVER_MISCONFIGURED"


@pytest.mark.parametrize("spelling", ["padded", "bare", "url-safe"])
def test_every_spelling_of_a_master_key_is_the_same_key(filled, spelling):
    key = base64.b64decode(MASTER_KEY)
    text = {
        "padded": MASTER_KEY,
        "bare": MASTER_KEY.rstrip("="),
        "url-safe": base64.urlsafe_b64encode(key).decode(),
    }[spelling]
    service = filled.restarted(MASTER_KEY=text)
    assert ask(service, SECRET).json == {"key": "KEY", "value": "x"}
    service.close()


def test_the_start_names_each_bad_setting_once_and_no_value(make_service, caplog):
    service = make_service()
    caplog.clear()
    service.restarted(MASTER_KEY=SHORT_KEY, ACCESS_LEEWAY="99").close()
    lines = [record.getMessage() for record in caplog.records]
    assert sorted(lines) == ["setting ACCESS_LEEWAY is malformed", "setting MASTER_KEY is malformed"]
