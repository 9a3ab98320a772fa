"""What was typed into a form stays: not left without a question, nor lost with a session, nor sent twice."""

from __future__ import annotations

import pytest
from chromium import Visitor
from form_catalogue import TYPED, Typed
from playwright.sync_api import Locator, Page, Route, expect

#: Fields that are typed into, in the order of the table; all else is chosen.
FIELDS = "input:not([type]), input[type=text], input[type=email], input[type=datetime-local], textarea"
#: Whether the page asks before it is left.
ASKS = """() => {
  const event = new Event("beforeunload", { cancelable: true });
  window.dispatchEvent(event);
  return event.defaultPrevented;
}"""
#: How often the form would have been sent, as far as the page's scripts go, by two clicks.
CLICKED_TWICE = """(form) => {
  let sent = 0;
  const count = (event) => {
    sent += event.defaultPrevented ? 0 : 1;
    event.preventDefault();
  };
  window.addEventListener("submit", count);
  form.noValidate = true;
  form.requestSubmit();
  form.requestSubmit();
  window.removeEventListener("submit", count);
  return sent;
}"""
#: Pages of forms whose fields stand on another page, which a form leads to.
STEPS = ("-apply", "-back", "-reveal")
FIRST = [at for at in TYPED if not at[1].endswith(STEPS) and at != ("Project", "copy")]
FIRST.append(("Environment", "copy-apply"))
#: Pages that have the fields once a form has led there.
LOADED = {("Environment", "text-review"): "text", ("Environment", "copy-apply"): "copy"}
#: What is typed by whoever deletes is the address alone, which stands beside it.
CONFIRMED = ("delete",)


def fill(visitor: Visitor, page: Page, form: Typed) -> tuple[Locator, Locator, str]:
    """The form, the first field of it that is typed into, and what is in it now."""
    action = form.action.format(**visitor.ids)
    element = page.locator(f"form[method=post][action='{action}']").last
    for name, text in form.fields.items():
        field = element.locator(f"[name='{name}']").first
        if field.count() and field.evaluate("(one, kinds) => one.matches(kinds)", FIELDS):
            for closed in page.locator("details:not([open])", has=field).all():
                closed.evaluate("(one) => { one.open = true; }")
            field.fill(text)
            return element, field, text
    raise AssertionError("nothing can be typed into it")


@pytest.mark.parametrize("at", FIRST, ids=" ".join)
def test_what_is_typed_is_not_lost_by_leaving_by_an_ended_session_or_by_two_clicks(
    onlooker: Visitor, at: tuple[str, str]
) -> None:
    def end(route: Route) -> None:
        if route.request.method == "POST":
            route.fulfill(status=302, headers={"Location": "https://login.example/"})
        else:
            route.continue_()

    form = TYPED[at]
    page = onlooker.page(LOADED.get(at, form.page))
    page.wait_for_load_state("networkidle")
    element, field, text = fill(onlooker, page, form)
    assert page.evaluate(ASKS) or at[1] in CONFIRMED
    page.route("**/*", end)
    element.evaluate("(form) => { form.noValidate = true; form.requestSubmit(); }")
    expect(page.get_by_role("alert").filter(has_text="Your session may have ended")).to_be_visible()
    expect(field).to_have_value(text)
    page.unroute("**/*")
    assert page.evaluate(ASKS) or at[1] in CONFIRMED
    assert element.evaluate(CLICKED_TWICE) == 1
    onlooker.problems.clear()


@pytest.mark.parametrize(
    ("name", "label"),
    [("review", None), ("conflict", None), ("import", None), ("text", "Every key and value"),
     ("refusal", "Value of API_KEY"), ("copy", "Reason")],
)  # fmt: skip
def test_a_page_that_answers_a_form_asks_before_what_it_carries_or_was_typed_is_lost(
    onlooker: Visitor, name: str, label: str | None
) -> None:
    page = onlooker.page(name)
    page.wait_for_load_state("networkidle")
    if label:
        page.get_by_label(label).fill("TYPED=1")
    assert page.evaluate(ASKS)
    onlooker.problems.clear()


@pytest.mark.parametrize("name", ["text", "conflict"])
def test_a_page_that_answers_a_form_is_discarded_without_a_question(onlooker: Visitor, name: str) -> None:
    asked: list[str] = []
    page = onlooker.page(name)
    page.on("dialog", lambda dialog: (asked.append(dialog.type), dialog.accept()))
    for field in page.get_by_label("Every key and value").all():
        field.fill("TYPED=1")
    page.get_by_role("link", name="Discard").click()
    expect(page.locator("#edits")).to_be_visible()
    assert asked == []
    onlooker.problems.clear()
