"""The matrix of a project: signs against an environment, filters, and what can be done with the keys."""

from __future__ import annotations

import pytest
from pages import Browser, form_of, words
from secrets_client import Vault
from statements import recorded

PROJECT = "/projects/shop"


@pytest.fixture
def dev(vault) -> Vault:
    return Vault(vault.client, f"{PROJECT}/environments/dev")


@pytest.fixture
def browser(vault, dev, service) -> Browser:
    """Prod has the keys that it has in every test; dev is the newest, with which it is compared."""
    vault.batch(set={"DB_URL": "one", "DB_USER": "same", "ONLY_PROD": "x"})
    dev.batch(set={"DB_URL": "two", "DB_USER": "same", "ONLY_DEV": "x"})
    return Browser(service)


def keys(page):
    return [row["id"].removeprefix("key-") for row in page.html.select("tbody tr[id]")]


def cells(page, key):
    """The class of each cell and what it says, words for those who listen included."""
    found = page.html.select(f"#key-{key} .cell")
    return [(cell["class"][1], cell.find(class_="v").get_text()) for cell in found]


def segments(page):
    return {link.contents[0].strip(): int(link.b.text) for link in page.html.select("nav.seg a") if link.b}


def test_each_cell_tells_how_the_key_compares_with_the_chosen_environment(browser):
    page = browser.open(PROJECT)
    assert cells(page, "DB_URL") == [("diff", "v1, differs from Dev"), ("base", "v1, set")]
    assert cells(page, "DB_USER") == [("same", "v1, same as Dev"), ("base", "v1, set")]
    assert cells(page, "ONLY_PROD") == [("base", "v1, set"), ("gone", "missing")]
    page = browser.open(f"{PROJECT}?with=prod")
    assert cells(page, "DB_URL") == [("base", "v1, set"), ("diff", "v1, differs from Prod")]


def test_compared_with_nothing_it_tells_only_what_is_set_and_what_is_missing(browser):
    page = browser.open(f"{PROJECT}?with=")
    assert {kind for key in keys(page) for kind, _ in cells(page, key)} == {"base", "gone"}
    assert [*segments(page)] == ["All", "Missing", "Unreadable"]


@pytest.mark.both_engines
@pytest.mark.parametrize("slug", ["absent", "hidden", "%00", "no slug"])
def test_an_environment_that_is_not_in_sight_is_not_compared_with(browser, admin, service, slug):
    admin.post(f"{PROJECT}/environments", {"slug": "hidden", "name": "Hidden"}, 201)
    for who in ("shop/prod", "shop/dev"):
        service.grant("rita@example.com", "reader", who)
    page = Browser(service, "rita@example.com").open(f"{PROJECT}?with={slug}")
    assert "Hidden" not in page.text
    assert page.html.select_one("#with option[selected]")["value"] == "dev"


def test_the_one_called_production_is_compared_with_before_the_newest(browser, admin):
    for slug in ("production", "newest"):
        admin.post(f"{PROJECT}/environments", {"slug": slug, "name": slug}, 201)
    assert browser.open(PROJECT).html.select_one("#with option[selected]")["value"] == "production"


def test_a_damaged_value_is_unreadable_and_what_is_compared_with_it_merely_set(browser, dev, service):
    service.execute("UPDATE secret_version SET envelope = :bad", {"bad": b"damaged"})
    dev.batch(set={"DB_URL": "fresh"})
    assert cells(browser.open(PROJECT), "DB_URL") == [("bad", "unreadable"), ("base", "v2, set")]
    assert cells(browser.open(f"{PROJECT}?with=prod"), "DB_URL")[1] == ("base", "v2, set")


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", ["DB_URL", "DB_USER", "ONLY_DEV", "ONLY_PROD"]),
        ("?show=missing", ["ONLY_DEV", "ONLY_PROD"]),
        ("?show=differs", ["DB_URL"]),
        ("?show=same", ["DB_USER"]),
        ("?show=unreadable", []),
        ("?show=ghost", ["DB_URL", "DB_USER", "ONLY_DEV", "ONLY_PROD"]),
        ("?q=db", ["DB_URL", "DB_USER"]),
        ("?q=_dev", ["ONLY_DEV"]),
        ("?q=db&show=same", ["DB_USER"]),
        ("?q=%25", []),
        ("?q=%00", []),
    ],
)
def test_a_filter_shows_the_keys_that_it_is_for(browser, query, expected):
    page = browser.open(f"{PROJECT}{query}")
    assert keys(page) == expected
    assert page.html.find(id="no-match").has_attr("hidden") == bool(expected)


def test_the_filters_count_what_the_text_lets_through(browser):
    assert segments(browser.open(PROJECT)) == {
        "All": 4, "Missing": 2, "Differs": 1, "Unreadable": 0, "Same": 1,
    }  # fmt: skip
    page = browser.open(f"{PROJECT}?q=db")
    assert segments(page) == {"All": 2, "Missing": 0, "Differs": 1, "Unreadable": 0, "Same": 1}
    links = {link["href"] for link in page.html.select("nav.seg a")}
    assert f"{PROJECT}?q=db&show=differs" in links


def test_keys_of_one_prefix_stand_together_unless_the_form_says_otherwise(browser, vault):
    vault.batch(set={"ALONE": "x", "_ODD": "x"})
    page = browser.open(PROJECT)
    heads = [row.get_text(" ", strip=True) for row in page.html.select("tr.group")]
    assert heads == [
        "DB_ 2 keys",
        "ONLY_ 2 keys, 2 missing somewhere",
        "Other keys 2 keys, 2 missing somewhere",
    ]
    form = form_of(page, PROJECT)
    assert form["group"].checked
    form["group"].checked = False
    page = form.submit()
    assert not page.html.select("tr.group")
    assert keys(page) == sorted(keys(page))
    assert form_of(page, PROJECT)["group"].checked is False


