"""Protected environments: writes need a reason, and they cannot be deleted (contract 5.13)."""

from __future__ import annotations

import json

import pytest
from fault_injection import at_once
from pages import Browser, form_of, submit, words
from rotation import fill
from secrets_client import ALIAS, BOTH_SPELLINGS, CANONICAL, Vault, records, state
from service import arrange

from secretsvc.tables.projects import environment

WRITES = {
    "batch": {"mode": "merge", "set": {"A": "newer"}},
    "import": {"format": "env", "mode": "merge", "content": "A=newer"},
    "rename": {"from": "A", "to": "Z"},
    "rollback": {"key": "A", "to_version": 1},
}
every_write = pytest.mark.parametrize("verb", WRITES)
BLANK = [None, "", " ", "\t\n\u00a0", "\u200b\u2800\u3164"]


@pytest.fixture
def vault(vault):
    """Protected, with A and B."""
    vault.set(A="one", B="two")
    vault.client.patch(vault.base, {"protected": True})
    return vault


def paths(answer):
    return [issue["path"] for issue in answer.json["issues"]]


def test_an_environment_is_not_protected_unless_it_is_told_to_be(admin, base):
    assert admin.get(base).json["protected"] is False
    listed = admin.get("/projects/shop/environments").json["items"]
    assert [one["protected"] for one in listed] == [False, False]
    made = admin.post("/projects/shop/environments", {"slug": "new", "name": "New"}, 201)
    assert made.json["protected"] is False


def test_creating_one_does_not_take_it(admin):
    body = {"slug": "new", "name": "New", "protected": True}
    assert paths(admin.post("/projects/shop/environments", body, 422)) == ["protected"]


@pytest.mark.both_engines
def test_a_patch_changes_name_description_and_protection(admin, service, base):
    before = admin.get(base).json
    found = admin.patch(base, {"name": " Live ", "description": "Mind the gap", "protected": True}).json
    assert found == before | {
        "name": "Live",
        "description": "Mind the gap",
        "protected": True,
        "updated_at": found["updated_at"],
    }
    assert found["updated_at"] >= before["updated_at"]
    assert admin.get(base).json == found
    [row] = service.audit("environment.update")
    assert json.loads(row["detail"]) == {"fields": ["description", "name", "protected"], "protected": True}
    assert (str(row["environment_id"]), str(row["project_id"])) == (found["id"], found["project_id"])
    assert admin.patch(base, {"protected": False, "description": None}).json["protected"] is False


@pytest.mark.parametrize(("role", "status"), [("reader", 403), ("writer", 403), ("admin", 200)])
def test_an_environment_admin_protects_it_and_nobody_below_does(admin, service, base, role, status):
    service.grant("ada@example.com", role, "shop/prod")
    ada = service.user("ada@example.com")
    ada.patch(base, {"name": "Live", "protected": True}, status)
    assert admin.get(base).json["protected"] is (status == 200)


def test_an_empty_patch_is_a_no_op_without_a_record(admin, service, base):
    before = admin.get(base).json
    assert admin.patch(base, {}).json == before
    assert service.audit("environment.update") == []


@pytest.mark.parametrize(
    ("body", "at"),
    [
        ({"protected": "true"}, "protected"),
        ({"protected": None}, "protected"),
        ({"protected": 1}, "protected"),
        ({"name": ""}, "name"),
        ({"slug": "live"}, "slug"),
        ({"rev": 0}, "rev"),
    ],
)
def test_a_patch_outside_its_schema_is_422(admin, base, body, at):
    assert paths(admin.patch(base, body, 422)) == [at]


@pytest.mark.both_engines
def test_a_patch_that_cannot_be_recorded_does_not_happen(admin, service, base):
    if service.engine.name == "postgresql":
        service.execute("ALTER TABLE audit_record ADD CONSTRAINT never CHECK (action = 'never') NOT VALID")
    else:
        service.execute(
            "CREATE TRIGGER never BEFORE INSERT ON audit_record BEGIN SELECT RAISE(ABORT, 'never'); END"
        )
    admin.patch(base, {"protected": True}, 500)
    assert {row["protected"] for row in service.rows(environment)} == {False}


@BOTH_SPELLINGS
@every_write
def test_a_write_without_a_reason_is_422_at_reason_and_writes_nothing(vault, service, verb):
    before, known = state(service), len(service.audit())
    for reason in BLANK:
        body = WRITES[verb] | ({} if reason is None else {"reason": reason})
        answer = vault.post(verb, body, 422)
        assert answer.json["code"] == "VALIDATION_FAILED"
        assert paths(answer) == ["reason"]
    if verb != "rename":
        assert paths(vault.post(verb, WRITES[verb] | {"reason": None}, 422)) == ["reason"]
    assert state(service) == before
    assert len(service.audit()) == known


