"""The plaintext that a process holds is bounded until the answers have left (contract 8.1)."""

from __future__ import annotations

import gc
import logging
from types import FrameType, TracebackType
from typing import Any

import pytest
import webob
from envelopes import noted
from pages import Browser, form_of
from secrets_client import Vault, block_audit, block_commit, records, tamper
from service import ADMIN, API, HEADER, arrange
from statements import recorded
from wsgi import call

from secretsvc.kernel.use_case import UseCaseContext

PROD = "/projects/shop/environments/prod"
EXPORT = f"{API}{PROD}/secrets:export"
#: What a request's values hang on. Pyramid makes a class for each request, which leads to none of them.
WITH_VALUES = (webob.Request, webob.Response, UseCaseContext, FrameType, TracebackType)
PEOPLE = ("ada@example.com", "bob@example.com", "cyd@example.com", "dan@example.com")
#: Four exports of three values of 1,000 bytes, one for each identity; a value and an answer are longer by
#: what belongs to them.
BOUND, SIZE = 12_800, 1_000


@pytest.fixture
def service(make_service):
    return make_service(PLAINTEXT_MAX_BYTES=str(BOUND), LAST_SEEN_RESOLUTION="3600000")


@pytest.fixture
def vault(service, admin):
    made = Vault(admin)
    made.batch(set=dict.fromkeys("ABC", "x" * SIZE))
    for subject in PEOPLE:
        service.grant(subject, "reader", "shop/prod")
    return made


@pytest.fixture
def budget(vault, service):
    """The process's, which every test leaves as it was found."""
    found = service.app.registry.plaintext_budget
    yield found
    assert found.held == 0


class Sending:
    """An answer that stays with the server until it is told to have left."""

    def __init__(self, service: Any, subject: str, path: str = EXPORT, *, tells: bool = True) -> None:
        self.on_sent: list[Any] = []
        self.status = 0
        environ = {"secretsvc.on_sent": self.on_sent} if tells else {}
        kept: list[Any] = []

        def app(environ: Any, start_response: Any) -> Any:
            # Kept open: `call` closes only what it is given.
            kept.append(service.app(environ, start_response))
            return [*kept[0]]

        answer = call(app, "GET", path, {HEADER: service.issuer.sign(subject)}, **environ)
        self.status, self.headers, self.body = answer.status, answer.headers, answer.body
        self.answer = answer
        self._chunks = kept[0]

    def leave(self) -> None:
        """The server has sent it, or its client is gone."""
        for done in self.on_sent:
            done()
        if hasattr(self._chunks, "close"):
            self._chunks.close()


@pytest.mark.parametrize("tells", [True, False], ids=["our server", "another server"])
def test_an_answer_counts_until_it_has_left(service, budget, tells):
    sending = Sending(service, ADMIN, tells=tells)
    assert sending.status == 200
    assert int(sending.headers["content-length"]) == len(sending.body)
    assert budget.held >= max(3 * SIZE, len(sending.body))
    sending.leave()
    assert budget.held == 0
    sending.leave()


def test_one_identity_has_a_quarter_and_the_others_theirs(service, vault, budget):
    first = Sending(service, ADMIN)
    refused = Sending(service, ADMIN)
    assert (refused.status, refused.answer.code) == (503, "UNAVAILABLE")
    assert int(refused.headers["retry-after"]) > 0
    others = [Sending(service, subject) for subject in PEOPLE]
    assert [one.status for one in others] == [200, 200, 200, 503]
    assert budget.held <= BOUND
    assert len(service.audit("secret.export")) == 4
    for one in (first, *others):
        one.leave()
    vault.get("secrets:export")


def test_whoever_is_refused_is_told_when_to_come_back_and_leaves_no_record(service, vault, budget):
    sending = [Sending(service, subject) for subject in (ADMIN, *PEOPLE[:3])]
    before = records(service)
    refused = Vault(service.user(PEOPLE[3])).get("secrets:export", 503)
    assert refused.json["code"] == "UNAVAILABLE"
    assert refused.headers["Retry-After"] == "5"
    assert refused.headers["Cache-Control"] == "no-store, no-cache, must-revalidate, private"
    assert records(service) == before
    for one in sending:
        one.leave()


def test_whatever_keeps_no_values_goes_on_at_the_bound(service, vault, budget):
    sending = [Sending(service, subject) for subject in (ADMIN, *PEOPLE[:3])]
    vault.get("secrets")
    assert vault.value("A") == "x" * SIZE
    vault.get("secrets/A/versions")
    vault.set(D="new")
    vault.client.get("/projects")
    browser = Browser(service)
    for path in ("/projects/shop", PROD, f"{PROD}/text"):
        browser.open(path)
    for one in sending:
        one.leave()


