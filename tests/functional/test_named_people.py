"""Wherever a page names an identity, its subject stands right behind its display name (contract 17.1).

One identity with a display name does, holds and is given everything. Every page that links and forms lead to
is read: one that forgets the subject fails here, also one that is new.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import parse_qsl, urlsplit

import pytest
from html_outline import Outline
from pages import Browser, declared, form_token
from sample_data import DEV, PATHS, PROD, SENT, SHOP, Sent, furnish, hand_out
from secrets_client import Vault
from service import Service

from secretsvc.kernel.clock import now_ms

pytestmark = pytest.mark.both_engines

NAME, SUBJECT = "Chief Administrator", "mallory@example.com"
#: The same for a machine.
ROBOT_NAME, ROBOT = "Head Machine", "ci.access"
PEOPLE = {NAME: SUBJECT, ROBOT_NAME: ROBOT}
#: At most so many characters stand between a name and its subject: a bracket, or a word about its state.
BETWEEN = 12
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}")
#: Pages that name people, by the shape of their path, in a service where one of them did everything.
NAMING = {
    "/", "/search", "/audit", "/identities", "/identities/id", "/identities/id/exposure",
    "/identities/id/tokens", "/groups/id", "/grants", "/grants/id", "/whoami", SHOP, f"{SHOP}/access",
    PROD, f"{PROD}/access", f"{PROD}/secrets/API_KEY", f"{PROD}/secrets/GONE", f"{PROD}/history",
    f"{PROD}/deleted", f"{PROD}/edit-apply", f"{PROD}/copy-apply",
    "/identities/id/give", "/groups/id/give",
}  # fmt: skip


class Mention(NamedTuple):
    """A text of a page: what is read, or an attribute of an element."""

    where: str
    text: str


def texts(page: Outline) -> Iterator[Mention]:
    for element, attributes in page.elements:
        # The field in which the name itself is changed.
        if attributes.get("id") != "display_name":
            yield from (Mention(f"{element}[{name}]", one) for name, one in attributes.items())
    yield Mention("text", " ".join(page.text.split()))


def mentions(page: Outline) -> Iterator[tuple[bool, str]]:
    """Each mention of a display name: whether its subject stands behind it, and what stands around it."""
    for where, text in texts(page):
        for name, subject in PEOPLE.items():
            for at in re.finditer(name, text):
                named = re.match(f".{{0,{BETWEEN}}}?{re.escape(subject)}", text[at.end() :], re.DOTALL)
                yield named is not None, f"{where}: {text[max(0, at.start() - 60) : at.end() + 60]}"


@pytest.fixture
def filled(make_service) -> tuple[Service, dict[str, str]]:
    """A service in which both identities have done and hold everything, with the ids in `PATHS`."""
    service = make_service(SERVICE_TOKENS="on")
    ids = furnish(service)
    admin, mallory = service.user(), service.user(SUBJECT)
    names = {service.identity_id(SUBJECT): NAME, ids["robot"]: ROBOT_NAME}
    service.grant(SUBJECT, "admin")
    service.grant(service.identity_id(SUBJECT), "writer", "shop/prod", expires_at=now_ms() + 86_400_000)
    service.grant(
        service.identity_id(ROBOT, "service"), "writer", "shop/prod", expires_at=now_ms() + 86_400_000
    )
    ids["mallory"] = str(service.identity_id(SUBJECT))
    ids["made"] = hand_out(service, ids["robot"])
    for one, name in names.items():
        admin.patch(f"/identities/{one}", {"display_name": name})
        mallory.post(f"/groups/{ids['crew']}/members", {"identity_id": str(one)}, 201)
    for base in (PROD, DEV):
        work(Vault(mallory, base))
    work(Vault(service.robot(ROBOT), PROD))
    given = {"scope_type": "environment", "project": "shop", "environment": "prod", "role": "reader"}
    rita = str(service.identity_id("rita@example.com"))
    mallory.post("/grants", {**given, "environment": "dev", "identity_id": rita}, 201)
    mallory.post(f"/groups/{ids['crew']}/grants", given, 201)
    ids["given"] = mallory.post("/grants", {**given, "identity_id": ids["mallory"]}, 201).json["id"]
    mallory.patch(f"/identities/{rita}", {"disabled": True})
    mallory.patch(f"/identities/{rita}", {"disabled": False})
    work(Vault(mallory))
    return service, ids


def work(vault: Vault) -> None:
    """Writes, reads, deletes and brings back."""
    vault.batch(set={"API_KEY": f"by {vault.base}", "GONE": "again", "OTHER": "x"}, reason="Work")
    vault.get("secrets/API_KEY?reason=reveal")
    vault.get("secrets:export", "*")
    vault.batch(delete=["GONE"], reason="Not needed")


def shape(address: str) -> tuple[str, frozenset[str]]:
    """What makes an address another page, and not the same of another row."""
    url = urlsplit(address)
    return UUID.sub("id", url.path), frozenset(
        name for name, _ in parse_qsl(url.query, keep_blank_values=True)
    )


def crawl(browser: Browser, paths: list[str]) -> Iterator[tuple[str, Outline]]:
    """Each page that paths and the links of their pages lead to, filters that combine others aside."""
    waiting, seen = deque(paths), set()
    while waiting:
        path = waiting.popleft()
        if shape(path) in seen or (path not in paths and len(shape(path)[1]) > 1):
            continue
        seen.add(shape(path))
        answer = browser.get(path, status="*")
        if answer.content_type == "text/html":
            page = Outline(answer.text)
            yield path, page
            links = (at["href"].partition("#")[0] for tag, at in page.elements if tag == "a" and "href" in at)
            waiting += [one for one in links if one.startswith("/") and not one.startswith("/api/")]


def forms(ids: dict[str, str]) -> Iterator[Sent]:
    """What is answered by a page: reviews, and what is refused because of somebody."""
    twin = {"role": "reader", "scope": "shop/prod", "until": "", "expires_at": ""}
    yield from SENT.values()
    for path in (f"/identities/{ids['mallory']}", f"/groups/{ids['crew']}"):
        yield Sent(f"{path}?grant", f"{path}/give", twin)
    for path in (f"{SHOP}/access", "/grants"):
        action = f"{path}?grant" if path == "/grants" else path
        yield Sent(f"{path}?grant", action, twin | {"holder": SUBJECT})
    change = {"role": "writer", "until": "", "expires_at": "", "drawn.role": "reader", "drawn.expires_at": ""}
    yield Sent(f"/grants/{ids['given']}", f"/grants/{ids['given']}", change)
    late = {
        "from": "dev",
        "existing": "overwrite",
        "keys": "API_KEY",
        "rev": "1",
        "from_rev": "1",
        "reason": "x",
    }
    yield Sent(SHOP, f"{PROD}/copy-apply", late)


def every_declared(service: Service, ids: dict[str, str]) -> Iterator[str]:
    """The path of each page of the application, so that one that no link leads to is read too."""
    names = {"project": "shop", "env": "prod", "key": "API_KEY", "identityId": ids["mallory"]}
    id_of = {"identities": ids["mallory"], "groups": ids["crew"], "grants": ids["given"]}
    for path, method in declared(service.app.registry):
        if method == "GET":
            id_ = id_of.get(path.split("/")[1])
            yield path.format(**names, id=id_, grantId=ids["given"], tokenId=ids["made"])


def every_page(service: Service, ids: dict[str, str]) -> Iterator[tuple[str, Outline]]:
    """Each page as an admin, and some as the identity itself and as one whom both keep out."""
    panels = [
        f"/identities/{ids[one]}?{panel}" for one in ("mallory", "robot") for panel in ("rename", "disable")
    ]
    panels += [f"/identities/{ids['mallory']}{rest}" for rest in ("", "/exposure", "?grant", "?why=shop")]
    panels += [f"/groups/{ids['crew']}?leave={ids['mallory']}", f"/grants/{ids['given']}?remove"]
    panels += [
        f"/grants?remove={ids['given']}",
        f"/search?q={NAME.split()[0]}",
        f"{SHOP}/access?why={ids['mallory']}",
    ]
    panels += [
        f"{SHOP}/access?grant",
        f"{PROD}/access?remove={ids['given']}",
        f"{PROD}/secrets/API_KEY?delete",
    ]
    # One of a shape is opened: the panels name the identity.
    paths = [*panels, *every_declared(service, ids), *(path.format(**ids) for path in PATHS)]
    admin = Browser(service)
    yield from crawl(admin, paths)
    for form in forms(ids):
        token = form_token(admin.get(form.page.format(**ids)).text)
        page = admin.post(form.action.format(**ids), form.fields | {"csrf": token}, status="*")
        if page.content_type == "text/html":
            yield form.action.format(**ids), Outline(page.text)
    for other in (SUBJECT, "rita@example.com"):
        browser = Browser(service, other)
        yield from (
            (path, Outline(browser.get(path, status="*").text)) for path in ("/", "/whoami", f"{PROD}/access")
        )


@pytest.mark.slow
def test_every_page_shows_the_subject_behind_a_display_name(filled):
    service, ids = filled
    naming, wrong = set(), {}
    for path, page in every_page(service, ids):
        for is_named, text in mentions(page):
            naming.add(shape(path)[0])
            if not is_named:
                wrong.setdefault(shape(path)[0], text)
    assert wrong == {}
    assert NAMING - naming == set()


@pytest.mark.slow
def test_a_name_that_could_reorder_its_subject_is_not_shown(filled):
    service, ids = filled
    service.execute(
        "UPDATE identity SET display_name = :name WHERE subject = :who",
        {"name": "Root\u202e", "who": SUBJECT},
    )
    for path in (
        "/identities",
        f"/identities/{ids['mallory']}",
        "/audit",
        f"{PROD}/secrets/API_KEY",
        f"{PROD}/history",
    ):
        page = Browser(service).open(path).text
        assert SUBJECT in page.replace("<wbr>", "")
        assert "\u202e" not in page
