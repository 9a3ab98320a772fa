"""Reading the audit log: who sees which rows, and the filters (specification, "Audit")."""

from __future__ import annotations

import pytest
from resource_fields import ACTOR, RECORD, log, paths
from service import ADMIN

from secretsvc.kernel.clock import now_ms

pytestmark = pytest.mark.both_engines

ADA = "ada@example.com"
EVE = "eve@example.com"
SECRETS = "/projects/shop/environments/prod/secrets"


def ids(client, query=""):
    """The ids of one page, as it is ordered."""
    return [row["id"] for row in client.get(f"/audit{query}").json["items"]]


def texts(*found):
    return [str(one) for one in found]


@pytest.fixture
def rows(service, admin):
    """One row for each kind of scope, by its name; `depot` too has a `prod`."""
    admin.post("/projects", {"slug": "depot", "name": "Depot"}, 201)
    admin.post("/projects/depot/environments", {"slug": "prod", "name": "Prod"}, 201)
    found = {}
    for path in ("shop", "shop/prod", "shop/dev", "depot", "depot/prod"):
        columns = {name: value for name, value in service.scope(path).items() if name != "scope_type"}
        [found[path]] = log(service, action="test.scope", **columns)
        if columns["environment_id"]:
            # As a denial at environment scope is: without its project.
            bare = columns | {"project_id": None}
            [found[f"{path} alone"]] = log(service, action="test.scope", outcome="denied", **bare)
    [found["global"]] = log(service, action="test.scope")
    return {name: str(row) for name, row in found.items()}


def seen(client, rows, query=""):
    query = f"?action=test.scope{query}"
    return {name for name, row in rows.items() if row in set(ids(client, query))}


SHOP = {"shop", "shop/prod", "shop/prod alone", "shop/dev", "shop/dev alone"}
PROD = {"shop/prod", "shop/prod alone"}
DEPOT_PROD = {"depot/prod", "depot/prod alone"}


def test_a_record_has_the_fields_of_the_contract(service, admin):
    body = {"mode": "merge", "set": {"KEY": "value"}, "reason": "a test"}
    admin.post(f"{SECRETS}:batch", body, headers={"X-Request-Id": "mine"})
    answer = admin.get("/audit?limit=1").json
    assert answer.keys() == {"items", "next_cursor"}
    [row] = answer["items"]
    assert row.keys() == RECORD
    assert row["actor"].keys() == ACTOR
    me = admin.get("/whoami").json["identity"]
    assert row["actor"] == {"identity_id": me["id"], "kind": "user", "subject": ADMIN}
    scope = service.scope("shop/prod")
    assert (row["project_id"], row["environment_id"]) == tuple(
        str(scope[name]) for name in ("project_id", "environment_id")
    )
    assert (row["action"], row["outcome"], row["request_id"]) == ("secret.batch", "success", "mine")
    assert row["reason"] == "a test"
    assert row["detail"] == {"rev": 1, "changes": [{"key": "KEY", "kind": "added", "version": 1}]}


def test_the_system_has_neither_identity_nor_kind(admin):
    [row] = admin.get("/audit?action=grant.bootstrap").json["items"]
    assert row["actor"] == {"identity_id": None, "kind": None, "subject": "system"}


VISIBLE = {
    "global": SHOP | {"depot", "global"} | DEPOT_PROD,
    "shop": SHOP,
    "depot": {"depot"} | DEPOT_PROD,
    "shop/prod": PROD,
    "depot/prod": DEPOT_PROD,
}


@pytest.mark.parametrize("shared", [False, True], ids=["direct", "group"])
@pytest.mark.parametrize("mine", VISIBLE)
def test_an_admin_sees_the_rows_of_its_scope_and_below(service, rows, mine, shared):
    service.grant(service.group("team", ADA) if shared else ADA, "admin", mine, group=shared)
    assert seen(service.user(ADA), rows) == VISIBLE[mine]