@BOTH_SPELLINGS
@every_write
def test_a_write_with_a_reason_is_written_and_recorded_with_it(vault, service, verb):
    vault.post(verb, WRITES[verb] | {"reason": "because"})
    assert records(service)[-1]["reason"] == "because"
    assert vault.get("revisions?limit=1").json["items"][0]["reason"] == "because"


def test_a_dry_run_needs_none(vault):
    answer = vault.load("A=newer", dry_run=True).json
    assert answer["changes"] == [{"key": "A", "kind": "changed"}]


def test_what_would_change_nothing_needs_one_too(vault):
    assert paths(vault.batch(422, delete=["NEVER"])) == ["reason"]


@pytest.mark.parametrize(
    ("verb", "body", "others"),
    [
        ("batch", {"mode": "bogus", "more": 1}, ["mode", "more"]),
        ("batch", {"mode": "merge", "set": {"A": "x"}, "delete": ["A"]}, ["set.A"]),
        ("batch", {"mode": "merge", "reason": 5}, []),
        ("batch", {"mode": "merge", "reason": "x" * 513}, []),
        ("batch", {"mode": "merge", "set": {"A": "x" * 65_537}}, []),
        ("import", {"format": "env", "mode": "merge", "content": "no line"}, ["content"]),
        ("import", {"format": "env", "mode": "merge"}, ["content"]),
        ("rename", {"from": "A", "to": "A"}, ["to"]),
        ("rollback", {"key": "A", "to_version": 0}, ["to_version"]),
    ],
)
def test_it_is_judged_with_the_rest_of_the_body(vault, verb, body, others):
    answer = vault.post(verb, body, 422)
    assert sorted(paths(answer)) == sorted([*others, "reason"])


def test_with_a_reason_the_rest_is_told_as_elsewhere(vault):
    assert paths(vault.batch(422, set={"A": "x"}, delete=["A"], reason="why")) == ["set.A"]
    assert vault.batch(413, set={"A": "x" * 65_537}, reason="why").json["code"] == "PAYLOAD_TOO_LARGE"
    bad = {"format": "env", "mode": "bogus", "content": "", "dry_run": True}
    assert paths(vault.post("import", bad, 422)) == ["mode"]


def test_it_comes_before_what_the_body_is_judged_against(vault):
    for verb, body in (
        ("batch", {"mode": "merge", "set": {"A": "x"}, "expected_rev": 7}),
        ("rename", {"from": "NEVER", "to": "NEW"}),
        ("rename", {"from": "A", "to": "B"}),
        ("rollback", {"key": "A", "to_version": 9}),
    ):
        assert paths(vault.post(verb, body, 422)) == ["reason"]
    assert paths(vault.batch(422, set={"A": "x"}, headers={"If-Match": '"7"'})) == ["reason"]


def test_authorization_and_existence_come_before_it(vault, service):
    service.grant("ada@example.com", "reader", "shop/prod")
    for verb, body in WRITES.items():
        Vault(service.user("ada@example.com"), vault.base).post(verb, body, 403)
        Vault(service.user("eve@example.com"), vault.base).post(verb, body, 404)
        Vault(vault.client, "/projects/shop/environments/absent").post(verb, body, 404)


def test_elsewhere_nothing_is_asked_for(vault):
    dev = Vault(vault.client, vault.base.replace("prod", "dev"))
    dev.set(A="one")
    assert paths(dev.post("batch", {"mode": "bogus"}, 422)) == ["mode"]
    vault.client.patch(vault.base, {"protected": False})
    vault.set(A="again")


@pytest.mark.parametrize("spelling", [CANONICAL, ALIAS])
def test_deleting_it_or_its_project_is_a_conflict(vault, service, spelling):
    for path in (spelling, "/projects/shop"):
        answer = vault.client.delete(path, 409).json
        assert answer["code"] == "CONFLICT"
    assert service.audit("environment.delete") == service.audit("project.delete") == []
    assert vault.values() == {"A": "one", "B": "two"}
    vault.client.patch(spelling, {"protected": False})
    vault.client.delete(spelling)
    vault.client.delete("/projects/shop")


def test_another_environment_and_another_project_can_be_deleted(vault, service):
    vault.client.delete("/projects/shop/environments/dev")
    arrange(service, "depot").delete("/projects/depot")


def test_who_may_not_delete_it_is_not_told_that_it_is_protected(vault, service):
    service.grant("ada@example.com", "writer", "shop")
    ada = service.user("ada@example.com")
    ada.delete(vault.base, 403)
    ada.delete("/projects/shop", 403)
    service.user("eve@example.com").delete(vault.base, 404)


