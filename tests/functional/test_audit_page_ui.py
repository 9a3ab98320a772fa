"""The page of the audit log, without JavaScript."""

from __future__ import annotations

import csv
import io
import json
import re
from urllib.parse import parse_qs, urlsplit

import pytest
from pages import Browser, form_of, words
from resource_fields import log
from secrets_client import Vault
from service import arrange
from statements import recorded

from secretsvc.audit.models import audit_record
from secretsvc.auditlog import domain
from secretsvc.auditlog.rules import activity
from secretsvc.kernel.clock import now_ms
from secretsvc.kernel.ids import earliest_id, new_id

ADA = "ada@example.com"
EVIL = "<script>alert(1)</script>\"'${1+1}"


def records(page):
    """The records as words, newest first: time, action, outcome, who, where, reason, line, request."""
    return [_record(item) for item in page.html.select(".log > li")]


def _record(item):
    found = facts(item)
    where = item.find("dt", string="Where")
    link = where.find_next_sibling("dd").a if where else None
    slugs = re.findall(r"/(?:projects|environments)/([^/]+)", link["href"]) if link else []
    scope = "/".join(slugs) or found.get("Where", "everywhere")
    action, outcome = found["Action"].split(" · ")
    time, reason, line = found["Exact time"], found.get("Reason", ""), read(item.select_one(".what"))
    return [time, action, outcome, found["Who"], scope, reason, line, found["Request"]]


def facts(item):
    """The facts of a record, which stand below its line."""
    terms = item.select("dl.facts dt")
    return {term.text: read(term.find_next_sibling("dd")) for term in terms}


def read(element):
    return " ".join(element.text.split())


def actions(page):
    return [row[1] for row in records(page)]


def numbers(page):
    table = page.html.find("caption", string=re.compile("^Records over time")).parent
    rows = [[cell.text for cell in row.find_all("td")] for row in table.tbody.find_all("tr")]
    return sum(int(done) for _, done, _ in rows), sum(int(denied) for *_, denied in rows)


def filters(page):
    return form_of(page, "/audit")


def chips(page):
    found = {read(link): link["href"] for link in page.html.select("form.chips a.chip.set")}
    clear = page.html.find("a", string="Clear")
    return found | ({"Clear": clear["href"]} if clear else {})


def with_ids_of_their_time(service, *moments):
    for moment in moments:
        log_id = earliest_id(moment)
        row = {
            "id": log_id,
            "created_at": moment,
            "action": f"test.{(moment // 1000) % 100}",
            "outcome": "success",
            "actor_subject": "writer@example.com",
            "request_id": "old",
        }
        service.execute(audit_record.insert(), row)


def test_a_record_says_who_did_what_where_and_why(browser, service, admin):
    Vault(admin).batch(set={"TOKEN": "very-secret", "OTHER": "x"}, reason="Rotation")
    page = browser.open("/audit")
    time, action, outcome, who, scope, reason, line, _ = records(page)[0]
    assert re.fullmatch(r"20\d\d-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} UTC", time)
    assert (action, outcome, who, scope, reason) == (
        "secret.batch",
        "done",
        "root@example.com · person",
        "shop/prod",
        "Rotation",
    )
    assert line == "root@example.com added 2 keys in Shop / Prod Rotation"
    item = page.html.select_one(".log > li")
    assert read(item.select_one(".at")) == "revision 1"
    assert facts(item)["Keys"] == "OTHER · added (version 1) · TOKEN · added (version 1)"
    assert facts(item)["Revision"] == "0 → 1"
    assert "very-secret" not in page.text
    prod = "/projects/shop/environments/prod"
    links = {read(link): link["href"] for link in item.select("dl a")}
    assert links["OTHER"] == f"{prod}/secrets/OTHER"
    assert links["See revision 1"] == f"{prod}/history?rev=1"
    assert links["Everything by root@example.com"] == "/audit?actor=root%40example.com"