def test_several_scopes_add_up_and_lower_roles_add_nothing(service, rows):
    service.grant(ADA, "admin", "shop/prod")
    service.grant(ADA, "admin", "depot")
    service.grant(ADA, "admin", "depot/prod")
    service.grant(ADA, "writer", "shop")
    service.grant(ADA, "reader")
    ada = service.user(ADA)
    assert seen(ada, rows) == PROD | {"depot"} | DEPOT_PROD
    found = ids(ada)
    assert len(found) == len(set(found))


@pytest.mark.parametrize(
    ("mine", "query", "expected"),
    [
        ("global", "&project=shop", SHOP),
        ("global", "&project=shop&environment=prod", PROD),
        ("global", "&environment=prod", PROD | DEPOT_PROD),
        ("global", "&environment=dev", {"shop/dev", "shop/dev alone"}),
        ("global", "&outcome=denied&environment=prod", {"shop/prod alone", "depot/prod alone"}),
        ("shop", "&project=shop", SHOP),
        ("shop", "&project=shop&environment=prod", PROD),
        ("shop", "&environment=prod", PROD),
        ("depot/prod", "&environment=prod", DEPOT_PROD),
        ("depot/prod", "&project=depot&environment=prod", DEPOT_PROD),
        ("shop/prod", "&project=shop&environment=prod", PROD),
    ],
)
def test_project_and_environment_narrow_as_a_pair(service, rows, mine, query, expected):
    service.grant(ADA, "admin", mine)
    assert seen(service.user(ADA), rows, query) == expected


HIDDEN = [
    # who asks, for what is there, for what is not, and the columns of the denial
    ("depot", "?project=shop", "?project=absent", "shop"),
    ("shop/prod", "?project=shop", "?project=absent", "shop"),
    ("depot", "?project=shop&environment=prod", "?project=shop&environment=absent", "shop/prod"),
    ("depot", "?project=shop&environment=prod", "?project=absent&environment=prod", "shop/prod"),
    ("shop/prod", "?project=shop&environment=dev", "?project=shop&environment=absent", "shop/dev"),
    ("shop/prod", "?project=depot&environment=prod", "?project=depot&environment=dev", "depot/prod"),
    ("depot", "?environment=dev", "?environment=absent", "shop/dev"),
    ("depot", "?project=shop&limit=1&actor=x", "?project=absent&limit=1&actor=x", "shop"),
]


@pytest.mark.parametrize(("mine", "there", "absent", "scope"), HIDDEN)
def test_what_may_not_be_audited_is_answered_like_what_is_absent(service, rows, mine, there, absent, scope):
    service.grant(ADA, "admin", mine)
    service.grant(ADA, "writer", "shop")
    ada = service.user(ADA)
    hidden, missing = ada.get(f"/audit{there}", 404), ada.get(f"/audit{absent}", 404)
    assert {**hidden.json, "request_id": ""} == {**missing.json, "request_id": ""}
    assert hidden.json["code"] == "NOT_FOUND"
    [denial] = [row for row in service.denials() if row["action"] != "test.scope"]
    assert denial["action"] == "access.denied"
    columns = service.scope(scope)
    project_id = None if columns["environment_id"] else columns["project_id"]
    assert (denial["project_id"], denial["environment_id"]) == (project_id, columns["environment_id"])


def test_a_denial_by_a_slug_of_several_environments_is_one_row(service, rows):
    service.grant(ADA, "admin", "shop/dev")
    service.user(ADA).get("/audit?environment=prod", 404)
    [denial] = service.denials()[len([name for name in rows if "alone" in name]) :]
    assert denial["action"] == "access.denied"


@pytest.mark.parametrize("role", [None, "reader", "writer"])
def test_below_admin_the_log_is_closed_and_the_attempt_recorded(service, admin, role):
    if role:
        service.grant(ADA, role)
    for query in ("", "?project=shop", "?project=absent"):
        service.user(ADA).get(f"/audit{query}", 403)
    assert [row["action"] for row in service.denials()] == ["authz.global.admin"] * 3