@pytest.mark.both_engines
def test_whoever_protects_it_while_it_is_deleted_either_keeps_it_or_comes_too_late(admin, service):
    arrange(service, "depot", "prod")

    def act(number):
        base = ("/projects/shop/environments/prod", "/projects/depot")[number % 2]
        if number % 4 < 2:
            return admin.request("DELETE", base).status_int
        patched = base if number % 2 == 0 else f"{base}/environments/prod"
        return admin.request("PATCH", patched, {"protected": True}).status_int

    statuses = at_once(8, act)
    left = {str(row["slug"]): row["protected"] for row in service.rows(environment) if row["slug"] == "prod"}
    assert set(statuses) <= {200, 204, 404, 409}
    assert all(left.values())
    for base, mine in (("/projects/shop/environments/prod", 0), ("/projects/depot", 1)):
        gone = admin.request("GET", base).status_int == 404
        assert gone == (204 in [statuses[number] for number in range(8) if number % 2 == mine])


def test_rotation_and_reads_need_no_reason(vault):
    vault.client.post("/admin/rekey", {"limit": 10})
    for path in ("secrets", "secrets:export", "secrets/A", "revisions", "secrets:deleted", "secrets?rev=1"):
        vault.get(path)


@pytest.fixture
def browser(vault, service):
    return Browser(service)


def review(browser, content="A=typed"):
    form = form_of(browser.open(f"{CANONICAL}/import"), "import-review")
    form["content"] = content
    return form.submit()


def test_a_review_without_a_reason_is_drawn_again_and_asks_for_it(browser, vault):
    refused = submit(review(browser), "import-apply", 422)
    assert "Required: the environment is protected." in words(refused)
    assert "while you were typing" not in refused.text
    field = refused.html.find("textarea", id="reason")
    assert field["aria-invalid"] == "true"
    assert field.has_attr("required")
    assert refused.html.find(role="alert").a["href"] == "#reason"
    submit(refused, "import-apply", reason="typed")
    assert vault.value("A") == "typed"


@pytest.mark.slow
def test_a_stale_review_without_a_reason_shows_what_others_wrote(browser, vault):
    page = browser.open(CANONICAL)
    form = page.forms["edits"]
    form["value.A"] = "mine"
    reviewed = form.submit()
    vault.batch(set={"A": "theirs"}, reason="quick")
    refused = submit(reviewed, "edit-apply", 422)
    assert "while you were typing" in refused.text
    again = browser.post(f"{CANONICAL}/edit-review", dict(form_of(refused, "edit-back").submit_fields()))
    submit(again, "edit-apply", reason="mine")
    assert vault.value("A") == "mine"


@pytest.mark.slow
def test_the_forms_of_a_secrets_page_have_a_reason_and_ask_for_it(browser, vault):
    page = f"{CANONICAL}/secrets/A"
    vault.batch(set={"A": "newer"}, reason="why")
    for panel, action, fields in (
        ("?rename", "rename", {"to": "RENAMED"}),
        ("?rollback=1", "rollback", {}),
        ("?describe", "describe", {"description": "new"}),
        ("?delete", "delete", {}),
    ):
        refused = submit(browser.open(page + panel), f"A/{action}", 422, **fields)
        assert "Required: the environment is protected." in words(refused, "[role=dialog]")
    reviewed = submit(browser.open(page), "A/write-review", 200, **{"value.A": "typed"})
    assert "Required: the environment is protected." in words(submit(reviewed, "A/write-apply", 422))
    submit(reviewed, "A/write-apply", reason="one")
    assert vault.value("A") == "typed"
    submit(browser.open(f"{page}?rename"), "A/rename", to="RENAMED", reason="two")
    assert vault.value("RENAMED") == "typed"
    gone = browser.open(f"{CANONICAL}/secrets/RENAMED?delete")
    submit(gone, "RENAMED/delete", reason="three")
    submit(browser.open(f"{CANONICAL}/secrets/RENAMED"), "RENAMED/rollback", reason="four")
    reasons = [one["reason"] for one in vault.get("revisions?limit=4").json["items"]]
    assert reasons == ["four", "three", "two", "one"]


def test_the_pages_that_delete_tell_why_they_do_not(browser, vault):
    page = browser.open(f"{CANONICAL}/settings")
    assert "The environment is protected." in words(submit(page, "delete", 409, confirm="prod"))
    page = browser.open("/projects/shop/settings")
    assert "The project has a protected environment." in words(
        submit(page, "shop/delete", 409, confirm="shop")
    )


def test_secrets_pages_elsewhere_ask_for_no_reason(admin, service):
    fill(admin, 2)
    page = Browser(service).open(f"{CANONICAL}/secrets/KEY_0")
    assert len(page.html.find_all("input", {"name": "reason", "required": True})) == 0