@pytest.mark.slow
def test_what_is_gone_is_named_by_its_slug_as_the_log_knows_it(browser, service, admin):
    scope = service.scope("shop/prod")
    Vault(admin).set(TOKEN="x")
    admin.delete("/projects/shop/environments/prod")
    removal, write = records(browser.open("/audit"))[:2]
    assert removal[4:7:2] == [
        "Shop / the environment prod",
        "root@example.com deleted Shop / the environment prod",
    ]
    assert write[4] == "Shop / the environment prod (deleted)"
    assert write[6].endswith("added TOKEN in Shop / the environment prod (deleted)")
    admin.delete("/projects/shop")
    removal, _, write = records(browser.open("/audit"))[:3]
    assert removal[4] == "the project shop"
    assert write[4] == "the project shop (deleted) / the environment prod (deleted)"
    assert str(scope["environment_id"]) not in " ".join(write)
    arrange(service, "shop", "prod")
    assert records(browser.open("/audit"))[4][4] == write[4] or "a slug that is used again is another's"


def test_what_went_with_its_project_and_a_deleted_group_are_named_too(browser, service, admin):
    Vault(admin).set(TOKEN="x")
    crew = service.group("crew")
    wendy = service.identity_id("wendy@example.com")
    admin.post(f"/groups/{crew}/members", {"identity_id": str(wendy)}, 201)
    admin.delete(f"/groups/{crew}")
    admin.delete("/projects/shop")
    told = [record[6] for record in records(browser.open("/audit"))]
    assert any(
        "added TOKEN in the project shop (deleted) / the environment prod (deleted)" in one for one in told
    )
    assert "root@example.com added wendy@example.com to the group crew (deleted)" in told


def test_what_no_record_names_any_more_is_named_by_its_id(browser, service):
    project_id, environment_id = new_id(), new_id()
    log(service, project_id=project_id, environment_id=environment_id)
    where = f"the project {project_id} (deleted) / the environment {environment_id} (deleted)"
    assert records(browser.open("/audit"))[0][4] == where


@pytest.mark.slow
def test_a_long_detail_is_folded_and_a_damaged_one_is_left_out(browser, service, admin):
    changes = [{"key": f"KEY_{number}", "kind": "added", "version": 1} for number in range(150)]
    log(service, detail=json.dumps({"rev": 1, "changes": changes}))
    log(service, detail="{")
    log(service, detail='["a", 1]')
    page = browser.open("/audit?action=test.made")
    listed, damaged, long = map(facts, page.html.select(".log > li"))
    assert listed["Detail"] == "['a', 1]"
    assert not damaged.keys() & {"Detail", "Keys"}
    assert long["Keys"].startswith("KEY_0 · added (version 1)")
    assert long["Keys"].endswith("and 50 more")


@pytest.mark.slow
@pytest.mark.both_engines
def test_filters_stand_in_the_form_and_as_chips_that_take_them_away(browser, service, admin):
    log(service, action="test.one", actor_subject="bob@example.com")
    log(service, action="test.one", outcome="denied")
    log(service, action="test.two", outcome="denied")
    page = browser.open("/audit")
    form = filters(page)
    form["action"], form["outcome"] = "test.one", "denied"
    page = form.submit()
    assert [(row[1], row[2]) for row in records(page)] == [("test.one", "denied")]
    assert filters(page)["action"].value == "test.one"
    assert filters(page)["outcome"].value == "denied"
    found = chips(page)
    assert set(found) == {"What test.one", "Outcome Denied", "Clear"}
    assert actions(browser.open(found["Outcome Denied"])) == ["test.one", "test.one"]
    assert actions(browser.open(found["What test.one"])) == ["test.two", "test.one"]
    assert len(records(browser.open(found["Clear"]))) > 3
    assert actions(browser.open("/audit?actor=BOB@example.com")) == ["test.one"]


@pytest.mark.slow
@pytest.mark.both_engines
def test_a_place_is_a_filter(browser, service, admin):
    arrange(service, "depot", "prod")
    assert {row[4] for row in records(browser.open("/audit?project=depot"))} == {"depot", "depot/prod"}
    assert {row[4] for row in records(browser.open("/audit?project=depot&environment=prod"))} == {
        "depot/prod"
    }
    assert {row[4] for row in records(browser.open("/audit?environment=prod"))} == {"depot/prod", "shop/prod"}


