"""Whatever people and their clients name things, a page shows it as text.

Two services are filled alike, one with hostile text and one with tame, and every page that can be reached
is opened in both: the hostile one has the same elements with the same attributes in the same order.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterator
from urllib.parse import parse_qsl, urlsplit

import pytest
from databases import one_engine
from pages import Sweeper, SweptPage, form_token
from sample_data import PATHS, SENT, Sent
from secrets_client import Vault
from service import Service, arrange
from webtest import Form
from webtest.forms import Field, Text, Textarea

VALUE = "a-value-that-stays-where-it-is"
MARKUP = """<b>&"'${1+1}</b><script>alert(1)</script>&lt;i&gt;</textarea><img src=x onerror=alert(1)>"""
ADDRESS = "javascript:alert(1)//"
BIDI = "\u202egnp.exe\u2066\u200f"
#: What a subject may hold of these: no spaces, nothing unseen.
SUBJECT = """<b>&"'${1+1}</b><script>alert(1)</script><img/src=x/onerror=alert(1)>"""

UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}")
ADDRESSES = ("href", "src", "action", "formaction")


def hostile(number: int) -> str:
    # The number first, so that lists of names have one order in both services.
    return f"{number:02}{MARKUP}{BIDI} {ADDRESS}"


def tame(number: int) -> str:
    return f"{number:02}tame, and no slug".ljust(len(hostile(number)), ".")


def plant(service: Service, text: Callable[[int], str], subject: str) -> Sweeper:
    """A service in which everything that can be named is named so."""
    admin = arrange(service, "shop", "prod", "dev")
    admin.patch("/projects/shop", {"name": text(0), "description": text(1)})
    named = {"slug": "named", "name": text(2), "description": text(3)}
    admin.post("/projects/shop/environments", named, 201)
    # An e-mail address may not hold as much as a common name.
    mail = f"{'a' + subject}@example.com"
    writer, robot = service.user(mail), service.robot(f"b{subject}{ADDRESS}")
    ids = [client.get("/whoami").json["identity"]["id"] for client in (writer, robot)]
    # A name that turns the direction of text is not shown at all (tests/functional/test_named_people.py).
    name = "".join(char for char in text(4) if char.isprintable())
    service.execute("UPDATE identity SET display_name = :name", {"name": name})
    group = admin.post("/groups", {"slug": "crew", "name": text(5), "description": text(6)}, 201).json["id"]
    for id_ in ids:
        admin.post(f"/groups/{group}/members", {"identity_id": id_}, "*")
        grant = {
            "identity_id": id_,
            "role": "writer",
            "scope_type": "global",
            "expires_at": 4_102_444_800_000,
        }
        admin.post("/grants", grant, 201)
    terms = {"role": "reader", "scope_type": "environment", "project": "shop", "environment": "named"}
    admin.post(f"/groups/{group}/grants", terms, 201)
    for client in (writer, robot):
        vault = Vault(client, "/projects/shop/environments/named")
        vault.batch(set={"API_KEY": VALUE}, descriptions={"API_KEY": text(7)}, reason=text(8))
        vault.get("secrets/API_KEY?reason=reveal")
    vault.batch(set={"GONE": VALUE, "BROKEN": VALUE})
    vault.batch(delete=["GONE"], reason=text(9))
    service.robot(f"c{subject}").get("/projects/shop", 404)
    return Sweeper(service)


@pytest.fixture
def browsers(databases, issuer) -> Iterator[tuple[Sweeper, Sweeper]]:
    urls = [databases.create(), databases.create()]
    services = [Service(url, issuer) for url in urls]
    yield plant(services[0], hostile, SUBJECT), plant(services[1], tame, "subject")
    for service, url in zip(services, urls, strict=True):
        service.close()
        databases.drop(url)


def skeleton(page: SweptPage) -> list[tuple[str, list[str]]]:
    """The page's elements with the names of their attributes."""
    return [(name, sorted(attributes)) for name, attributes in page.outline.elements]


def judge(page: SweptPage, twin: SweptPage) -> None:
    assert page.status == twin.status
    assert skeleton(page) == skeleton(twin)
    assert VALUE not in page.text
    assert page.outline.inline == ""
    for name, attributes in page.outline.elements:
        assert name != "style"
        assert name != "script" or attributes["src"]
        assert not [one for one in attributes if one == "style" or one.startswith("on")]
        # Where the page leads, loads from and sends to.
        for address in (attributes[one] for one in ADDRESSES if one in attributes):
            assert re.match("/(?!/)|#|$", address), address


def shape(address: str) -> tuple[str, tuple[str, ...]]:
    """What makes an address another page, and not the same of another row."""
    url = urlsplit(address)
    return UUID.sub("id", url.path), tuple(sorted({name for name, _ in parse_qsl(url.query)}))


def says_no_more(address: str) -> bool:
    """Whether it combines filters of the log of which every two are together on another page."""
    path, names = shape(address)
    return path.startswith("/audit") and len(names) > 2


def crawl(browsers: tuple[Sweeper, Sweeper]) -> Iterator[tuple[SweptPage, SweptPage]]:
    """Every page of both services that links and some forms lead to, side by side."""
    waiting = deque((path, path) for path in PATHS if "{" not in path)
    seen = set()
    while waiting:
        pair = waiting.popleft()
        if shape(pair[0]) in seen:
            continue
        seen.add(shape(pair[0]))
        page, twin = (browser.get(path, status="*") for browser, path in zip(browsers, pair, strict=True))
        if page.content_type != "text/html":
            continue
        yield page, twin
        links = [
            [at["href"] for name, at in answer.outline.elements if name == "a" and "href" in at]
            for answer in (page, twin)
        ]
        waiting += [
            (mine.partition("#")[0], other.partition("#")[0])
            for mine, other in zip(*links, strict=True)
            if mine.startswith("/") and not mine.startswith("/api/") and not says_no_more(mine)
        ]
    for form in SENT.values():
        if "{" not in form.page:
            page, twin = (sent(browser, form) for browser in browsers)
            yield page, twin


def sent(browser: Sweeper, form: Sent) -> SweptPage:
    """What a form leads to."""
    token = {"csrf": form_token(browser.get(form.page).text)}
    return browser.post(form.action, form.fields | token, status="*")


def text_fields(form: Form) -> list[Field]:
    """What can be typed into."""
    fields = [field for named in form.fields.values() for field in named]
    return [field for field in fields if isinstance(field, Text | Textarea)]


@pytest.mark.slow
@pytest.mark.long
@one_engine()
def test_hostile_text_adds_nothing_to_any_page_nor_to_what_comes_of_its_forms(browsers):
    visited = list(crawl(browsers))
    assert len(visited) > 20
    shown, sent = "", 0
    for page, twin in visited:
        judge(page, twin)
        attributes = [one for _, element in page.outline.elements for one in element.values()]
        shown += " ".join([page.outline.text, *attributes])
    # The names and descriptions of a project, an environment and a secret; subjects of both kinds.
    texts = [hostile(number) for number in (0, 1, 2, 3, 7)]
    texts += [f"a{SUBJECT}@example.com", f"b{SUBJECT}{ADDRESS}"]
    assert [one for one in texts if one not in shown] == []
    for page, twin in visited:
        for form, other in zip(page.forms.values(), twin.forms.values(), strict=True):
            for field, its_twin in zip(text_fields(form), text_fields(other), strict=True):
                field.value, its_twin.value = hostile(0), tame(0)
            if text_fields(form):
                judge(form.submit(status="*"), other.submit(status="*"))
                sent += 1
    assert sent > 10
