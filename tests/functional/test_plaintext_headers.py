"""The headers of the routes that return values, whatever the answer (specification; contract 3.14)."""

from __future__ import annotations

import pytest
from secrets_client import BOTH_SPELLINGS, PLAINTEXT_HEADERS, Vault, block_audit, tamper

ROUTES = (
    *("secrets/A", "secrets/A:reveal", "secrets:export", "secrets:export?format=env"),
    *("secrets/A?version=1", "secrets/A:reveal?version=1", "secrets:export?rev=1"),
)


def carried(answer):
    """Those of the headers that an answer carries."""
    return {name: answer.headers.get(name) for name in PLAINTEXT_HEADERS}


def nothing(_service):
    """The service is sound."""


def tamper_with_a(service):
    tamper(service, "A")


def unauthenticated(service, vault, path):
    return Vault(service.nobody(), vault.base).get(path, 401)


def cross_site(_service, vault, path):
    return vault.get(path, 403, headers={"Sec-Fetch-Site": "cross-site"})


def invisible(service, vault, path):
    return Vault(service.user("stranger@example.com"), vault.base).get(path, 404)


def absent(_service, vault, path):
    return Vault(vault.client, vault.base.replace("prod", "nowhere")).get(path, 404)


def wrong_method(_service, vault, path):
    return vault.client.delete(f"{vault.base}/{path}", 404)


def bad_query(_service, vault, path):
    return vault.get(f"{path}{'&' if '?' in path else '?'}unknown=1", 422)


def bad_slug(_service, vault, path):
    return Vault(vault.client, vault.base.replace("shop", "Shop")).get(path, 422)


def failing(_service, vault, path):
    return vault.get(path, 500)


def malformed(_service, vault, path):
    return vault.get(f"{path}{'&' if '?' in path else '?'}reason=%FF", 400)


def found(_service, vault, path):
    return vault.get(path)


@BOTH_SPELLINGS
@pytest.mark.parametrize(
    "cause",
    [
        (nothing, found),
        (nothing, malformed),
        (nothing, unauthenticated),
        (nothing, cross_site),
        (nothing, invisible),
        (nothing, absent),
        (nothing, wrong_method),
        (nothing, bad_query),
        (nothing, bad_slug),
        (tamper_with_a, failing),
        (block_audit, failing),
    ],
    ids=lambda cause: f"{cause[0].__name__}-{cause[1].__name__}",
)
def test_every_answer_of_a_route_that_returns_values_forbids_to_keep_it(vault, service, cause):
    vault.set(A="one")
    prepare, ask = cause
    prepare(service)
    for path in ROUTES:
        assert carried(ask(service, vault, path)) == PLAINTEXT_HEADERS


@BOTH_SPELLINGS
@pytest.mark.parametrize("key", ["MISSING", "1BAD", "A:bogus"])
def test_so_does_the_answer_about_a_key_that_is_not_there(vault, key):
    answer = vault.client.request("GET", f"{vault.base}/secrets/{key}")
    assert answer.status_int in (404, 422)
    assert carried(answer) == PLAINTEXT_HEADERS


def test_percent_encoding_does_not_shed_the_headers(vault, service):
    vault.set(A="one")
    for client in (vault.client, service.nobody()):
        for path in ("secrets%3Aexport", "%73ecrets/%41", "secrets/A%3Areveal"):
            answer = client.request("GET", f"{vault.base}/{path}")
            assert answer.status_int in (200, 401)
            assert carried(answer) == PLAINTEXT_HEADERS


@pytest.mark.parametrize("path", ["secrets", "secrets/A/versions", "secrets/A/", "secrets:export/"])
def test_the_headers_are_bound_to_those_routes(vault, path):
    vault.set(A="one")
    answer = vault.client.request("GET", f"{vault.base}/{path}")
    assert carried(answer) != PLAINTEXT_HEADERS
    assert "Edge-CDN-Cache-Control" not in answer.headers


def test_the_deployment_names_the_headers_of_its_vendor(make_service, database_url):
    service = make_service(EDGE_CACHE_HEADER="Vendor-Cache-Control", ACCESS_HEADER="Vendor-Jwt")
    answer = service.nobody().get("/p/shop/e/prod/secrets:export", 401)
    assert answer.headers["Vendor-Cache-Control"] == "no-store"
    assert answer.headers["Vary"] == "Vendor-Jwt"
    assert "Edge-CDN-Cache-Control" not in answer.headers