@pytest.mark.both_engines
@pytest.mark.parametrize(
    "since", ["1000000005000", "1970-01-01T00:00", "2001-09-09T01:46:45", "2001-09-09T01:46:45.000"]
)
def test_times_are_utc_as_their_fields_have_them_or_epoch_milliseconds(browser, service, since):
    with_ids_of_their_time(service, 1_000_000_000_000, 1_000_000_010_000)
    page = browser.open(f"/audit?since={since}&until=1000000010001")
    early = since.startswith("1970")
    assert actions(page) == ["test.10", "test.0"] if early else ["test.10"]
    assert filters(page)["until"].value == "2001-09-09T01:46:50.001"
    again = filters(page).submit()
    assert actions(again) == actions(page)


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("project=Not+A+Slug", "project"),
        ("environment=-", "environment"),
        ("since=yesterday", "since"),
        ("since=2026-02-30T10:00", "since"),
        ("until=-1", "until"),
        ("outcome=maybe", "outcome"),
        ("action=" + "x" * 65, "action"),
        ("actor=%00", "actor"),
        ("cursor=x", None),
        ("after=x", None),
        ("nonsense=1", None),
    ],
)
def test_a_malformed_filter_is_kept_with_what_is_wrong_with_it(browser, query, field):
    page = browser.open(f"/audit?{query}&reason=&actor2=", 422)
    assert page.html.find(role="alert")
    assert records(page) == []
    if field:
        typed = page.html.find(id=field)
        assert typed["aria-invalid"] == "true"
        assert page.html.find(id=typed["aria-describedby"]).find_parent() is not None
    if field in ("project", "since", "until", "action"):
        assert page.html.find(id=field)["value"] == parse_qs(query)[field][0]
    if field in ("since", "until"):
        assert "Give a day and a time" in page.html.find(role="alert").text


def test_blank_fields_are_no_filters(browser):
    blank = "&".join(f"{name}=" for name in ("project", "actor", "action", "outcome", "since", "until"))
    page = browser.open(f"/audit?{blank}")
    assert len(records(page)) >= 3
    assert not chips(page)


def test_a_project_that_is_not_there_and_one_that_is_not_the_callers_look_the_same(service, admin):
    arrange(service, "depot", "prod")
    service.grant(ADA, "admin", "shop")
    browser = Browser(service, ADA)
    pages = [browser.open(f"/audit?project={slug}", 404) for slug in ("depot", "absent")]
    bodies = [page.text.replace("depot", "absent") for page in pages]
    assert bodies[0] == bodies[1]
    assert "Project not found." in pages[0].html.find(role="alert").text
    assert [row["action"] for row in service.denials()] == ["access.denied"]


@pytest.mark.parametrize(
    ("scope", "seen", "denied"),
    [("shop", {"shop", "shop/prod", "shop/dev"}, "depot"), ("shop/dev", {"shop/dev"}, "shop")],
)
def test_an_admin_reads_of_what_it_administers_alone(service, admin, scope, seen, denied):
    arrange(service, "depot", "prod")
    service.grant(ADA, "admin", scope)
    browser = Browser(service, ADA)
    page = browser.open("/audit")
    assert {row[4] for row in records(page)} == seen
    assert numbers(page) == (len(records(page)), 0)
    browser.open(f"/audit?project={denied}", 404)


@pytest.mark.parametrize("role", [None, "reader", "writer"])
def test_who_administers_nothing_has_no_audit_page(service, admin, role):
    if role:
        service.grant(ADA, role)
    browser = Browser(service, ADA)
    browser.open("/audit", 403)
    assert browser.open("/").html.find("a", href="/audit") is None
    assert [row["action"] for row in service.denials()] == ["authz.global.admin"]


