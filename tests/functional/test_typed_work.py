"""What was typed into any form is in the answer, whatever becomes of the form (without scripts)."""

from __future__ import annotations

import re
from types import SimpleNamespace

import pytest
from databases import one_engine
from form_catalogue import BUTTONS, TYPED, held
from pages import Browser, words
from sample_data import PATHS, SENT, SHOP, furnish, hand_out
from service import ADMIN, MASTER_KEY

from secretsvc.kernel.clock import now_ms
from secretsvc.web.forms import DAY_MS, form_token

pytestmark = [pytest.mark.long, one_engine()]

EVERY = pytest.mark.parametrize("at", TYPED, ids=" ".join)
#: A name of the API's, which nobody sees on a page.
INTERNAL = re.compile(r"[_.`]|[Ss]lug|[Ss]ubject|[Cc]onfirm|[Hh]older")
LARGE = [at for at, form in TYPED.items() if form.large]
#: Forms that make or name something, and what is there already.
TAKEN = {
    ("Projects", ""): {"slug": "shop"},
    ("Environments", ""): {"slug": "dev"},
    ("Groups", ""): {"slug": "crew"},
    ("Identities", ""): {"subject": "wendy@example.com"},
    ("Secret", "rename"): {"to": "BROKEN"},
}
STATEFUL = [at for at, form in TYPED.items() if form.theirs]


class Desk:
    """An administrator's browser before a form, and what its addresses name."""

    def __init__(self, service, at):
        self.service, self.form = service, TYPED[at]
        self.admin, self.browser = service.user(), Browser(service)
        self.ids = furnish(service)
        self.ids["made"] = hand_out(service, self.ids["robot"])
        self.ids["rev"] = str(self.admin.get(f"{SHOP}/environments/prod").json["rev"])
        self.page = self.browser.open(self.named(self.form.page))

    def named(self, text):
        return text.format(**self.ids)

    def fields(self, **instead):
        """All that the form sends: what its page hides in it, and what is typed."""
        action = self.named(self.form.action)
        element = self.page.html.find("form", action=action, method="post")
        hidden = element.select("input[type=hidden][name]") if element else []
        token = self.page.html.find("input", {"name": "csrf"})
        # The forms of a review are sent to addresses of their own, from the page's revision on.
        rev = self.page.html.find("input", {"name": "rev"}) if element is None else None
        drawn = {one["name"]: one["value"] for one in [token, *hidden, *filter(None, [rev])]}
        return drawn | {name: self.named(text) for name, text in self.form.fields.items()} | instead

    def send(self, fields):
        return self.browser.post(self.named(self.form.action), fields, status="*")


@pytest.fixture
def desk(make_service, at):
    return Desk(make_service(MASTER_KEY=MASTER_KEY, SERVICE_TOKENS="on"), at)


def typed_in(form, fields):
    return {name: fields[name] for name in form.fields if name not in ("rev", "from_rev")}


def missing(page, wanted):
    """What is not in the controls of a page."""
    found = held(page)
    return {name: text for name, text in wanted.items() if text not in found.get(name, set())}


def test_every_form_is_in_the_table(make_service):
    service = make_service(MASTER_KEY=MASTER_KEY, SERVICE_TOKENS="on")
    views = (one["introspectable"] for one in service.app.registry.introspector.get_category("views"))
    pages = ((view, view.get("page")) for view in views)
    forms = {
        (view["context"].__name__, view["name"]) for view, page in pages if page and page.method == "POST"
    }
    assert forms == {*TYPED} | BUTTONS
    assert not {*TYPED} & BUTTONS


@EVERY
def test_a_refusal_keeps_what_was_typed(desk, at):
    fields = desk.fields(**desk.form.wrong)
    page = desk.send(fields)
    assert page.status_int in ((200,) if at[1].endswith("-back") else (409, 413, 422))
    assert missing(page, typed_in(desk.form, fields)) == {}


def check_leads_to(page, wrong):
    """Each problem is called by the label of its field and leads there; the first has the focus."""
    alert = page.html.find(role="alert")
    links = alert.select("li a")
    assert len(links) == len(alert.select("li")) > 0
    assert page.html.select_one("[autofocus]") is links[0]
    for link in links:
        field = page.html.find(id=link["href"].removeprefix("#"))
        assert field.get("aria-invalid") == "true", link
        assert field["name"] in {*wrong, "until"}
        called, _, rule = link.text.partition(": ")
        known = labels_of(page, field) | {"New secret, row 1", "FRESH"}
        assert called in known or called.startswith("Line "), link
        assert not INTERNAL.search(called), link
        assert rule.endswith("."), link


@EVERY
def test_a_problem_is_called_by_the_label_of_its_field_and_leads_to_it(desk, at):
    page = desk.send(desk.fields(**desk.form.wrong))
    if page.status_int == 200:
        assert page.html.find(role="alert") is None, "the way back to a form judges nothing"
    else:
        check_leads_to(page, desk.form.wrong)


