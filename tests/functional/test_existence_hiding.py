"""Invisible and absent are one answer, visible is another (specification, "Authorization" 11)."""

from __future__ import annotations

from contextlib import contextmanager

import pytest
from service import arrange
from sqlalchemy import event

from secretsvc.tables.projects import environment, project

PROJECT = "/projects/{p}"
BATCH = {"mode": "merge", "set": {"KEY": "x"}}
ON_PROJECT = [
    ("GET", PROJECT, None, "reader"),
    ("PATCH", PROJECT, {"name": "N"}, "writer"),
    ("PATCH", PROJECT, {"unknown": 1}, "writer"),
    ("DELETE", PROJECT, None, "admin"),
    ("GET", f"{PROJECT}/environments", None, "reader"),
    ("POST", f"{PROJECT}/environments", {"slug": "new", "name": "New"}, "writer"),
    ("POST", f"{PROJECT}/environments", {"slug": "prod", "name": "Taken"}, "writer"),
]
ON_ENVIRONMENT = [
    ("GET", "", None, "reader"),
    ("PATCH", "", {"protected": True}, "admin"),
    ("PATCH", "", {"unknown": 1}, "admin"),
    ("DELETE", "", None, "admin"),
    ("GET", "/secrets", None, "reader"),
    ("GET", "/secrets/KEY", None, "reader"),
    ("GET", "/secrets/ABSENT", None, "reader"),
    ("GET", "/secrets/KEY:reveal?reason=copy", None, "reader"),
    ("GET", "/secrets/KEY:reveal?reason=unknown", None, "reader"),
    ("GET", "/secrets/KEY/versions", None, "reader"),
    ("GET", "/secrets:export", None, "reader"),
    ("GET", "/secrets?rev=99", None, "reader"),
    ("GET", "/secrets:export?rev=1", None, "reader"),
    ("GET", "/secrets/KEY?version=1", None, "reader"),
    ("GET", "/secrets:deleted", None, "reader"),
    ("GET", "/revisions?cursor=nonsense", None, "reader"),
    ("POST", "/secrets:batch", BATCH, "writer"),
    ("POST", "/secrets:batch", {"mode": "nonsense"}, "writer"),
    ("POST", "/secrets:batch", {**BATCH, "expected_rev": 7}, "writer"),
    (
        "POST",
        "/secrets:import",
        {"format": "env", "content": "A=b", "mode": "merge", "dry_run": True},
        "writer",
    ),
    ("POST", "/secrets:rename", {"from": "KEY", "to": "OTHER"}, "writer"),
    ("POST", "/secrets:rollback", {"key": "KEY", "to_version": 1}, "writer"),
]


@pytest.fixture
def service(make_service):
    """One that records every denial, however many there are."""
    return make_service(DENIAL_LIMIT="")


@pytest.fixture
def town(service):
    """Two projects with an environment each, and Eve, who is known and holds nothing."""
    for slug in ("shop", "vault"):
        arrange(service, slug, "prod", "dev")
        path = f"/projects/{slug}/environments/prod/secrets:batch"
        service.user().post(path, BATCH)
    service.user("eve@example.com").get("/whoami")
    return service


def told(answer):
    """All that a client can compare, but for the id of the request."""
    headers = {
        name.lower(): value
        for name, value in answer.headers.items()
        if name.lower() not in ("x-request-id", "date")
    }
    return answer.status_int, headers, {**answer.json, "request_id": ""}


def denied(service, request_id):
    return [
        (row["action"], row["project_id"], row["environment_id"])
        for row in service.denials()
        if row["request_id"] == request_id
    ]


def ask(client, case, path, request_id):
    return client.request(case[0], path, case[2], headers={"X-Request-Id": request_id})


def project_id(service, slug="vault"):
    return service.rows(project, project.c.slug == slug)[0]["id"]


def environment_id(service, slug="vault", name="prod"):
    found = service.rows(
        environment, environment.c.slug == name, environment.c.project_id == project_id(service, slug)
    )
    return found[0]["id"]


def test_an_invisible_project_answers_like_an_absent_one(town):
    eve = town.user("eve@example.com")
    for number, case in enumerate(ON_PROJECT):
        invisible = ask(eve, case, case[1].format(p="vault"), f"invisible-{number}")
        absent = ask(eve, case, case[1].format(p="nope"), f"nowhere.h-{number}")
        assert told(invisible) == told(absent), case
        assert (invisible.status_int, invisible.json["message"]) == (404, "Project not found."), case
        expected = [(f"authz.project.{case[3]}", project_id(town), None)]
        assert denied(town, f"invisible-{number}") == expected, case
        assert denied(town, f"nowhere.h-{number}") == [], case


@pytest.mark.slow
def test_an_environment_of_an_invisible_project_answers_like_an_absent_one(town, env_path):
    eve = town.user("eve@example.com")
    for number, case in enumerate(ON_ENVIRONMENT):
        path, role = case[1], case[3]
        invisible = ask(eve, case, env_path.format(p="vault", e="prod") + path, f"invisible-{number}")
        for where in ({"p": "vault", "e": "nope"}, {"p": "nope", "e": "prod"}):
            absent = ask(eve, case, env_path.format(**where) + path, f"nowhere.h-{number}")
            assert told(invisible) == told(absent), case
        assert (invisible.status_int, invisible.json["message"]) == (404, "Project not found."), case
        expected = [(f"authz.environment.{role}", None, environment_id(town))]
        assert denied(town, f"invisible-{number}") == expected, case
        assert denied(town, f"nowhere.h-{number}") == [], case