@pytest.mark.slow
def test_older_and_newer_pages_lead_through_everything_and_back(browser, service):
    rows = [str(row) for row in range(23)]
    for row in rows:
        log(service, action="test.page", request_id=row)
    page, seen = browser.open("/audit?action=test.page&limit=5"), []
    while True:
        seen.append([row[7] for row in records(page)])
        if page.html.find("a", rel="next") is None:
            break
        page = page.click("^Older")
    assert [row for one in seen for row in one] == rows[::-1]
    assert [len(one) for one in seen] == [5, 5, 5, 5, 3]
    back = [seen.pop()]
    while page.html.find("a", rel="prev") is not None:
        page = page.click("^Newer$")
        back.append([row[7] for row in records(page)])
    assert back[1:] == seen[::-1]
    assert page.html.find("a", rel="next")


@pytest.mark.slow
@pytest.mark.both_engines
def test_what_arrives_meanwhile_is_found_on_the_way_back(browser, service):
    log(service, 10, action="test.page", request_id="old")
    page = browser.open("/audit?action=test.page&limit=5").click("^Older")
    log(service, 3, action="test.page", request_id="new")
    page = page.click("^Newer$")
    assert [row[7] for row in records(page)] == ["old"] * 5
    page = page.click("^Newer$")
    assert [row[7] for row in records(page)] == ["new"] * 3
    assert page.html.find("a", rel="prev") is None
    assert [row[7] for row in records(page.click("^Newest$"))] == ["new"] * 3 + ["old"] * 2


@pytest.mark.slow
@pytest.mark.both_engines
def test_a_project_admins_pages_lead_both_ways_too(service, admin):
    scopes = [service.scope(path) for path in ("shop", "shop/prod", "shop/dev")]
    for number in range(12):
        columns = {name: value for name, value in scopes[number % 3].items() if name != "scope_type"}
        log(service, action="test.page", request_id=str(number), **columns)
    service.grant(ADA, "admin", "shop")
    first = Browser(service, ADA).open("/audit?action=test.page&limit=4")
    last = first.click("^Older").click("^Older")
    assert [row[7] for row in records(last)] == ["3", "2", "1", "0"]
    assert records(last.click("^Newer$").click("^Newer$")) == records(first)


@pytest.mark.both_engines
def test_a_request_id_leads_to_all_that_its_request_left(browser, service, admin):
    log(service, request_id="mine", created_at=now_ms())
    log(service, request_id="mine", action="test.other", created_at=now_ms())
    log(service, request_id="other", created_at=now_ms())
    log(service, request_id="mine", action="test.old", created_at=1)
    page = browser.open("/audit?action=test.other").click("mine")
    assert actions(page) == ["test.other", "test.made"]
    assert "Request mine" in chips(page)
    assert actions(browser.open("/audit?request_id=mine")) == ["test.old", "test.other", "test.made"]


@pytest.mark.both_engines
def test_an_error_page_leads_to_its_denial(service, admin):
    service.grant(ADA, "admin", "shop/dev")
    service.grant(ADA, "reader", "shop/prod")
    browser = Browser(service, ADA)
    page = browser.post("/projects/shop/delete", status=403)
    found = page.html.find("a", string="Find it in the audit log")
    assert parse_qs(urlsplit(found["href"]).query).keys() == {"request_id", "since"}
    page = Browser(service).open(found["href"])
    assert actions(page) == ["authz.project.admin"]


@pytest.mark.both_engines
def test_the_chart_is_a_drawing_and_a_table_of_the_same_numbers(browser, service):
    log(service, 7, action="test.now", created_at=now_ms())
    log(service, 2, action="test.now", created_at=now_ms(), outcome="denied")
    page = browser.open("/audit?action=test.now")
    assert numbers(page) == (7, 2)
    drawing = page.html.find("svg", class_="chart")
    assert read(page.html.find(id=drawing["aria-labelledby"])).startswith("9 records")
    done, denied = drawing.find_all("a")[-1].find_all("rect")
    assert (float(done["height"]), float(denied["height"])) == (77.78, 22.22)
    assert not drawing.find_all(style=True)
    bucket = page.html.find("caption", string=re.compile("^Records over")).parent.tbody.find_all("a")[-1]
    assert len(records(browser.open(bucket["href"]))) == 9


