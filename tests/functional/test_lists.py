"""Lists of projects, identities, groups and grants: whole, or page by page (contract 2)."""

from __future__ import annotations

import pytest
from resource_fields import paths

from secretsvc.kernel.ids import new_id

pytestmark = pytest.mark.both_engines

LISTS = pytest.mark.parametrize("path", ["/projects", "/identities", "/groups", "/grants"])
COUNT = 7


@pytest.fixture
def full(service):
    """The administrator of a service that has seven of each kind."""
    admin = service.user()
    for number in range(COUNT):
        admin.post("/projects", {"slug": f"p{number}", "name": "P"}, 201)
        service.group(f"g{number}")
        if number:
            service.grant(f"u{number}@example.com", "admin")
    return admin


def pages(client, path, limit):
    """The ids of each page, to the last."""
    query, found = f"?limit={limit}", []
    while True:
        answer = client.get(path + query).json
        assert answer.keys() == {"items", "next_cursor"}
        found.append([item["id"] for item in answer["items"]])
        assert len(found) <= 2 * COUNT, "the pages have no end"
        if answer["next_cursor"] is None:
            return found
        query = f"?limit={limit}&cursor={answer['next_cursor']}"


@LISTS
def test_without_a_limit_a_list_is_whole(full, path):
    answer = full.get(path).json
    assert len(answer["items"]) == COUNT
    assert answer["next_cursor"] is None
    ids = [item["id"] for item in answer["items"]]
    assert ids == sorted(ids)


@LISTS
@pytest.mark.parametrize("limit", [1, 3, COUNT - 1, COUNT, 1000])
def test_pages_hold_what_the_list_holds(full, path, limit):
    whole = [item["id"] for item in full.get(path).json["items"]]
    read = pages(full, path, limit)
    assert [one for page in read for one in page] == whole
    assert len(read) == -(-COUNT // limit)
    assert all(len(page) <= limit for page in read)


@LISTS
def test_a_cursor_without_a_limit_gives_the_rest(full, path):
    whole = [item["id"] for item in full.get(path).json["items"]]
    first = full.get(f"{path}?limit=2").json
    rest = full.get(f"{path}?cursor={first['next_cursor']}").json
    assert [item["id"] for item in rest["items"]] == whole[2:]
    assert rest["next_cursor"] is None


@LISTS
def test_a_page_neither_skips_nor_repeats_when_the_list_changes(service, full, path):
    whole = [item["id"] for item in full.get(path).json["items"]]
    first = full.get(f"{path}?limit=3").json
    full.post("/projects", {"slug": "late", "name": "Late"}, 201)
    service.group("late")
    service.grant("late@example.com", "admin")
    if path == "/projects":
        full.delete("/projects/p0")
    rest = full.get(f"{path}?limit=1000&cursor={first['next_cursor']}").json["items"]
    assert [item["id"] for item in rest][:-1] == whole[3:]


@LISTS
@pytest.mark.parametrize(
    ("query", "where"),
    [
        ("limit=0", "limit"),
        ("limit=1001", "limit"),
        ("limit=-1", "limit"),
        ("limit=%2B1", "limit"),
        ("limit=1.0", "limit"),
        ("limit=", "limit"),
        ("limit=%D9%A1", "limit"),
        ("limit=1&limit=1", "limit"),
        ("cursor=", "cursor"),
        ("cursor=x", "cursor"),
        ("cursor=1", "cursor"),
        ("offset=1", "offset"),
        ("Limit=1", "Limit"),
    ],
)
def test_a_window_outside_its_grammar_is_a_422(admin, path, query, where):
    assert paths(admin.get(f"{path}?{query}", 422)) == {where}


@LISTS
def test_a_cursor_past_the_end_gives_an_empty_page(full, path):
    assert full.get(f"{path}?limit=5&cursor={new_id()}").json == {"items": [], "next_cursor": None}


def test_pages_of_a_narrowed_list_are_full(service, full):
    """The narrowing is in the query: a page is not what was left over of a wider one."""
    for number in range(COUNT):
        service.grant("u1@example.com", "reader", f"p{number}")
        service.grant("ada@example.com", "admin" if number % 2 else "reader", f"p{number}")
    ada = service.user("ada@example.com")
    sizes = [len(page) for page in pages(ada, "/grants", 2)]
    assert sizes == [2, 2, 2]
    assert [len(page) for page in pages(ada, "/projects", 3)] == [3, 3, 1]


@pytest.mark.parametrize("path", ["/whoami", "/access/unknown-identities"])
def test_what_is_no_such_list_takes_no_window(admin, path):
    assert paths(admin.get(f"{path}?limit=1", 422)) == {"limit"}
