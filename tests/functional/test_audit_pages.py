"""Pages of the audit log: by key, never by offset, so that nothing is skipped or repeated."""

from __future__ import annotations

from uuid import UUID

import pytest
from resource_fields import log

from secretsvc.kernel.ids import new_id

pytestmark = pytest.mark.both_engines

ADA = "ada@example.com"
QUERY = "/audit?action=test.page"


def page(client, limit, cursor=None):
    answer = client.get(f"{QUERY}&limit={limit}" + (f"&cursor={cursor}" if cursor else "")).json
    return [row["id"] for row in answer["items"]], answer["next_cursor"]


def newest_first(rows):
    return [str(row) for row in reversed(rows)]


@pytest.fixture
def rows(service, admin):
    """Seven rows, oldest first, at five scopes of which three are shop's."""
    admin.post("/projects", {"slug": "depot", "name": "Depot"}, 201)
    scopes = [service.scope(path) for path in ("shop", "shop/prod", "shop/dev", "depot", "global")]
    found = []
    for number in range(7):
        columns = {name: value for name, value in scopes[number % 3].items() if name != "scope_type"}
        found += log(service, action="test.page", **columns)
        hidden = {name: value for name, value in scopes[3 + number % 2].items() if name != "scope_type"}
        log(service, action="test.page", **hidden)
    return found


@pytest.mark.parametrize("limit", [1, 2, 3, 6, 7, 8, 500])
def test_pages_together_are_the_whole_newest_first(service, rows, limit):
    service.grant(ADA, "admin", "shop")
    ada, found, cursor, count = service.user(ADA), [], None, 0
    while count == 0 or cursor:
        items, cursor = page(ada, limit, cursor)
        assert len(items) <= limit
        found += items
        count += 1
        assert count <= 2 * len(rows), "the pages have no end"
    assert found == newest_first(rows)
    assert count == -(-len(rows) // limit)


def test_rows_that_arrive_between_pages_neither_repeat_nor_displace_any(service, admin):
    old = log(service, 9, action="test.page")
    found, cursor = page(admin, 4)
    while cursor:
        log(service, 5, action="test.page")
        items, cursor = page(admin, 4, cursor)
        found += items
        assert len(found) <= len(old)
    assert found == newest_first(old)


def test_the_default_limit_is_fifty_and_the_greatest_five_hundred(service, admin):
    log(service, 501, action="test.page")
    answer = admin.get(QUERY).json
    assert len(answer["items"]) == 50
    assert answer["next_cursor"] is not None
    items, cursor = page(admin, 500)
    assert len(items) == 500
    assert len(page(admin, 500, cursor)[0]) == 1


def test_a_last_page_that_is_full_has_no_cursor(service, admin):
    log(service, 4, action="test.page")
    first, cursor = page(admin, 2)
    second, end = page(admin, 2, cursor)
    assert (len(first), len(second), end) == (2, 2, None)
    assert page(admin, 4)[1] is None


def test_a_cursor_works_without_the_row_that_it_came_from(service, admin):
    before = log(service, 2, action="test.page")
    cursor = new_id()
    log(service, 2, action="test.page")
    assert page(admin, 5, cursor) == (newest_first(before), None)


def test_a_cursor_does_not_widen_what_is_seen(service, rows):
    service.grant(ADA, "admin", "shop/prod")
    prod = newest_first(rows[1::3])
    ada = service.user(ADA)
    first, cursor = page(ada, 1)
    assert first == prod[:1]
    assert page(ada, 500, cursor) == (prod[1:], None)


@pytest.mark.slow
def test_an_admin_of_very_many_scopes_reads_one_log(service, admin):
    """More scopes than the parts of one query."""
    count = 130
    for number in range(count):
        admin.post("/projects/shop/environments", {"slug": f"e{number}", "name": "E"}, 201)
    service.grant(ADA, "admin", "shop")
    ada = service.user(ADA)
    ids = [UUID(item["id"]) for item in ada.get("/projects/shop/environments").json["items"]]
    made = [row for one in ids for row in log(service, action="test.page", environment_id=one)]
    assert len(made) > count
    first, cursor = page(ada, 100)
    rest, end = page(ada, 100, cursor)
    assert first + rest == newest_first(made)
    assert end is None