@pytest.mark.parametrize("path", ["/projects/shop/settings", "/projects/shop/environments/prod/history"])
def test_a_scope_leads_to_its_own_part_of_the_log(service, admin, path):
    scope = "shop/prod" if "environments" in path else "shop"
    service.grant(ADA, "admin", scope)
    service.grant("writer@example.com", "writer", scope)
    page = Browser(service, ADA).open(path).click("Activity$", index=0)
    assert {row[4] for row in records(page)} <= {"shop", "shop/prod", "shop/dev"}
    assert ("shop/dev" in {row[4] for row in records(page)}) is (scope == "shop")
    page = Browser(service, "writer@example.com").open(path)
    assert "Activity" not in page.text


def test_the_entry_of_the_navigation_is_marked(browser):
    links = browser.open("/audit").html.find("nav", {"aria-label": "Main"}).find_all("a")
    assert [link.text for link in links if link.get("aria-current")] == ["Audit log"]


@pytest.mark.both_engines
def test_everything_in_the_log_is_shown_as_text(browser, service):
    log(
        service,
        action=EVIL[:30],
        actor_subject=EVIL,
        reason=EVIL,
        request_id=EVIL,
        detail=json.dumps({EVIL: EVIL, "changes": [{"key": EVIL, "kind": EVIL}]}),
    )
    page = browser.open("/audit")
    assert page.html.text.count(EVIL) >= 6
    assert all(script["src"].startswith("/static/") for script in page.html.find_all("script"))
    assert not page.html.find_all(style=True)
    page = browser.open("/audit", params={"actor": EVIL})
    assert len(records(page)) == 1
    assert page.html.find(id="actor")["value"] == EVIL


@pytest.mark.slow
@pytest.mark.both_engines
@pytest.mark.parametrize("count", [1, 120])
def test_the_page_takes_as_many_statements_however_much_there_is(make_service, count):
    service = make_service(LAST_SEEN_RESOLUTION="3600000")
    arrange(service)
    columns = {name: value for name, value in service.scope("shop/prod").items() if name != "scope_type"}
    log(service, count, created_at=now_ms(), **columns)
    service.grant(ADA, "admin", "shop")
    for subject, path, expected in (
        ("root@example.com", "/audit", 4),
        ("root@example.com", "/audit?show=changes", 4),
        ("root@example.com", "/audit?project=shop&request_id=made-by-a-test", 6),
        (ADA, "/audit", 5),
    ):
        browser = Browser(service, subject)
        browser.open(path)
        with recorded(service.engine) as statements:
            browser.open(path)
        assert len(statements) == expected, (subject, path)


def test_the_known_actions_are_those_that_are_recorded(here, service):
    modules = (path for path in (here / "secretsvc").rglob("*.py") if path.name != "__init__.py")
    sources = "".join(path.read_text() for path in modules)
    said = set(re.findall(r"\"((?:project|environment|secret|identity|keyring|group)\.[a-z.]+)\"", sources))
    others = {name for name in said if name.endswith((".id", ".example"))}
    assert said - others - {"group.grant"} <= set(service.app.registry.audit_actions)


@pytest.mark.slow
@pytest.mark.both_engines
def test_questions_are_filters_of_the_address_that_stand_for_several_actions(browser, service, admin):
    Vault(admin).set(A="1")
    Vault(admin).get("secrets/A")
    Vault(admin).values()
    terms = {"identity_id": str(service.identity_id("bob@example.com")), "role": "reader", "expires_at": None}
    admin.post("/grants", terms | {"scope_type": "project", "project": "shop"}, 201)
    service.user("stranger@example.com").get("/projects/shop", 404)
    page = browser.open("/audit?project=shop")
    asked = {link.text.split()[0]: link["href"] for link in page.html.select(".seg a")}
    assert [*asked] == ["Everything", "Denied", "Reveals", "Exports", "Changes", "Access"]
    found = {label: set(actions(browser.open(path))) for label, path in asked.items()}
    assert found["Denied"] == {"authz.project.reader"}
    assert found["Reveals"] == {"secret.reveal"}
    assert found["Exports"] == {"secret.export"}
    assert found["Changes"] == {"secret.batch"}
    assert found["Access"] == {"grant.create"}
    page = browser.open(asked["Changes"])
    current = page.html.select_one(".seg [aria-current]")
    assert read(current) == "Changes 1"
    assert filters(page)["show"].value == "changes"
    assert "show" not in urlsplit(chips(page)["Project shop"]).query.replace("show=changes", "")


