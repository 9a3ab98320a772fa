"""A slug that changes hands while a request is judged shows and changes nothing of the new thing."""

from __future__ import annotations

import pytest
from service import arrange
from sqlalchemy import event, update

from secretsvc.kernel.ids import new_id
from secretsvc.tables.projects import environment, project


@pytest.fixture
def swap(service):
    """Gives a slug of a table to a new row right after the next snapshot of grants."""
    armed = []

    def after(connection, cursor, statement, *rest):
        if armed and statement.startswith("WITH me AS"):
            armed.pop()()

    def arm(table, slug):
        def exchange():
            [row] = service.rows(table, table.c.slug == slug)
            service.execute(update(table).where(table.c.id == row["id"]).values(slug="before"))
            service.execute(table.insert(), {**row, "id": new_id(), "name": "New"})

        armed.append(exchange)

    event.listen(service.engine, "after_cursor_execute", after)
    yield arm
    event.remove(service.engine, "after_cursor_execute", after)


@pytest.fixture
def ada(service):
    """An administrator of `shop` and of its `prod`, whose identity needs no touch."""
    arrange(service)
    for path in ("shop", "shop/prod"):
        service.grant("ada@example.com", "admin", path)
    ada = service.user("ada@example.com")
    ada.get("/whoami")
    return ada


REQUESTS = [
    ("GET", "", None),
    ("PATCH", "", {"name": "Taken over"}),
    ("DELETE", "", None),
    ("GET", "/environments", None),
    ("POST", "/environments", {"slug": "new", "name": "New"}),
]


@pytest.mark.parametrize(("method", "rest", "body"), REQUESTS)
def test_a_new_project_under_an_old_slug_is_not_there_for_those_of_the_old_one(
    ada, service, swap, method, rest, body
):
    swap(project, "shop")
    refused = ada.request(method, f"/projects/shop{rest}", body)
    assert (refused.status_int, refused.json["message"]) == (404, "Project not found.")
    assert sorted(row["name"] for row in service.rows(project)) == ["New", "Shop"]
    assert service.count(environment) == 1


ON_ENVIRONMENT = [
    ("GET", "", None),
    ("DELETE", "", None),
    ("GET", "/secrets", None),
    ("GET", "/secrets:export", None),
    ("POST", "/secrets:batch", {"mode": "merge", "set": {"KEY": "x"}}),
]


@pytest.mark.both_engines
@pytest.mark.parametrize(("method", "rest", "body"), ON_ENVIRONMENT)
def test_a_new_environment_under_an_old_slug_is_not_there_either(service, base, swap, method, rest, body):
    arrange(service)
    service.grant("ada@example.com", "admin", "shop/prod")
    ada = service.user("ada@example.com")
    ada.get("/whoami")
    swap(environment, "prod")
    assert ada.request(method, base + rest, body).status_int == 404
    assert [row["rev"] for row in service.rows(environment)] == [0, 0]


def told(answer):
    """What a client reads of a refusal."""
    return answer.status_int, {**answer.json, "request_id": None}


@pytest.mark.both_engines
def test_the_log_of_a_new_project_under_an_old_slug_is_not_read_by_those_of_the_old_one(ada, swap):
    absent = told(ada.get("/audit?project=absent", 404))
    swap(project, "shop")
    assert told(ada.request("GET", "/audit?project=shop")) == absent


@pytest.mark.parametrize("query", ["project=shop&environment=prod", "environment=prod"])
def test_the_log_of_a_new_environment_under_an_old_slug_is_not_read_either(service, swap, query):
    admin = arrange(service)
    service.grant("ada@example.com", "admin", "shop/prod")
    ada = service.user("ada@example.com")
    absent = told(ada.get(f"/audit?{query.replace('prod', 'absent')}", 404))
    assert ada.get(f"/audit?{query}").json["items"]
    swap(environment, "prod")
    assert told(ada.request("GET", f"/audit?{query}")) == absent
    # Unpaired, what is still covered is read, and nothing else.
    admin.post("/projects", {"slug": "depot", "name": "Depot"}, 201)
    depot = admin.post("/projects/depot/environments", {"slug": "prod", "name": "Prod"}, 201).json["id"]
    service.grant("ada@example.com", "admin", "depot/prod")
    rows = ada.get("/audit?environment=prod").json["items"]
    assert {row["environment_id"] for row in rows} == {depot}
