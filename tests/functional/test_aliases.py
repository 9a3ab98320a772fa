"""The short spelling `/p/{project}/e/{env}` and nothing beside it (contract 3.1)."""

from __future__ import annotations

import pytest

UNDER = "/projects/shop/environments/prod"
ALIAS = "/p/shop/e/prod"
WRITE = {"mode": "merge", "set": {"KEY": "x"}}


@pytest.mark.parametrize(
    "rest",
    ["", "/secrets", "/secrets/KEY", "/secrets/KEY:reveal", "/secrets/KEY/versions", "/secrets:export"],
)
def test_both_spellings_answer_alike(admin, rest):
    admin.post(f"{UNDER}/secrets:batch", WRITE)
    canonical, short = admin.get(UNDER + rest), admin.get(ALIAS + rest)
    assert canonical.body == short.body
    assert canonical.headers.get("ETag") == short.headers.get("ETag")


def test_a_write_by_the_short_spelling_is_seen_in_the_other_and_in_the_audit(admin, service):
    admin.post(f"{ALIAS}/secrets:batch", WRITE)
    assert admin.get(f"{UNDER}/secrets/KEY").json["value"] == "x"
    [row] = service.audit("secret.batch")
    assert str(row["environment_id"]) == admin.get(UNDER).json["id"]
    admin.delete(ALIAS)
    admin.get(UNDER, 404)


@pytest.mark.parametrize("method", ["GET", "POST", "PATCH", "DELETE"])
@pytest.mark.parametrize(
    "path",
    [
        "/p",
        "/p/",
        "/p/shop",
        "/p/shop/",
        "/p/shop/e",
        "/p/shop/e/",
        "/p/shop/environments",
        "/p/shop/environments/prod",
        "/p/shop/environments/prod/secrets",
        "/projects/shop/e",
        "/projects/shop/e/prod",
        "/projects/shop/e/prod/secrets",
        "/p/shop/e/prod/",
        "/p/shop/e/prod/e/prod",
        "/e/prod",
        "/P/shop/E/prod",
    ],
)
def test_mixed_and_half_spellings_are_not_found(admin, path, method):
    refused = admin.request(method, path, {} if method in ("POST", "PATCH") else None)
    assert (refused.status_int, refused.json["code"]) == (404, "NOT_FOUND")


@pytest.mark.parametrize(
    ("path", "parameters"),
    [
        ("/p/Shop/e/prod", ["project"]),
        ("/p/shop/e/Prod", ["env"]),
        ("/p/-/e/a--b", ["project", "env"]),
        ("/p/shop/e/prod/secrets/a-b", ["key"]),
        ("/projects/Shop/environments/Prod", ["project", "env"]),
    ],
)
def test_parameters_have_the_same_names_in_both_spellings(admin, path, parameters):
    assert [issue["path"] for issue in admin.get(path, 422).json["issues"]] == parameters