def test_the_denials_in_an_environment_are_seen_by_the_projects_admin(service, admin):
    service.user(EVE).get(SECRETS, 404)
    service.grant(ADA, "admin", "shop")
    rows = service.user(ADA).get("/audit?outcome=denied").json["items"]
    [row] = rows
    assert (row["action"], row["project_id"]) == ("authz.environment.reader", None)
    assert row["environment_id"] == str(service.scope("shop/prod")["environment_id"])
    assert row["actor"]["subject"] == EVE
    assert service.user(ADA).get("/audit?project=shop&outcome=denied").json["items"] == rows


def test_the_rows_of_a_deleted_project_stay(service, admin):
    service.grant(ADA, "admin", "shop")
    shop, prod = service.scope("shop")["project_id"], service.scope("shop/prod")["environment_id"]
    admin.delete("/projects/shop")
    rows = admin.get("/audit?limit=500").json["items"]
    assert {"project.create", "environment.create", "project.delete"} <= {row["action"] for row in rows}
    assert {row["project_id"] for row in rows} == {None, str(shop)}
    assert str(prod) in {row["environment_id"] for row in rows}
    admin.get("/audit?project=shop", 404)
    service.user(ADA).get("/audit", 403)
    # A new project of the old name is another one.
    admin.post("/projects", {"slug": "shop", "name": "Shop"}, 201)
    [row] = admin.get("/audit?project=shop").json["items"]
    assert row["action"] == "project.create"


def test_the_actor_is_matched_as_given_and_lower_cased(service, admin):
    [person] = log(service, actor_subject="mixed@example.com")
    [robot] = log(service, actor_subject="Deploy.Access", actor_kind="service")
    [other] = log(service, actor_subject="deploy.access", actor_kind="service")
    assert ids(admin, "?actor=Mixed@Example.COM") == ids(admin, "?actor=mixed@example.com") == texts(person)
    assert ids(admin, "?actor=Deploy.Access") == texts(other, robot)
    assert ids(admin, "?actor=deploy.access") == texts(other)
    assert ids(admin, "?actor=mixed") == []
    assert ids(admin, "?actor=mixed@example.co%25") == []


def test_action_and_outcome_match_exactly(service, admin):
    [one] = log(service, action="test.one")
    [two] = log(service, action="test.one", outcome="denied")
    log(service, action="test.one.more")
    assert ids(admin, "?action=test.one") == texts(two, one)
    assert ids(admin, "?action=test.one&outcome=denied") == texts(two)
    assert ids(admin, "?action=test.one&outcome=success") == texts(one)
    assert ids(admin, "?action=test") == []


def test_since_is_inclusive_and_until_exclusive(service, admin):
    at = now_ms()
    rows = [log(service, created_at=at + after, action="test.time")[0] for after in (100, 200, 300)]
    query = "?action=test.time"
    assert ids(admin, f"{query}&since={at + 200}") == texts(rows[2], rows[1])
    assert ids(admin, f"{query}&since={at + 201}") == texts(rows[2])
    assert ids(admin, f"{query}&until={at + 200}") == texts(rows[0])
    assert ids(admin, f"{query}&until={at + 201}") == texts(rows[1], rows[0])
    assert ids(admin, f"{query}&since={at + 200}&until={at + 300}") == texts(rows[1])
    assert ids(admin, f"{query}&since={at + 200}&until={at + 200}") == []
    assert ids(admin, f"{query}&since={at + 300}&until={at + 100}") == []
    assert ids(admin, f"{query}&since=0&until={2**53 - 1}") == texts(*reversed(rows))


@pytest.mark.parametrize(
    "apart", [-500_000, 500_000], ids=["its request took long", "the clock was set back"]
)
def test_a_time_is_found_where_the_id_was_made_minutes_before_or_after(service, admin, apart):
    at = now_ms() + apart
    [row] = log(service, created_at=at, action="test.time")
    assert ids(admin, f"?action=test.time&since={at}&until={at + 1}") == texts(row)
    assert ids(admin, f"?action=test.time&until={at}") == []
    assert ids(admin, f"?action=test.time&since={at + 1}") == []