def test_the_pages_are_bounded_alike_and_say_so(service, budget):
    browser = Browser(service)
    text, export = form_of(browser.open(f"{PROD}/text"), "/text"), form_of(browser.open(PROD), "/export")
    assert text.submit().status_int == 200
    assert export.submit("format", value="json").status_int == 200
    sending = Sending(service, ADMIN)
    for form in (text, export):
        page = form.submit(status=503)
        assert "UNAVAILABLE" in page.text
        assert page.headers["Retry-After"] == "5"
        assert "Wait a moment" in page.text
    sending.leave()


def test_the_text_is_rewritten_one_value_after_the_other(service, vault, budget):
    browser = Browser(service)
    sending = [Sending(service, subject) for subject in (ADMIN, *PEOPLE[:3])]
    csrf = browser.open(f"{PROD}/text").html.find("input", {"name": "csrf"})["value"]
    form = {"csrf": csrf, "rev": "1", "content": f"A={'x' * SIZE}\nB=other\n"}
    browser.post(f"{PROD}/text-apply", form, status=303)
    for one in sending:
        one.leave()
    assert {key: entry["version"] for key, entry in vault.listed().items()} == {"A": 1, "B": 2}


def test_an_answer_that_escaping_makes_too_long_is_refused_and_not_recorded(service, vault, budget):
    vault.batch(mode="replace", set={"A": "\x01" * SIZE}, reason="escaped")
    before = records(service)
    refused = vault.get("secrets:export", 503)
    assert "PLAINTEXT_MAX_BYTES" in refused.json["hint"]
    assert records(service) == before
    assert vault.get("secrets:export?format=env").status_int == 200


def test_values_count_as_long_as_the_process_keeps_them(service, vault, budget):
    vault.batch(mode="replace", set={"A": "\U0001f600" + "x" * SIZE}, reason="wide")
    refused = vault.get("secrets:export", 503)
    assert "PLAINTEXT_MAX_BYTES" in refused.json["hint"]


def test_what_is_too_long_by_itself_is_refused_before_it_is_opened(service, vault, budget):
    vault.batch(set={"D": "x" * SIZE})
    tamper(service, "A")
    assert "PLAINTEXT_MAX_BYTES" in vault.get("secrets:export", 503).json["hint"]


def test_an_older_state_is_bounded_as_the_present_one(service, vault, budget):
    vault.batch(set={"D": "x" * SIZE})
    vault.batch(delete=["A", "B", "C"])
    before = records(service)
    assert "PLAINTEXT_MAX_BYTES" in vault.get("secrets:export?rev=2", 503).json["hint"]
    assert records(service) == before
    assert len(vault.get("secrets:export?rev=1").json["secrets"]) == 3


def test_a_page_that_is_longer_than_its_values_is_drawn_and_counted(service, vault, budget):
    """Its values were read and recorded before it is drawn, so it is too late to refuse it."""
    vault.batch(mode="replace", set={"A": "&" * 3_000}, reason="escaped")
    form = form_of(Browser(service).open(f"{PROD}/text"), "/text")
    held = []
    registry = service.app.registry
    release = registry.plaintext_budget.give_back
    registry.plaintext_budget.give_back = lambda one: (
        held.append(registry.plaintext_budget.held),
        release(one),
    )
    try:
        page = form.submit()
    finally:
        del registry.plaintext_budget.give_back
    assert held[0] >= page.content_length > BOUND // 4


@pytest.mark.parametrize("tells", [True, False], ids=["our server", "another server"])
def test_every_kind_of_answer_gives_back_what_it_held(service, vault, budget, tells):
    on_sent: list[Any] = []
    more = {"secretsvc.on_sent": on_sent} if tells else {}
    headers = {HEADER: service.issuer.sign(ADMIN)}
    for method, path, status in (
        ("GET", EXPORT, 200),
        ("HEAD", EXPORT, 200),
        ("GET", f"{EXPORT}?format=env", 200),
        ("GET", f"{EXPORT}?format=odd", 422),
        ("GET", f"{API}{PROD}/secrets", 200),
        ("GET", f"{API}{PROD}/secrets/A", 200),
        ("GET", f"{API}/projects/absent/environments/prod/secrets:export", 404),
        ("GET", "/projects/shop", 200),
        ("GET", PROD, 200),
    ):
        answer = call(service.app, method, path, headers, **more)
        assert (answer.status, len(answer.body) > 0) == (status, method != "HEAD"), path
        while on_sent:
            on_sent.pop()()
        assert service.app.registry.plaintext_budget.held == 0, (method, path)


def fail_to_open(service):
    tamper(service, "C")
    return 500


def fail_to_record(service):
    block_audit(service)
    return 500


def fail_to_commit(service):
    block_commit(service)
    return 500


def grow_too_long(service):
    Vault(service.user()).batch(mode="replace", set={"A": "\x01" * SIZE}, reason="escaped")
    return 503