@pytest.mark.slow
def test_an_invisible_environment_of_a_visible_project_answers_like_an_absent_one(town, env_path):
    town.grant("eve@example.com", "admin", "shop/dev")
    eve = town.user("eve@example.com")
    for number, case in enumerate(ON_ENVIRONMENT):
        invisible = ask(eve, case, env_path.format(p="shop", e="prod") + case[1], f"invisible-{number}")
        absent = ask(eve, case, env_path.format(p="shop", e="nope") + case[1], f"nowhere.h-{number}")
        assert told(invisible) == told(absent), case
        assert (invisible.status_int, invisible.json["message"]) == (404, "Environment not found."), case
        expected = [(f"authz.environment.{case[3]}", None, environment_id(town, "shop"))]
        assert denied(town, f"invisible-{number}") == expected, case
        assert denied(town, f"nowhere.h-{number}") == [], case


def test_what_a_reader_may_not_do_is_forbidden(town, env_path):
    town.grant("eve@example.com", "reader", "shop/prod")
    eve = town.user("eve@example.com")
    writes = [case for case in ON_ENVIRONMENT if case[3] != "reader"]
    for number, case in enumerate(writes):
        refused = ask(eve, case, env_path.format(p="shop", e="prod") + case[1], f"r-{number}")
        assert (refused.status_int, refused.json["code"]) == (403, "FORBIDDEN"), case
        expected = [(f"authz.environment.{case[3]}", None, environment_id(town, "shop"))]
        assert denied(town, f"r-{number}") == expected, case


@pytest.mark.parametrize("scope", ["shop", "shop/prod"])
def test_whoever_sees_a_project_is_told_what_is_missing(town, scope):
    town.grant("eve@example.com", "reader", scope)
    eve = town.user("eve@example.com")
    changes = [case for case in ON_PROJECT if case[3] != "reader"]
    for number, case in enumerate(changes):
        refused = ask(eve, case, case[1].format(p="shop"), f"r-{number}")
        assert (refused.status_int, refused.json["code"]) == (403, "FORBIDDEN"), case
        expected = [(f"authz.project.{case[3]}", project_id(town, "shop"), None)]
        assert denied(town, f"r-{number}") == expected, case


def test_what_is_absent_is_not_forbidden_to_a_reader_of_all_there_is(town):
    town.grant("eve@example.com", "reader")
    eve = town.user("eve@example.com")
    absent = [(case, case[1].format(p="nope"), "Project not found.") for case in ON_PROJECT]
    path = "/projects/shop/environments/nope"
    absent += [(case, path + case[1], "Environment not found.") for case in ON_ENVIRONMENT]
    for case, path, message in absent:
        if case[3] != "reader":
            answer = ask(eve, case, path, "absent")
            assert (answer.status_int, answer.json["message"]) == (404, message), case
    assert denied(town, "absent") == []


def test_an_operation_at_global_scope_is_forbidden_and_recorded_there(town):
    eve = town.user("eve@example.com")
    for body in ({"slug": "new", "name": "New"}, {"slug": "shop", "name": "Taken"}, {}):
        eve.post("/projects", body, 403, headers={"X-Request-Id": "r"})
    assert denied(town, "r") == [("authz.global.writer", None, None)] * 3


def test_a_denial_names_its_actor_and_has_no_detail(town):
    town.robot("deploy.access").get("/projects/vault", 404)
    row = town.denials()[-1]
    assert (row["actor_kind"], row["actor_subject"]) == ("service", "deploy.access")
    assert row["identity_id"] == town.identity_id("deploy.access", "service")
    assert (row["reason"], row["detail"]) == (None, None)


@pytest.mark.parametrize(
    ("method", "path", "body", "options"),
    [
        ("GET", "/projects/Not-A-Slug", None, {}),
        ("GET", "/projects/nope", None, {}),
        ("GET", "/nothing", None, {}),
        ("PUT", "/projects/vault", {}, {}),
        ("GET", "/projects", None, {}),
        ("GET", "/projects?x=1", None, {}),
        ("DELETE", "/projects/vault", None, {"headers": {"Sec-Fetch-Site": "cross-site"}}),
    ],
)
def test_nothing_else_is_a_denial(town, method, path, body, options):
    before = len(town.audit())
    town.user("eve@example.com").request(method, path, body, **options)
    assert len(town.audit()) == before


@contextmanager
def work(service):
    """The statements and commits of the application, in order."""
    done = []
    hooks = {
        "before_cursor_execute": lambda *arguments: done.append(arguments[2].split("WHERE")[0][:30]),
        "commit": lambda connection: done.append("COMMIT"),
    }
    for name, hook in hooks.items():
        event.listen(service.engine, name, hook)
    yield done
    for name, hook in hooks.items():
        event.remove(service.engine, name, hook)


@pytest.mark.parametrize("path", ["/projects/{}", "/projects/{}/environments/prod/secrets/KEY"])
def test_the_absent_costs_as_much_work_as_the_invisible(make_service, path):
    service = make_service(LAST_SEEN_RESOLUTION="100000000")
    arrange(service, "vault").post("/projects/vault/environments/prod/secrets:batch", BATCH)
    eve = service.user("eve@example.com")
    eve.get("/whoami")
    efforts = []
    for slug in ("vault", "nope"):
        with work(service) as done:
            eve.get(path.format(slug), 404)
        efforts.append((len(done), done.count("COMMIT")))
    assert efforts[0] == efforts[1]
