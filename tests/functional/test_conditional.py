"""`If-None-Match` on lists and exports, and `HEAD` (contract 5.7)."""

from __future__ import annotations

import http.client
import time
from itertools import product

import pytest
from access_expectations import ROUTES, fill, spelled
from access_matrix import make_world
from envelopes import noted
from pages import Browser, submit
from secrets_client import BOTH_SPELLINGS, PLAINTEXT_HEADERS, Vault, records, tamper
from server import served
from service import ADMIN, API, HEADER, Client
from statements import recorded, transactions
from waiting import PATIENCE, least_seconds

from secretsvc.db.engine import write_transaction
from secretsvc.web.headers import SECURITY_HEADERS

PATHS = ("secrets", "secrets:export", "secrets:export?format=env")
VARYING = {"X-Request-Id", "Content-Security-Policy"}
both_reads = pytest.mark.parametrize("path", PATHS[:2])


@pytest.fixture
def service(make_service):
    """A service whose identities count as touched recently throughout a test."""
    return make_service(LAST_SEEN_RESOLUTION="3600000")


@pytest.fixture
def vault(vault):
    """An environment at revision 3."""
    for value in "one", "two", "three":
        vault.set(A=value)
    return vault


@pytest.fixture
def opened(monkeypatch):
    """The keys and versions whose envelopes are opened."""
    return noted(monkeypatch)


def ask(vault, path, tags, status=304, **options):
    return vault.get(path, status, headers={"If-None-Match": tags, **options})


NAMES_3 = (
    '"3"', 'W/"3"', "*", " * ", '"1", "2", "3"', '"3","4"', 'W/"2" , W/"3"', ', "3",, ', '"a,b", "3"',
    '\t"3"', '"", "3"',
)  # fmt: skip


@BOTH_SPELLINGS
def test_a_tag_that_names_the_revision_is_answered_304(vault):
    for path, tags in product(PATHS, NAMES_3):
        answer = ask(vault, path, tags)
        assert (answer.body, answer.headers["ETag"]) == (b"", '"3"'), tags


@BOTH_SPELLINGS
@both_reads
def test_a_304_has_the_usual_headers_and_none_of_a_body(vault, path):
    usual = vault.get(path).headers
    headers = ask(vault, path, '"3"', **{"X-Request-Id": "mine"}).headers
    described = {"Content-Type", "Content-Length"}
    assert {*headers} == {*usual} - described
    assert headers["X-Request-Id"] == "mine"
    assert {*SECURITY_HEADERS} <= {*headers.items()}
    assert headers["Cache-Control"] == usual["Cache-Control"]
    if path != "secrets":
        assert {*PLAINTEXT_HEADERS.items()} <= {*headers.items()}


OTHERS = ('"2"', '"4"', 'W/"1"', '"1", "2"', '"03"', '"+3"', '"3-x"', '""')


@pytest.mark.parametrize("path", PATHS)
def test_a_tag_of_another_revision_is_answered_in_full_and_recorded(vault, service, path):
    before, full = len(records(service)), vault.get(path)
    for tags in OTHERS:
        answer = ask(vault, path, tags, 200)
        assert (answer.body, answer.headers["ETag"]) == (full.body, '"3"'), tags
    made = records(service)[before:]
    assert [row["action"] for row in made] == ["secret.export"] * (
        0 if path == "secrets" else 1 + len(OTHERS)
    )


MALFORMED = (
        "3", "", '"3', '3"', "'3'", 'w/"3"', 'W/ "3"', '"3" "4"', '"3"; "4"', '*, "3"', '"3", *', "**",
        '"3", nonsense', 'nonsense, "3"', "W/*", '"1" "3"', ",", '"3",\x0b"4"', '" 3", "3"',
)  # fmt: skip


@both_reads
def test_a_malformed_header_is_ignored(vault, path):
    full = vault.get(path).body
    for tags in MALFORMED:
        assert ask(vault, path, tags, 200).body == full, tags


def test_a_long_malformed_header_takes_no_time(vault):
    for tags in (", \t" * 20_000 + "x", '"' * 60_001, 'W/"1" ' * 10_000, " " * 60_000 + "x"):
        assert least_seconds(lambda tags=tags: ask(vault, "secrets", tags, 200), 2.0, time.thread_time) < 2