@pytest.mark.both_engines
@pytest.mark.parametrize("fail", [fail_to_open, fail_to_record, fail_to_commit, grow_too_long])
def test_requests_that_fail_on_the_way_leave_nothing_behind(service, vault, budget, fail):
    status, headers, on_sent = fail(service), {HEADER: service.issuer.sign(ADMIN)}, []
    # More often than the bound has room, and than there are connections.
    for _ in range(25):
        for more in ({}, {"secretsvc.on_sent": on_sent}):
            assert call(service.app, "GET", EXPORT, headers, **more).status == status
    assert on_sent == []
    assert budget.held == 0


def test_the_start_tells_of_environments_that_could_never_be_exported(make_service, caplog):
    with caplog.at_level(logging.WARNING):
        make_service()
        assert caplog.messages == []
        make_service(ENV_MAX_SECRETS="513")
    (line,) = caplog.messages
    assert line.startswith("a quarter of PLAINTEXT_MAX_BYTES is below ")
    assert line.endswith(" bytes: a full environment cannot be exported")


def test_a_stream_that_ends_half_way_leaves_the_connection_as_it_was(make_service):
    """On SQLite a cursor that stays open would keep the old snapshot for the next request."""
    service = make_service()
    vault = Vault(arrange(service))
    for first in range(0, 40, 10):
        vault.batch(set={f"K{number}": "x" * 60_000 for number in range(first, first + 10)})
    tamper(service, "K10")
    for number in range(5):
        vault.get("secrets:export", 500)
        vault.set(K0=str(number))
        assert vault.value("K0") == str(number)
    assert service.engine.pool.checkedout() == 0
    assert service.app.registry.plaintext_budget.held == 0
    vault.batch(delete=["K10"])
    assert [len(value) for value in vault.get("secrets:export").json["secrets"].values()] == [
        1,
        *[60_000] * 38,
    ]


def test_the_matrix_opens_only_what_its_text_lets_through(service, vault, monkeypatch):
    Vault(vault.client, "/projects/shop/environments/dev").set(A="x", ONLY_DEV="x")
    seen = noted(monkeypatch)
    browser = Browser(service)
    for query, opened in (
        ("", ["A", "A", "B", "C", "ONLY_DEV"]),
        ("?q=only", ["ONLY_DEV"]),
        ("?show=missing", ["A", "A", "B", "C", "ONLY_DEV"]),
        ("?show=missing&q=b", ["B"]),
        ("?q=nothing", []),
        ("?q=%25", []),
        ("?q=%00", []),
    ):
        seen.clear()
        browser.open(f"/projects/shop{query}")
        assert sorted(key for key, _ in seen) == opened, query


@pytest.mark.both_engines
def test_the_matrix_takes_as_many_statements_for_many_environments_as_for_two(service, vault):
    browser, taken = Browser(service), []
    for extra in ((), ("e1", "e2", "e3")):
        for slug in extra:
            body = {"slug": slug, "name": slug}
            vault.client.post("/projects/shop/environments", body, 201)
            Vault(vault.client, f"/projects/shop/environments/{slug}").set(A="x", B="y")
        with recorded(service.engine) as statements:
            browser.open("/projects/shop")
        taken.append(len(statements))
    assert taken == [4, 4]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "path", "sent", "status"),
    [
        ("GET", f"{PROD}/secrets/A", b"", 200),
        ("GET", f"{PROD}/secrets", b"", 200),
        ("GET", f"{PROD}/secrets:export", b"", 200),
        ("POST", f"{PROD}/secrets:batch", b'{"mode": "merge", "set": {"A": "another"}}', 200),
        ("GET", f"{PROD}/secrets/ABSENT", b"", 404),
        ("GET", "/nowhere", b"", 404),
        ("POST", f"{PROD}/secrets:batch", b'{"mode": "merge", "set": {"A": "another", "b c": ""}}', 422),
        ("POST", f"{PROD}/secrets:batch", b'{"mode": "merge", "set": {"A": "another"}, "if_rev": 99}', 422),
    ],
)
def test_what_a_request_holds_does_not_wait_for_the_garbage_collector(
    service, vault, method, path, sent, status
):
    headers = {HEADER: service.issuer.sign(ADMIN), "Content-Type": "application/json"}
    assert call(service.app, method, API + path, headers, sent).status == status
    gc.disable()
    try:
        # A request leaves the same each time; other threads of this process may leave something once.
        assert any(_garbage_of(service, method, path, headers, sent) == [] for _ in range(5))
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()


def _garbage_of(service, method, path, headers, sent):
    """Return the objects with values of a request that only the garbage collector frees."""
    gc.set_debug(0)
    gc.garbage.clear()
    gc.collect()
    gc.set_debug(gc.DEBUG_SAVEALL)
    call(service.app, method, API + path, headers, sent)
    gc.collect()
    return [one for one in gc.garbage if isinstance(one, WITH_VALUES)]
