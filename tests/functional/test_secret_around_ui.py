"""What the page of one secret shows around its value: versions compared, its like elsewhere, who reads it."""

from __future__ import annotations

import pytest
from pages import Browser, submit, words
from secrets_client import Vault, detail, overwrite, tamper, version_row
from statements import recorded

PROD = "/projects/shop/environments/prod"
PAGE = f"{PROD}/secrets/A"
HIDDEN = "s3cr3t-of-the-house"


@pytest.fixture
def browser(vault, service) -> Browser:
    vault.set(A=f"{HIDDEN}-1", B="two")
    return Browser(service)


@pytest.fixture
def dev(admin) -> Vault:
    return Vault(admin, "/projects/shop/environments/dev")


@pytest.fixture
def reader(browser, service) -> Browser:
    service.grant("rita@example.com", "reader", "shop/prod")
    return Browser(service, "rita@example.com")


def take_an_unknown_key(service, key):
    """As if the master key that sealed it were no longer loaded."""
    kid = bytes.fromhex("00" * 8)
    envelope = bytearray(version_row(service, key)["envelope"])
    envelope[1:9] = kid
    overwrite(service, key, kid=kid.hex(), envelope=bytes(envelope))


def compared(page):
    return words(page, "#cmp"), words(page, "#compare .help")


def listed(page, of):
    return [
        " ".join(item.get_text(" ").split()) for item in page.html.select(f"section[aria-labelledby={of}] li")
    ]


def test_a_value_is_shown_as_it_is(browser, vault):
    value = "\n<script>alert(1)</script> ${1+1}\r\n</textarea>&amp;"
    vault.set(B=value)
    page = browser.post(f"{PROD}/secrets/B/reveal", {"csrf": token(browser)})
    # A browser takes the first line feed of a text area for none.
    assert page.html.find("textarea", class_="shown").text[1:] == value


def token(browser):
    return browser.open(PAGE).html.find("input", {"name": "csrf"})["value"]


def test_the_two_newest_versions_are_compared_without_their_values(browser, vault, service):
    assert browser.open(PAGE).html.find(id="compare") is None
    vault.set(A=f"{HIDDEN}-2")
    page = browser.open(PAGE)
    assert compared(page) == ("Version 1 and version 2", "They differ.")
    vault.rollback("A", 1)
    page = browser.open(PAGE)
    assert compared(page) == ("Version 2 and version 3", "They differ. Versions 1 and 3 hold the same value.")
    page = page.click("Compare", href="left=1#")
    assert compared(page) == (
        "Version 1 and version 3",
        "They are the same. Versions 1 and 3 hold the same value.",
    )
    assert HIDDEN not in page.text
    assert service.audit("secret.reveal") == []


def test_any_two_versions_are_compared_by_their_address(browser, vault):
    for number in range(2, 6):
        vault.set(A=f"{HIDDEN}-{number % 3}")
    assert compared(browser.open(f"{PAGE}?left=2&right=5"))[1] == "They are the same."
    assert compared(browser.open(f"{PAGE}?left=5&right=1"))[0] == "Version 1 and version 5"
    vault.batch(delete=["A"])
    assert compared(browser.open(PAGE))[0] == "Version 4 and version 5"
    for query in ("left=6", "left=7", "left=1&right=9"):
        browser.open(f"{PAGE}?{query}", 404)
    browser.open(f"{PAGE}?left=x", 422)


def test_versions_that_cannot_be_read_are_not_compared(browser, vault, service):
    vault.set(A=f"{HIDDEN}-2")
    tamper(service, "A", version=1)
    assert "cannot be compared" in compared(browser.open(PAGE))[1]


def test_two_versions_are_revealed_with_what_differs_marked_and_one_record_each(browser, vault, service):
    vault.set(A=f"{HIDDEN}-2")
    page = submit_both(browser.open(PAGE))
    assert [one.text for one in page.html.select(".vals small")] == ["Version 1", "Version 2"]
    assert [one.text.strip() for one in page.html.select(".vals pre")] == [f"{HIDDEN}-1", f"{HIDDEN}-2"]
    assert (page.html.find("del").text, page.html.find("ins").text) == ("1", "2")
    assert page.headers["Refresh"] == f"30;url={PAGE}"
    assert page.html.main.find("form") is None
    assert "no-store" in page.headers["Cache-Control"]
    read = [(row["reason"], detail(row)) for row in service.audit("secret.reveal")]
    assert read == [("reveal", {"key": "A", "version": 1}), ("reveal", {"key": "A", "version": 2})]


def submit_both(page):
    form = next(one for one in page.forms.values() if "left" in one.fields)
    return form.submit()


def test_an_older_version_is_revealed_and_recorded_also_of_a_deleted_key(browser, vault, service):
    vault.batch(delete=["A"])
    page = browser.open(PAGE)
    form = next(one for one in page.forms.values() if "version" in one.fields)
    shown = form.submit("version", value="1")
    assert shown.html.find("textarea").text.strip() == f"{HIDDEN}-1"
    assert [detail(row) for row in service.audit("secret.reveal")] == [{"key": "A", "version": 1}]


