"""An answer names at most 100 issues, and says how many it leaves out (contract 17.3)."""

from __future__ import annotations

import json

import pytest
from pages import Browser, form_of
from secrets_client import Vault

from secretsvc.secrets.models import secret_version

COPY = {"from": {"project": "shop", "environment": "dev"}}
KEYS = [f"KEY_{number}" for number in range(500)]


def issues_of(refused):
    return [(issue["path"], issue["message"]) for issue in refused.json["issues"]]


def named_and_left_out(refused):
    """The paths of the first and the last issue that are named, and what the one after them says."""
    found = issues_of(refused)
    assert len(found) == 101
    assert found[100][0] == ""
    return found[0][0], found[99][0], found[100][1]


BODIES = {
    "an array": (
        "batch",
        {"mode": "merge", "delete": [5] * 1_000},
        ("delete.0", "delete.99", "900 more are left out."),
    ),
    "a long array": (
        "batch",
        {"mode": "merge", "delete": [5] * 20_000},
        ("delete.0", "delete.99", "At least 9,900 more are left out."),
    ),
    "an object": (
        "batch",
        {"mode": "merge", "set": {f"K{number}": 5 for number in range(101)}},
        ("set.K0", "set.K99", "1 more is left out."),
    ),
    "unknown fields": (
        "batch",
        {"mode": "merge"} | {f"f{number}": 5 for number in range(300)},
        ("f0", "f99", "200 more are left out."),
    ),
    "both set and deleted": (
        "batch",
        {"mode": "merge", "set": dict.fromkeys(sorted(KEYS), "x"), "delete": KEYS},
        ("set.KEY_0", "set.KEY_188", "400 more are left out."),
    ),
    "lines": (
        "import",
        {"format": "env", "mode": "merge", "content": "x\n" * 1_500},
        ("content", "content", "1,400 more are left out."),
    ),
    "members": (
        "import",
        {"format": "json", "mode": "merge", "content": json.dumps(dict.fromkeys(KEYS, 5))},
        ("content.KEY_0", "content.KEY_99", "400 more are left out."),
    ),
    "keys of a copy": ("copy", COPY | {"keys": KEYS}, ("keys.0", "keys.99", "400 more are left out.")),
}


@pytest.mark.parametrize("name", BODIES)
def test_a_refused_body_names_a_hundred_issues_and_counts_the_others(vault, name):
    verb, body, expected = BODIES[name]
    assert named_and_left_out(vault.post(verb, body, 422)) == expected


def test_a_reason_that_is_due_is_counted_too(vault):
    vault.client.patch(vault.base, {"protected": True})
    refused = vault.post("batch", {"mode": "merge", "delete": [5] * 100}, 422)
    assert named_and_left_out(refused) == ("delete.0", "delete.99", "1 more is left out.")


def test_a_copy_takes_at_most_500_keys(vault, service):
    dev = Vault(vault.client, "/projects/shop/environments/dev")
    dev.batch(set=dict.fromkeys(KEYS, "x"))
    before = service.count(secret_version)
    refused = vault.post("copy", COPY | {"keys": [*KEYS, "KEY_0"]}, 422)
    assert issues_of(refused) == [("keys", "Must have at most 500.")]
    assert service.count(secret_version) == before
    assert len(vault.post("copy", COPY | {"keys": KEYS}).json["changes"]) == 500


def test_a_query_names_all_its_issues_a_parameter_given_twice_or_not(vault):
    refused = vault.client.get("/projects?cursor=x&limit=1&other=1&limit=0&last=2", 422)
    paths = [path for path, _ in issues_of(refused)]
    assert paths == ["limit", "cursor", "other", "last"]
    assert issues_of(refused)[0] == ("limit", "Given twice.")
    twice = vault.client.get("/projects?limit=x&limit=y&cursor=1&cursor=2", 422)
    assert issues_of(twice) == [("limit", "Given twice."), ("cursor", "Given twice.")]


def import_form(browser):
    page = browser.open("/projects/shop/environments/prod/import")
    return form_of(page, "/import-review")


def test_a_page_that_is_refused_shows_the_same_issues(vault, service):
    form = import_form(Browser(service))
    form["content"] = "x\n" * 1_500
    shown = form.submit(status=422).html.find(role="alert").find_all("li")
    assert (len(shown), shown[100].text.strip()) == (101, "1,400 more are left out.")


def test_a_review_names_all_keys_that_the_source_lacks(vault, service):
    browser = Browser(service)
    fields = {"csrf": import_form(browser)["csrf"].value, "existing": "overwrite"}
    fields |= {f"key.GONE_{number}": "on" for number in range(300)} | {"from": "dev"}
    page = browser.post("/projects/shop/environments/prod/copy-review", fields)
    assert all(f"GONE_{number}" in page.text for number in range(300))
