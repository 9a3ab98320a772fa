"""What a second click finds on a form that removes something, in a browser without scripts."""

from __future__ import annotations

import pytest
from pages import Browser, words
from sample_data import TOKENS, furnish, hand_out
from service import MASTER_KEY

#: The page with the form, where it is sent, and what it needs beside its own fields.
REMOVALS = [
    (f"{TOKENS}?remove={{made}}", f"{TOKENS}/{{made}}/remove", {}),
    ("/grants?remove={late}", "/access/remove-grant", {"chosen": "{late}"}),
    ("/identities/{wendy}?remove={late}", "/identities/{wendy}/remove-grant", {"chosen": "{late}"}),
    ("/grants/{late}?remove", "/grants/{late}/remove", {}),
    ("/groups/{crew}?leave={wendy}", "/groups/{crew}/remove-member", {"chosen": "{wendy}"}),
    ("/groups/{crew}?delete", "/groups/{crew}/delete", {"confirm": "crew"}),
]
DELETIONS = [
    ("/projects/shop/environments/prod/settings", "/projects/shop/environments/prod/delete", "prod"),
    ("/projects/shop/settings", "/projects/shop/delete", "shop"),
]


def named(templates, ids):
    return [template.format(**ids) for template in templates]


def token(browser, page):
    return {"csrf": browser.open(page).html.find("input", {"name": "csrf"})["value"]}


@pytest.mark.parametrize("at", range(len(REMOVALS)), ids=[one[1] for one in REMOVALS])
def test_a_removal_that_is_sent_twice_says_that_nothing_is_left_to_remove(make_service, at):
    service = make_service(MASTER_KEY=MASTER_KEY, SERVICE_TOKENS="on")
    ids = furnish(service)
    ids["made"] = hand_out(service, ids["robot"])
    browser, (page, path, fields) = Browser(service), REMOVALS[at]
    page, path = named((page, path), ids)
    sent = token(browser, page) | dict(zip(fields, named(fields.values(), ids), strict=True))
    first, second = (browser.post(path, sent, status=303).follow() for _ in range(2))
    assert "Nothing was removed" not in words(first, "[role=status]")
    assert "Nothing was removed" in words(second, "[role=status]")


@pytest.mark.parametrize("at", range(len(DELETIONS)), ids=[one[1] for one in DELETIONS])
def test_a_deletion_that_is_sent_twice_is_not_found_and_says_what_may_have_been(service, at):
    furnish(service)
    browser, (page, path, confirmed) = Browser(service), DELETIONS[at]
    sent = token(browser, page) | {"confirm": confirmed}
    assert browser.post(path, sent, status=303).follow()
    assert "the first time has done it" in words(browser.post(path, sent, status=404))
    assert "the first time" not in words(browser.open(page, 404))
