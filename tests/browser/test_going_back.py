"""Back in the browser finds what was typed into a form, and what was done is not done again unasked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from chromium import Visitor, visit
from extent import sample
from form_catalogue import TYPED, TYPED_AGAIN, Typed, is_value
from playwright.sync_api import Browser, Error, Locator, Page
from sample_data import furnish, hand_out
from server import served
from service import MASTER_KEY, Service
from tokens import TestIssuer

TYPED_INTO = [at for at, form in TYPED.items() if form.back == TYPED_AGAIN]
#: Those that write; the others lead to a review.
WRITING = [at for at in TYPED_INTO if not at[1].endswith(("-review", "copy"))]
#: Pages that answer a form, by the form that leads there, and what it sent.
ANSWERS = {
    "text": ("text-review", "content"),
    "review": ("edit-apply", "value.API_KEY"),
    "import": ("import-apply", "content"),
    "copy": ("copy-apply", "keys"),
    "refusal": ("edit-review", "value.API_KEY"),
    "conflict": ("edit-back", "value.API_KEY"),
}
CLICK = "(one) => one.checked || one.click()"
#: Types something else into each control that one can see or open, or chooses it.
TYPE_ALL = """(form) => {
    // The editor adds rows meanwhile.
    for (const one of [...form.elements]) {
        if (!one.name || one.hidden || one.matches("button, fieldset, [type=hidden], [type=file]")) {
            continue;
        }
        if (one.type === "checkbox" || one.type === "radio") {
            one.checked = one.type === "radio" || !one.checked;
        } else if (one.matches("select")) {
            one.selectedIndex = one.options.length - 1;
        } else {
            one.value = one.type === "datetime-local" ? "2031-01-02T10:30" : `typed into ${one.name}`;
        }
        one.dispatchEvent(new Event("input", { bubbles: true }));
    }
}"""
#: What each control holds that one can see or open.
ALL_HELD = """(form) => [...form.elements].filter(
    (one) => one.name && !one.hidden && !one.matches("button, fieldset, [type=hidden], [type=file]"),
  ).map((one) => [one.name, ["checkbox", "radio"].includes(one.type) ? one.checked : one.value])"""
#: What the browser keeps for the page, or the whole site.
STORED = """JSON.stringify(
    [history.state, navigation.currentEntry.getState(), { ...sessionStorage }, { ...localStorage }])"""
SEND = "(form) => { form.noValidate = true; form.requestSubmit(); }"
#: What the controls of these names hold: what is typed, chosen or ticked.
HELD = """(form, names) => Object.fromEntries(names.map((name) => [name, [...form.elements].filter(
    (one) => one.name === name && (one.checked || !["checkbox", "radio"].includes(one.type)),
  ).map((one) => one.value)]))"""


def form_on(page: Page, form: Typed, ids: dict[str, str]) -> Locator:
    return page.locator(f"form[method=post][action='{form.action.format(**ids)}']").last


def type_into(page: Page, element: Locator, fields: dict[str, str]) -> dict[str, list[str]]:
    """Types what the form has a control for; what its controls hold then."""
    for name, text in fields.items():
        control = element.locator(f"[name='{name}']:not([type=hidden])")
        if not control.count():
            continue
        for closed in page.locator("details:not([open])", has=control).all():
            closed.evaluate("(one) => { one.open = true; }")
        if control.first.evaluate("(one) => ['checkbox', 'radio'].includes(one.type)"):
            element.locator(f"[name='{name}'][value='{text}']").evaluate(CLICK)
        elif control.evaluate("(one) => one.matches('select')"):
            control.select_option(text)
        else:
            # What is too long to be typed is what refuses some of them.
            control.evaluate("(one) => one.removeAttribute('maxlength')")
            control.fill(text)
    held: dict[str, list[str]] = element.evaluate(HELD, [*fields])
    assert any(texts for texts in held.values())
    return held


def send(page: Page, element: Locator) -> int:
    """Submits the form as its button would; the status of what answers."""
    with page.expect_navigation() as navigation:
        element.evaluate(SEND)
    answer = navigation.value
    assert answer is not None
    return answer.status


def opened(visitor: Visitor, path: str, *, scripts: bool) -> Page:
    page = visitor.page(path, java_script_enabled=scripts)
    page.on("dialog", lambda dialog: dialog.accept())
    return page


@pytest.fixture(scope="module")
def tab(request: pytest.FixtureRequest, tourist: Visitor) -> Page:
    """One tab for all of them, with scripts or without: a tab of its own takes as long as a form."""
    return opened(tourist, "/", scripts=request.param)


@pytest.mark.parametrize("tab", [True, False], ids=["with scripts", "without"], indirect=True)
@pytest.mark.long
@pytest.mark.parametrize("at", sample(TYPED_INTO, 15), ids=" ".join)
def test_back_finds_what_was_typed_after_a_link_was_followed_and_after_a_refusal(
    tourist: Visitor, tab: Page, at: tuple[str, str]
) -> None:
    form, page = TYPED[at], tab
    tourist.go(page, form.page)
    element = form_on(page, form, tourist.ids)
    typed = type_into(page, element, form.fields)
    with page.expect_navigation():
        page.locator(".brand").evaluate("(link) => link.click()")
    page.go_back()
    assert element.evaluate(HELD, [*form.fields]) == typed
    typed = type_into(page, element, form.fields | form.wrong)
    assert send(page, element) in (409, 413, 422)
    page.go_back()
    assert element.evaluate(HELD, [*form.fields]) == typed
    tourist.judge()


def written(service: Service) -> list[Any]:
    """What was done so far, without what was only read."""
    return [row["action"] for row in service.audit() if row["action"] != "secret.reveal"]


@pytest.mark.long
@pytest.mark.parametrize("at", sample(WRITING, 15), ids=" ".join)
def test_back_after_a_form_was_carried_out_does_not_lead_to_a_second_time(
    browser: Browser, make_service: Callable[..., Service], at: tuple[str, str]
) -> None:
    form, service = TYPED[at], make_service(MASTER_KEY=MASTER_KEY, SERVICE_TOKENS="on")
    ids = furnish(service)
    ids["made"] = hand_out(service, ids["robot"])
    before = written(service)
    with served(service.app) as port, visit(browser, service, port, **ids) as visitor:
        page = opened(visitor, form.page, scripts=False)
        element = form_on(page, form, ids)
        typed = type_into(page, element, form.fields)
        assert send(page, element) == 200
        done = written(service)
        assert len(done) > len(before)
        page.go_back()
        # Of what was deleted or renamed the page is gone.
        if element.count():
            assert element.evaluate(HELD, [*form.fields]) == typed
            send(page, element)
        assert written(service) == done


@pytest.mark.parametrize("over", [1_000, 200_000], ids=["a little", "far"])
def test_without_scripts_a_form_that_is_too_large_says_how_much_may_be_sent_and_back_brings_it(
    onlooker: Visitor, over: int
) -> None:
    form = TYPED["Environment", "import-review"]
    page = opened(onlooker, form.page, scripts=False)
    element = form_on(page, form, onlooker.ids)
    typed = type_into(page, element, form.fields | {"content": "FRESH=" + "x" * (1_048_576 + over)})
    assert send(page, element) == 413
    told = page.locator("main").inner_text().replace(",", "")
    assert "1048576 bytes" in told
    assert "Go back in your browser: what you typed is still there." in told
    page.go_back()
    assert element.evaluate(HELD, [*form.fields]) == typed


@pytest.mark.parametrize(
    ("instead", "status", "told"),
    [
        (None, 401, "Open the service in another tab to sign in again"),
        ("wendy@example.com", 403, "You are signed in as wendy@example.com."),
    ],
    ids=["nobody", "somebody else"],
)
def test_without_scripts_back_brings_the_form_that_was_sent_by_another_or_after_the_session(
    onlooker: Visitor, issuer: TestIssuer, instead: str | None, status: int, told: str
) -> None:
    form = TYPED["Project", "settings"]
    page = opened(onlooker, form.page, scripts=False)
    element = form_on(page, form, onlooker.ids)
    typed = type_into(page, element, form.fields)
    page.context.clear_cookies()
    if instead:
        token = {"value": issuer.sign(instead)}
        page.context.add_cookies([one | token for one in onlooker.cookies])
    onlooker.loaded.add(f"{onlooker.origin}{form.action.format(**onlooker.ids)}")
    assert send(page, element) == status
    answer = page.locator("main").inner_text()
    assert told in answer
    assert "Go back in your browser: what you typed is still there." in answer
    assert "reload" not in answer.lower()
    assert "for a grant" not in answer
    page.context.add_cookies(onlooker.cookies)
    page.go_back()
    assert element.evaluate(HELD, [*form.fields]) == typed
    onlooker.problems.clear()


@pytest.mark.parametrize("name", ANSWERS)
def test_back_to_what_answers_a_form_sends_that_again_if_the_browser_may(
    onlooker: Visitor, name: str
) -> None:
    form, field = ANSWERS[name]
    page = opened(onlooker, name, scripts=True)
    element = page.locator(f"form[action$='/{form}']")
    sent = element.evaluate(HELD, [field])
    page.goto("/whoami")
    with pytest.raises(Error, match="ERR_CACHE_MISS"):
        page.go_back()
    # The browser asks whether to send it again, and shows that it asks.
    page.wait_for_url("chrome-error://**")
    page.reload()
    assert element.evaluate(HELD, [field]) == sent
    assert sent[field][0]
    onlooker.problems.clear()


def leave_and_return(page: Page, element: Locator) -> None:
    """Types into all of a form that a form led to, follows a link, goes back, and has the form sent again.

    All but values is there again, and no value was ever stored.
    """
    drawn = dict(element.evaluate(ALL_HELD))
    element.evaluate(TYPE_ALL)
    typed = element.evaluate(ALL_HELD)
    stored = page.evaluate(STORED)
    with page.expect_navigation():
        page.locator(".brand").evaluate("(link) => link.click()")
    stored += page.evaluate(STORED)
    with pytest.raises(Error, match="ERR_CACHE_MISS"):
        page.go_back()
    page.wait_for_url("chrome-error://**")
    page.reload()
    found = element.evaluate(ALL_HELD)
    assert found == [[name, drawn.get(name, "") if is_value(name) else text] for name, text in typed]
    stored += page.evaluate(STORED)
    for name, text in [*typed, *element.evaluate("(form) => [...new FormData(form)]")]:
        kept = f'"{text}"' in stored or f'\\"{text}\\"' in stored
        assert not is_value(name) or not text or not kept, name


@pytest.mark.parametrize("name", ANSWERS)
def test_back_to_what_answers_a_form_finds_what_was_typed_but_no_value(onlooker: Visitor, name: str) -> None:
    page = opened(onlooker, name, scripts=True)
    leave_and_return(page, page.locator(f"form[action$='/{ANSWERS[name][0]}']"))
    onlooker.problems.clear()


@pytest.mark.parametrize("tab", [True], ids=["with scripts"], indirect=True)
@pytest.mark.long
@pytest.mark.parametrize("at", sample(TYPED_INTO, 15), ids=" ".join)
def test_back_to_a_refusal_finds_what_was_typed_but_no_value(
    tourist: Visitor, tab: Page, at: tuple[str, str]
) -> None:
    form, page = TYPED[at], tab
    tourist.go(page, form.page)
    element = form_on(page, form, tourist.ids)
    type_into(page, element, form.fields | form.wrong)
    assert send(page, element) in (409, 413, 422)
    leave_and_return(page, form_on(page, form, tourist.ids))
    tourist.problems.clear()


def test_another_page_after_the_same_one_finds_nothing_of_the_first(onlooker: Visitor) -> None:
    page = opened(onlooker, "copy", scripts=True)
    page.locator("#reason").fill("of the first")
    page.go_back()
    onlooker.go(page, "copy")
    assert page.locator("#reason").input_value() == ""