@pytest.mark.slow
@pytest.mark.both_engines
def test_each_question_says_how_many_answer_it_whichever_is_chosen(browser, service, admin, monkeypatch):
    Vault(admin).set(A="1")
    for _ in range(3):
        Vault(admin).get("secrets/A")
    Vault(admin).values()
    log(service, 2, action="secret.reveal", outcome="denied", created_at=now_ms())
    log(service, 4, action="secret.reveal", created_at=1)
    counts = asked_numbers(browser.open("/audit"))
    everything = int(counts["Everything"])
    assert counts == counts | {"Denied": "2", "Reveals": "5", "Exports": "1", "Changes": "1"}
    for query in ("show=changes", "outcome=denied", "action=secret.reveal", "action=project.create"):
        assert asked_numbers(browser.open(f"/audit?{query}")) == counts
    far = asked_numbers(browser.open("/audit?actor=nobody&outcome=denied"))
    assert {*far.values()} == {"0"}
    monkeypatch.setattr(activity, "COUNTED", everything - 1)
    counted = asked_numbers(browser.open("/audit?outcome=denied"))
    assert [label for label, number in counted.items() if number] == ["Denied"]
    assert not any(asked_numbers(browser.open("/audit")).values())


@pytest.mark.slow
@pytest.mark.both_engines
def test_questions_count_no_more_than_the_caller_may_audit(service, admin):
    arrange(service, "depot", "prod")
    Vault(admin, "/projects/depot/environments/prod").set(A="1")
    Vault(admin).set(A="1")
    service.grant(ADA, "admin", "shop")
    for query in ("", "?show=changes", "?outcome=denied", "?environment=prod"):
        assert asked_numbers(Browser(service, ADA).open(f"/audit{query}"))["Changes"] == "1"


def asked_numbers(page):
    """What stands beside each question."""
    links = page.html.select(".seg a")
    return {link.find(string=True).strip(): link.b.text if link.b else "" for link in links}


@pytest.mark.slow
@pytest.mark.both_engines
def test_several_actions_are_paged_and_narrowed_as_one(service, admin):
    for number in range(7):
        Vault(admin).set(A=str(number))
        service.grant(f"p{number}@example.com", "reader", "shop/prod")
        Vault(admin).rollback("A", 1)
    service.grant(ADA, "admin", "shop")
    for subject in ("root@example.com", ADA):
        page, seen = Browser(service, subject).open("/audit?show=changes&limit=4"), []
        while True:
            seen += actions(page)
            if page.html.find("a", rel="next") is None:
                break
            page = page.click("^Older")
        assert seen == ["secret.rollback", "secret.batch"] * 7


def test_what_the_filters_find_is_a_file_of_either_kind(browser, service, admin):
    Vault(admin).batch(set={"TOKEN": "very-secret"}, reason="=HYPERLINK(1)")
    log(service, 60, action="test.many", actor_subject="-2+3")
    page = browser.open("/audit?project=shop")
    path = page.html.select_one("a[href*='audit.csv']")["href"]
    answer = browser.get(path)
    assert answer.content_type == "text/csv"
    assert answer.headers["Content-Disposition"] == 'attachment; filename="audit.csv"'
    rows = list(csv.reader(answer.text.splitlines()))
    assert rows[0][:4] == ["time", "action", "outcome", "actor"]
    assert rows[1][1] == "secret.batch"
    assert rows[1][7] == "'=HYPERLINK(1)"
    assert len(rows) - 1 == len(records(page))
    many = list(csv.reader(browser.get("/audit.csv?action=test.many&limit=5").text.splitlines()))
    assert len(many) == 61
    assert many[1][3] == "'-2+3"
    lines = browser.get("/audit.jsonl?show=changes").text.splitlines()
    assert [json.loads(line) for line in lines] == admin.get("/audit?action=secret.batch").json["items"]
    assert "very-secret" not in answer.text