@pytest.mark.parametrize("at", TAKEN, ids=" ".join)
def test_what_is_there_already_is_told_at_its_field(desk, at):
    page = desk.send(desk.fields(**TAKEN[at]))
    assert page.status_int == 409
    check_leads_to(page, TAKEN[at])


def labels_of(page, field):
    """What a field is called: by its label, or by what a label says at its end, as "Type the address"."""
    label, group = page.html.find("label", {"for": field["id"]}), field.find_parent("fieldset")
    parts = [label, field.find_parent("label"), group and group.legend]
    whole = {" ".join(one.get_text(" ").split()) for one in parts if one}
    return whole | {word.capitalize() for one in whole for word in one.split()}


@pytest.mark.parametrize("at", LARGE, ids=" ".join)
def test_what_is_too_large_is_refused_and_kept(desk, at):
    fields = desk.fields(**desk.form.large)
    page = desk.send(fields)
    assert missing(page, typed_in(desk.form, fields)) == {}
    if at[1].endswith("-back"):
        assert page.status_int == 200
    else:
        assert page.status_int == 413
        check_leads_to(page, desk.form.large)


@EVERY
def test_no_other_field_may_be_so_long(desk, at):
    element = desk.page.html.find("form", action=desk.named(desk.form.action), method="post")
    for one in element.select("input, textarea") if element and not desk.form.large else ():
        if one.get("type", "text") in ("text", "email"):
            assert int(one["maxlength"]) <= 8_192, one


@pytest.mark.parametrize("at", STATEFUL, ids=" ".join)
def test_what_others_changed_meanwhile_is_told_and_what_was_typed_is_kept(desk, at):
    fields = desk.fields()
    method, path, body = desk.form.theirs
    desk.admin.request(method, desk.named(path), body, status=200)
    page = desk.send(fields)
    if "rev" in fields or "seen" in fields:
        assert page.status_int in ((200,) if at[1].endswith("-back") else (412,))
    assert missing(page, typed_in(desk.form, fields)) == {}


@EVERY
def test_a_page_that_was_open_for_too_long_keeps_what_was_typed_and_does_nothing(desk, at):
    fields, before = desk.fields(), len(desk.service.audit())
    page = desk.send(fields | {"csrf": token_of(desk.service, days=3)})
    assert page.status_int == 403
    assert "open for longer than two days" in words(page, "[role=alert]")
    assert missing(page, typed_in(desk.form, fields)) == {}
    assert len(desk.service.audit()) == before
    assert page.html.find("input", {"name": "csrf"})["value"] == fields["csrf"]
    assert desk.send(fields).status_int in (200, 303, 307)


def token_of(service, days):
    """The token that the administrator's forms had some days ago."""
    ring, admin = service.app.registry.load_ring(), SimpleNamespace(kind="user", subject=ADMIN)
    return form_token(ring, admin, now_ms() - days * DAY_MS)


@pytest.mark.parametrize(
    ("days", "words_of_it"), [(1, "Saved."), (30, "open for longer"), (31, "or not yours")]
)
def test_a_page_is_known_for_a_month(service, admin, days, words_of_it):
    fields = {"csrf": token_of(service, days), "name": "Typed"}
    page = Browser(service).post(f"{SHOP}/settings", fields, status="*").maybe_follow()
    assert words_of_it in words(page)
    assert (admin.get(SHOP).json["name"] == "Typed") == (words_of_it == "Saved.")


@pytest.mark.slow
@pytest.mark.parametrize("name", [None, *(name for name in SENT if name != "token")])
def test_a_form_that_may_be_too_large_tells_the_scripts_how_large(organisation, name):
    browser, paths = organisation
    sent = SENT.get(name)
    pages = [browser.open(path, "*") for path in paths] if sent is None else [sending(browser, sent)]
    for form in (form for page in pages for form in page.html.select("form[method=post]")):
        free = form.select("textarea:not([maxlength]):not([readonly]), input[type=file]")
        assert not free or (form["data-limit"] == "1048576" and form.has_attr("data-guard")), form["action"]


@pytest.fixture
def organisation(make_service):
    service = make_service(MASTER_KEY=MASTER_KEY, SERVICE_TOKENS="on")
    ids = furnish(service)
    ids["made"] = hand_out(service, ids["robot"])
    return Browser(service), [path.format(**ids) for path in PATHS]


def sending(browser, sent):
    token = browser.open("/projects?new").html.find("input", {"name": "csrf"})["value"]
    return browser.post(sent.action, {"csrf": token, **sent.fields}, status="*")


@EVERY
def test_a_form_that_is_sent_twice_leads_on_or_keeps_what_was_typed(desk, at):
    fields = desk.fields()
    first, second = desk.send(fields), desk.send(fields)
    assert first.status_int in (200, 303, 307), words(first)
    if second.status_int in (200, 303, 307):
        assert (first.status_int == 303) == (second.status_int == 303)
    elif second.status_int == 404:
        assert "the first time has done it" in words(second)
    else:
        assert missing(second, typed_in(desk.form, fields)) == {}