@BOTH_SPELLINGS
def test_authentication_comes_first(vault, service):
    nobody = Vault(service.nobody(), vault.base)
    for path, tags in product(PATHS, ("*", '"3"', '"0"')):
        assert ask(nobody, path, tags, 401).json["code"] == "UNAUTHENTICATED"


@BOTH_SPELLINGS
def test_authorization_comes_first(vault, service):
    stranger = Vault(service.user("eve@example.com"), vault.base)
    for path, tags in product(PATHS, ("*", '"3"', '"0"')):
        before = len(service.denials())
        assert "ETag" not in ask(stranger, path, tags, 404).headers
        (denied,) = service.denials()[before:]
        assert denied["action"] == "authz.environment.reader"
    service.grant("eve@example.com", "reader", "shop/dev")
    assert ask(stranger, "secrets", "*", 404).json["message"] == "Environment not found."


@both_reads
def test_an_environment_that_is_not_there_is_404_for_any_tag(vault, path):
    absent = Vault(vault.client, vault.base.replace("prod", "nowhere"))
    for tags in ("*", '"0"'):
        assert ask(absent, path, tags, 404).json["message"] == "Environment not found."


@both_reads
def test_a_bad_query_is_refused_for_any_tag(vault, path):
    ask(vault, f"{path}?unknown=1", "*", 422)


@pytest.mark.parametrize("path", PATHS)
def test_a_304_opens_no_value_and_leaves_no_record(vault, service, opened, path):
    before = len(service.audit())
    ask(vault, path, '"3"')
    assert opened == []
    assert len(service.audit()) == before
    tamper(service, "A", version=3)
    ask(vault, path, "*")


@pytest.mark.both_engines
@pytest.mark.parametrize("path", [*PATHS, "secrets?rev=3", "secrets:export?rev=3"])
def test_a_304_takes_the_snapshot_and_one_statement_and_no_transaction(vault, service, path):
    with recorded(service.engine) as statements, transactions(service.engine) as sent:
        ask(vault, path, '"3"')
    assert [one.split()[0] for one in statements] == ["WITH", "SELECT"]
    # The session commits each request; nothing was begun that this could end.
    assert sent == []


@pytest.mark.both_engines
@pytest.mark.parametrize("path", PATHS)
def test_a_304_waits_for_no_writer(vault, service, path):
    with write_transaction(service.engine) as connection:
        connection.exec_driver_sql("UPDATE environment SET name = 'held'")
        ask(vault, path, '"3"')


@pytest.mark.both_engines
@both_reads
def test_what_the_client_does_not_know_takes_one_statement_more(vault, service, path):
    counts = []
    for tags in ('"3" malformed', '"2"'):
        with recorded(service.engine) as statements:
            ask(vault, path, tags, 200)
        counts.append(len(statements))
    assert counts[1] == counts[0] + 1


def test_the_rule_of_cross_site_requests_comes_first(vault):
    for headers in ({"Sec-Fetch-Site": "cross-site"}, {"Origin": "https://evil.example"}):
        for tags in ("*", '"3"'):
            assert ask(vault, "secrets:export", tags, 403, **headers).json["code"] == "FORBIDDEN"
            ask(vault, "secrets", tags, 304, **headers)


@both_reads
def test_the_tag_speaks_of_keys_values_and_descriptions(vault, path):
    def changed(write):
        tag = vault.get(path).headers["ETag"]
        ask(vault, path, tag)
        write()
        return ask(vault, path, tag, 200).headers["ETag"] != tag

    assert changed(lambda: vault.set(A="another"))
    assert changed(lambda: vault.set(B="new"))
    assert changed(lambda: vault.rename("B", "C"))
    assert changed(lambda: vault.batch(set={"A": "another"}, descriptions={"A": "why"}))
    assert changed(lambda: vault.batch(delete=["C"]))