def test_no_cell_of_a_file_is_a_formula(browser, service):
    for begin in "=+-@\t\r":
        log(service, action="test.odd", actor_subject=f"{begin}1")
    text = browser.get("/audit.csv?action=test.odd").text
    _, *rows = csv.reader(io.StringIO(text, newline=""))
    assert [row[3] for row in rows] == [f"'{begin}1" for begin in "\r\t@-+="]


def test_a_file_is_narrowed_as_the_page_is(service, admin):
    arrange(service, "depot", "prod")
    service.grant(ADA, "admin", "shop")
    service.grant("rita@example.com", "writer")
    ada = Browser(service, ADA)
    assert "depot" not in ada.get("/audit.jsonl").text
    ada.get("/audit.csv?project=depot", status=404)
    ada.get("/audit.csv?since=soon", status=422)
    Browser(service, "rita@example.com").get("/audit.csv", status=403)


def test_a_file_holds_no_more_than_its_limit_and_the_newest(browser, service, monkeypatch):
    for number in range(5):
        log(service, action="test.many", request_id=str(number), detail=json.dumps({"key": "A"}))
    assert exported(browser) == ["4", "3", "2", "1", "0"]
    monkeypatch.setattr(domain, "CHUNK", 2)
    assert exported(browser) == ["4", "3", "2", "1", "0"]
    monkeypatch.setattr(domain, "EXPORTED", 3)
    assert exported(browser) == ["4", "3", "2"]
    monkeypatch.setattr(domain, "DETAILS", 2 * len('{"key": "A"}'))
    assert exported(browser) == ["4", "3"]


def exported(browser: Browser) -> list[str]:
    """The requests of the records in a file."""
    lines = browser.get("/audit.jsonl?action=test.many").text.splitlines()
    return [json.loads(line)["request_id"] for line in lines]


@pytest.mark.slow
def test_a_package_outside_says_how_its_records_are_told(make_service, tmp_path, monkeypatch):
    (tmp_path / "painting.py").write_text(
        """
def includeme(config):
    config.add_audit_action("acme.paint", sentence="painted {key} {colour} in {scope}", icon="wand-sparkles")
    config.add_audit_action("acme_note.create")
"""
    )
    monkeypatch.syspath_prepend(tmp_path)
    service = make_service(**{"PYRAMID.INCLUDES": "painting"})
    arrange(service)
    columns = {name: value for name, value in service.scope("shop/prod").items() if name != "scope_type"}
    log(service, action="acme.paint", detail=json.dumps({"key": "A", "colour": "red"}), **columns)
    log(service, action="acme_note.create", **columns)
    log(service, action="acme.paint")
    page = Browser(service).open("/audit?actor=writer@example.com")
    told = [read(line).replace("writer@example.com ", "") for line in page.html.select(".what")]
    assert told == [
        "painted a key something in everything",
        "created acme note in Shop / Prod",
        "painted A red in Shop / Prod",
    ]
    assert page.html.select(".log li")[2].select("use")[0]["href"].endswith("#wand-sparkles")


def test_a_global_admin_is_told_how_far_the_log_is_sealed(vault, service):
    vault.set(A="x")
    service.grant(ADA, "admin", "shop")
    assert "sealed" not in words(Browser(service).open("/audit"))
    while service.app.registry.audit_sealer.step():
        pass
    told = f"{len(service.audit())} records sealed, last just now"
    assert told in words(Browser(service).open("/audit?action=test.none"))
    assert "sealed" not in words(Browser(service, ADA).open("/audit"))