def test_every_filter_at_once_means_all_of_them(service, admin):
    scope = {name: value for name, value in service.scope("shop/prod").items() if name != "scope_type"}
    at = now_ms()
    wanted = {"action": "test.all", "outcome": "denied", "actor_subject": ADA, "created_at": at, **scope}
    [row] = log(service, **wanted)
    for other in (
        {"action": "test.other"},
        {"outcome": "success"},
        {"actor_subject": EVE},
        {"created_at": at - 1},
        {"created_at": at + 1},
        {"environment_id": None},
    ):
        log(service, **wanted | other)
    query = "project=shop&environment=prod&actor=ADA@example.com&action=test.all&outcome=denied"
    assert ids(admin, f"?{query}&since={at}&until={at + 1}&limit=5") == texts(row)


def test_a_detail_that_cannot_be_parsed_is_null(service, admin):
    for text in ("{", "", "nonsense", "NaN", "[" * 5_000, '{"a":1}trailing'):
        log(service, detail=text, action="test.detail")
    log(service, detail='{"a": [1, null, "\\u00e9"]}', action="test.detail")
    log(service, detail=None, action="test.detail")
    found = [row["detail"] for row in admin.get("/audit?action=test.detail").json["items"]]
    assert found == [None, {"a": [1, None, "é"]}] + [None] * 6


def test_reading_the_log_leaves_no_row(service, admin):
    before = len(service.audit())
    admin.get("/audit")
    admin.get("/audit?project=absent", 404)
    assert len(service.audit()) == before


@pytest.mark.parametrize(
    ("query", "where"),
    [
        ("limit=0", "limit"),
        ("limit=501", "limit"),
        ("limit=x", "limit"),
        ("limit=", "limit"),
        ("cursor=", "cursor"),
        ("cursor=x", "cursor"),
        ("cursor=1", "cursor"),
        ("cursor=01a1fd34-cc35-77dc-a4c8-e3e58949487ax", "cursor"),
        ("since=-1", "since"),
        ("since=1.5", "since"),
        ("since=2026-01-01", "since"),
        (f"until={2**53}", "until"),
        ("until=%D9%A1", "until"),
        ("outcome=failure", "outcome"),
        ("outcome=", "outcome"),
        ("project=No%20Slug", "project"),
        ("environment=", "environment"),
        ("actor=", "actor"),
        ("actor=" + "a" * 321, "actor"),
        ("action=", "action"),
        ("action=a%00b", "action"),
        ("actor=a&actor=b", "actor"),
        ("user=ada", "user"),
    ],
)
def test_a_query_outside_its_grammar_is_a_422(admin, query, where):
    assert paths(admin.get(f"/audit?{query}", 422)) == {where}


def test_a_record_tells_where_its_request_came_from_if_a_proxy_is_trusted_to_say_so(make_service):
    service = make_service(TRUSTED_PROXIES="127.0.0.0/8")
    sent = {"headers": {"X-Forwarded-For": "192.0.2.7"}, "environ": {"REMOTE_ADDR": "127.0.0.1"}}
    admin = service.user()
    admin.post("/projects", {"slug": "shop", "name": "Shop"}, status=201, **sent)
    service.user("eve@example.com").get("/projects/shop", status=404, **sent)
    found = {row["action"]: row["client_address"] for row in admin.get("/audit").json["items"]}
    assert found == dict.fromkeys(
        ("authz.project.reader", "identity.create", "project.create", "grant.bootstrap"), "192.0.2.7"
    )
    plain = service.restarted(TRUSTED_PROXIES="").user()
    plain.patch("/projects/shop", {"name": "Store"}, **sent)
    assert plain.get("/audit?limit=1").json["items"][0]["client_address"] is None