@both_reads
def test_what_changes_only_descriptions_raises_the_revision(vault, service, path):
    page = Browser(service).open(f"{vault.base}/secrets/A?describe")
    submit(page, "A/describe", description="alone")
    assert ask(vault, path, '"3"', 200).headers["ETag"] == '"4"'
    assert vault.listed()["A"] | {"version": 3, "description": "alone"} == vault.listed()["A"]


@both_reads
def test_the_tag_does_not_speak_of_kid_and_readable(vault, service, path):
    tag = vault.get(path).headers["ETag"]
    tamper(service, "A", version=3)
    assert not vault.listed()["A"]["readable"]
    ask(vault, path, tag)


@both_reads
def test_an_environment_that_was_made_anew_is_told_by_its_id_and_not_by_the_tag(vault, path):
    """The tag is the revision as before, and a new environment counts from 0 again."""
    tag, known = vault.get(path).headers["ETag"], vault.client.get(vault.base).json["id"]
    vault.client.delete(vault.base)
    vault.client.post(vault.base.rpartition("/")[0], {"slug": "prod", "name": "Prod"}, 201)
    for value in "one", "two", "other":
        vault.set(A=value)
    assert ask(vault, path, tag).headers["ETag"] == tag == '"3"'
    assert vault.client.get(vault.base).json["id"] != known


@BOTH_SPELLINGS
@pytest.mark.parametrize("path", PATHS)
def test_head_is_answered_304_too(vault, path):
    answer = vault.client.request("HEAD", f"{vault.base}/{path}", headers={"If-None-Match": 'W/"3"'})
    assert (answer.status_int, answer.headers["ETag"], answer.body) == (304, '"3"', b"")


@both_reads
def test_the_tag_of_an_older_revision_is_that_revision_s(vault, service, path):
    assert ask(vault, f"{path}?rev=2", '"2"').headers["ETag"] == '"2"'
    assert ask(vault, f"{path}?rev=2", '"3"', 200).headers["ETag"] == '"2"'
    with recorded(service.engine) as statements:
        ask(vault, f"{path}?rev=0", "*")
    assert [one.split()[0] for one in statements] == ["WITH", "SELECT"]
    assert ask(vault, f"{path}?rev=4", "*", 404).json["message"] == "Revision not found."


@pytest.mark.slow
def test_head_is_get_without_the_body_its_record_included_everywhere(issuer, database_url):
    world = make_world(database_url, issuer)
    admin, names = world.clients["global admin"], world.names
    pages = ("/", "/audit", "/projects/shop", "/projects/shop/environments/prod", "/absent")
    paths = [fill(path, names) for route, path in spelled(ROUTES) if route.method == "GET"]
    for prefix, path in [*((API, path) for path in paths), *(("", page) for page in pages)]:
        client, told = Client(world.service.app, admin.token, prefix), []
        for method in ("GET", "HEAD"):
            before = len(world.service.audit())
            answer = client.request(method, path)
            rows = [(row["action"], row["detail"]) for row in world.service.audit()[before:]]
            headers = {name: value for name, value in answer.headers.items() if name not in VARYING}
            told.append((answer.status_int, headers, rows))
            assert (answer.body == b"") == (method == "HEAD"), path
        assert told[0] == told[1], (prefix, path)
    world.service.close()


def test_other_reads_do_not_evaluate_the_header(vault):
    for path in ("secrets/A", "secrets/A:reveal", "secrets/A/versions"):
        ask(vault, path, "*", 200)


def test_over_the_wire_a_304_ends_where_the_next_answer_begins_on_the_same_connection(vault, service):
    with served(service.app) as port:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
        connection.connect()
        # Whoever polls would shake hands anew for each answer.
        connection.auto_open = 0
        statuses = []
        for path in PATHS:
            for tags in ('"3"', '"2"'):
                headers = {HEADER: service.issuer.sign(ADMIN), "If-None-Match": tags}
                connection.request("GET", f"{API}{vault.base}/{path}", headers=headers)
                answer = connection.getresponse()
                statuses.append((answer.status, len(answer.read()) > 0, answer.getheader("Content-Length")))
        connection.close()
    assert [status[:2] for status in statuses] == [(304, False), (200, True)] * len(PATHS)
    assert {status[2] for status in statuses if status[0] == 304} <= {None}