def test_a_revealed_value_has_a_page_without_a_form_that_its_refresh_could_drop(browser):
    page = submit(browser.open(PAGE), "A/reveal", 200)
    assert page.headers["Refresh"] == f"30;url={PAGE}"
    assert page.html.find("textarea", {"aria-label": "The value of A"}).text.strip() == f"{HIDDEN}-1"
    assert page.html.main.find("form") is None
    # The page that it was asked from stays, with what is typed there.
    assert browser.open(PAGE).html.find("form", action=f"{PAGE}/reveal")["target"] == "_blank"


def test_a_value_that_cannot_be_read_has_its_cause_and_its_cure(browser, service):
    take_an_unknown_key(service, "A")
    page = browser.open(PAGE)
    assert "its master key is not loaded" in words(page, ".note.bad")
    tamper(service, "B")
    page = browser.open(f"{PROD}/secrets/B")
    assert "it was damaged or moved" in words(page, ".note.bad")
    assert "Roll back to an older version" in words(page, ".note.bad")
    assert not [form for form in page.forms.values() if form.action.endswith("/reveal")]


def test_the_same_key_elsewhere_is_told_with_a_sign(browser, vault, dev, admin, service):
    assert listed(browser.open(PAGE), "els") == ["Dev missing: add it"]
    dev.set(A="other")
    assert listed(browser.open(PAGE), "els") == ["Dev differs v1"]
    dev.set(A=f"{HIDDEN}-1")
    page = browser.open(PAGE)
    assert listed(page, "els") == ["Dev same value v2"]
    assert page.html.select_one("section[aria-labelledby=els] a")["href"].endswith("/dev/secrets/A")
    dev.set(ONLY="x")
    vault.batch(delete=["A"])
    assert listed(browser.open(PAGE), "els") == ["Dev set v2"]
    tamper(service, "ONLY")
    vault.set(ONLY="x")
    assert "cannot be read" in listed(browser.open(f"{PROD}/secrets/ONLY"), "els")[0]
    assert service.audit("secret.reveal") == service.audit("secret.export") == []


@pytest.mark.both_engines
def test_an_environment_that_the_caller_does_not_read_is_not_told_of(reader, dev, service):
    dev.set(A="x")
    assert "Dev" not in words(reader.open(PAGE))
    service.grant("rita@example.com", "reader", "shop/dev")
    assert listed(reader.open(PAGE), "els") == ["Dev differs v1"]


def test_who_can_read_it_is_told_to_administrators_alone(browser, reader, service):
    crew = service.group("crew", "wendy@example.com")
    service.user().patch(f"/groups/{crew}", {"name": "The crew"})
    service.grant(crew, "writer", "shop", group=True)
    assert listed(browser.open(PAGE), "rd") == [
        "R root@example.com everywhere, directly admin",
        "W wendy@example.com Shop, through The crew writer",
        "R rita@example.com here, directly reader",
    ]
    page = reader.open(PAGE)
    assert "wendy" not in page.text
    assert "An administrator of Prod sees it here." in words(page)
    assert page.html.find(id="seen") is None


def test_who_was_given_the_value_lately_is_told_by_person_and_kind(browser, vault, dev, reader, service):
    assert "Nobody was given the value." in words(browser.open(PAGE))
    rita = Vault(service.user("rita@example.com"))
    for reason in ("reveal", "reveal", "copy"):
        rita.get(f"secrets/A?reason={reason}")
    rita.get("secrets:export?reason=run")
    rita.get("secrets/B")
    dev.post("copy", {"from": {"project": "shop", "environment": "prod"}, "keys": ["A"]})
    told = [one.replace(" just now", "") for one in listed(browser.open(PAGE), "seen")]
    assert sorted(told) == [
        "rita@example.com copied it",
        "rita@example.com exported it",
        "rita@example.com revealed it · 2 times this week",
        "root@example.com copied it to another environment",
    ]


@pytest.mark.slow
@pytest.mark.both_engines
@pytest.mark.parametrize("count", [1, 300])
def test_the_page_takes_seven_statements_for_many_versions_as_for_one(
    make_service, service, vault, dev, count
):
    quiet = service.restarted(LAST_SEEN_RESOLUTION="3600000")
    vault.batch(set={f"K{number}": "x" for number in range(count)})
    dev.set(K0="x")
    for number in range(min(count, 60)):
        vault.set(K0=str(number))
    service.grant("rita@example.com", "reader", "shop/prod")
    for subject, most in (("root@example.com", 7), ("rita@example.com", 5)):
        browser = Browser(quiet, subject)
        browser.open(f"{PROD}/secrets/K0")
        for query in ("", "?left=1", "?rollback=1"):
            with recorded(quiet.engine) as statements:
                browser.open(f"{PROD}/secrets/K0{query}")
            assert len(statements) <= most, statements