def test_a_cell_leads_to_the_secret_and_a_missing_one_to_where_it_is_added(browser, service):
    row = browser.open(PROJECT).html.select_one("#key-ONLY_PROD")
    there, missing = row.select(".cell")
    assert there["href"] == f"{PROJECT}/environments/prod/secrets/ONLY_PROD"
    assert missing["href"] == f"{PROJECT}/environments/dev?new=ONLY_PROD#new"
    assert missing["title"] == "ONLY_PROD is not set in Dev: add it"
    service.grant("rita@example.com", "reader", "shop")
    row = Browser(service, "rita@example.com").open(PROJECT).html.select_one("#key-ONLY_PROD")
    assert "href" not in row.select(".cell")[1].attrs


@pytest.mark.both_engines
def test_an_environment_that_is_not_seen_has_no_column_and_its_keys_no_row(browser, service):
    service.grant("rita@example.com", "reader", "shop/prod")
    page = Browser(service, "rita@example.com").open(PROJECT)
    assert keys(page) == ["DB_URL", "DB_USER", "ONLY_PROD"]
    assert "Dev" not in words(page)


def test_only_those_who_may_write_somewhere_are_offered_to_copy_there(browser, service):
    service.grant("wanda@example.com", "writer", "shop/dev")
    service.grant("wanda@example.com", "reader", "shop")
    page = Browser(service, "wanda@example.com").open(PROJECT)
    assert [option["value"] for option in page.html.select("select[name=to] option")] == ["dev"]
    assert [option["value"] for option in page.html.select("select[name=from] option")] == ["prod", "dev"]
    service.grant("rita@example.com", "reader", "shop")
    page = Browser(service, "rita@example.com").open(PROJECT)
    assert not page.html.select("select[name=to]")
    assert "Add keys" not in words(page)


def test_the_head_tells_who_changed_what_last(browser):
    assert "Last change by root@example.com in Dev, just now ." in words(browser.open(PROJECT), ".head")


@pytest.mark.slow
def test_many_keys_have_their_menus_by_a_link(browser, vault):
    assert browser.open(PROJECT).html.select("#key-DB_URL details")
    vault.batch(set={f"K{number}": "x" for number in range(120)})
    page = browser.open(PROJECT)
    assert not page.html.select("#key-DB_URL details")
    page = browser.open(page.html.select_one('[aria-label="Actions for DB_URL"]')["href"])
    assert page.html.select_one("#key-DB_URL details").has_attr("open")
    assert len(page.html.select("tbody details")) == 1


def test_a_project_without_environments_or_keys_says_so(service, admin):
    page = Browser(service).open(PROJECT)
    assert "There is no key here yet." in words(page)
    admin.post("/projects", {"slug": "bare", "name": "Bare"}, 201)
    assert "There is no environment here yet" in words(Browser(service).open("/projects/bare"))


@pytest.mark.both_engines
@pytest.mark.parametrize("count", [1, 300])
def test_it_takes_two_statements_beside_authentication_and_the_shell(service, vault, count):
    quiet = service.restarted(LAST_SEEN_RESOLUTION="3600000")
    vault.batch(set={f"K{number}": "x" for number in range(count)})
    browser = Browser(quiet)
    browser.open(PROJECT)
    with recorded(quiet.engine) as statements:
        browser.open(PROJECT)
    assert len(statements) == 4, statements


def delete(browser, *keys, status=200, **fields):
    """What is shown when keys that are ticked are to be deleted."""
    form = form_of(browser.open(PROJECT), "/copy")
    for key in keys:
        form[f"key.{key}"].checked = True
    return browser.post(f"{PROJECT}/delete-keys", dict(form.submit_fields()) | fields, status=status)


def test_selected_keys_are_deleted_from_one_environment_after_its_review(browser, vault, dev):
    page = delete(browser, "DB_URL", "ONLY_PROD")
    assert "Nothing is deleted yet" in words(page)
    assert [item.find("small").text for item in page.html.select(".lines li")] == [
        "has 2 keys",
        "has 1 of 2 keys",
    ]
    form = form_of(page, "/delete-keys")
    page = browser.post(page.html.select_one(".lines button")["formaction"], dict(form.submit_fields()))
    assert [*vault.listed()] == ["DB_URL", "DB_USER", "ONLY_PROD"]
    form_of(page, "/edit-apply").submit()
    assert [*vault.listed()] == ["DB_USER"]
    assert "DB_URL" in dev.listed()


def test_a_row_is_deleted_by_its_menu_whatever_else_is_ticked(browser):
    page = delete(browser, "DB_URL", only="ONLY_DEV")
    assert words(page, "h1") == "Delete 1 key"
    assert "DB_URL" not in words(page)


def test_to_delete_nothing_is_refused_and_what_may_not_be_written_to_is_not_offered(browser, service):
    assert "Keys: Select at least one key." in words(delete(browser, status=422))
    service.grant("wanda@example.com", "writer", "shop/dev")
    service.grant("wanda@example.com", "reader", "shop")
    page = delete(Browser(service, "wanda@example.com"), "DB_URL", "ONLY_PROD")
    assert len(page.html.select(".lines li")) == 1
    page = delete(Browser(service, "wanda@example.com"), "ONLY_PROD")
    assert "in no environment that you may write to" in words(page)
