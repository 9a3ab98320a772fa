"""Searching over the API: what is found, by whom, and in which order (contract 5.9)."""

from __future__ import annotations

from urllib.parse import urlencode

import pytest
from resource_fields import paths
from secrets_client import Vault
from service import arrange

pytestmark = pytest.mark.both_engines

ADA = "ada@example.com"


@pytest.fixture
def names(service, admin):
    """Two projects; keys in an environment of each, one of them deleted."""
    arrange(service, "depot", "prod")
    shop = Vault(admin)
    shop.set(DATABASE_URL="one", STRIPE_KEY="two", GONE_KEY="three")
    shop.batch(delete=["GONE_KEY"])
    Vault(admin, "/projects/depot/environments/prod").set(DEPOT_KEY="four")
    return service


def ask(client, q, **query):
    return client.get(f"/search?{urlencode({'q': q, **query})}")


def search(client, q, **query):
    return ask(client, q, **query).json["items"]


def found(client, q, **query):
    """The addresses of what is found."""
    return [
        "/".join(filter(None, (one["project"], one["environment"], one["key"])))
        for one in search(client, q, **query)
    ]


def test_any_identity_may_search_and_finds_what_it_sees(names, admin):
    assert found(names.robot("deploy"), "shop") == []
    assert found(names.user(ADA), "shop") == []
    names.grant(ADA, "reader", "shop/prod")
    assert found(names.user(ADA), "shop") == ["shop"]
    assert names.denials() == []


def test_an_item_has_the_fields_of_the_contract(names, admin):
    answer = admin.get("/search?q=ST").json
    assert answer.keys() == {"items"}
    assert answer["items"] == [
        {"kind": "secret", "project": "shop", "environment": "prod", "key": "STRIPE_KEY", "name": None}
    ]
    assert search(admin, "dev") == [
        {"kind": "environment", "project": "shop", "environment": "dev", "key": None, "name": "Dev"}
    ]
    assert search(admin, "shop") == [
        {"kind": "project", "project": "shop", "environment": None, "key": None, "name": "Shop"}
    ]


@pytest.mark.parametrize(
    ("scope", "expected"),
    [
        ("global", ["shop", "depot/prod", "shop/prod", "depot/prod/DEPOT_KEY", "shop/prod/STRIPE_KEY"]),
        ("shop", ["shop", "shop/prod", "shop/prod/STRIPE_KEY"]),
        ("shop/prod", ["shop", "shop/prod", "shop/prod/STRIPE_KEY"]),
        ("shop/dev", ["shop"]),
        ("depot", ["depot/prod", "depot/prod/DEPOT_KEY"]),
        (None, []),
    ],
)
@pytest.mark.parametrize("shared", [False, True], ids=["direct", "group"])
def test_only_what_the_caller_sees_is_found(names, scope, expected, shared):
    if scope:
        names.grant(names.group("crew", ADA) if shared else ADA, "reader", scope, group=shared)
    caller = names.user(ADA)
    assert [*found(caller, "shop"), *found(caller, "prod"), *found(caller, "_KEY")] == expected


@pytest.mark.parametrize("spoilt", ["disabled", "expired"])
def test_what_is_granted_to_the_disabled_or_no_longer_finds_nothing(names, spoilt):
    names.grant(ADA, "admin", expires_at=1 if spoilt == "expired" else None)
    names.grant(ADA, "admin", "shop", expires_at=1 if spoilt == "expired" else None)
    if spoilt == "disabled":
        names.disable(ADA)
    for text in ("shop", "prod", "_KEY"):
        assert found(names.user(ADA), text) == []


def test_it_is_found_anywhere_in_slugs_names_and_keys(names, admin):
    admin.patch("/projects/depot", {"name": "Warehouse of the north"})
    assert found(admin, "of the") == found(admin, "Ware") == found(admin, "north") == ["depot"]
    assert found(admin, "epo") == ["depot", "depot/prod/DEPOT_KEY"]
    assert found(admin, "SE_U") == ["shop/prod/DATABASE_URL"]


def test_values_descriptions_and_deleted_keys_are_not_searched(names, admin):
    Vault(admin).batch(set={"TOKEN": "plaintext"}, descriptions={"TOKEN": "describes"})
    admin.patch("/projects/shop", {"description": "describes"})
    for text in ("plaintext", "describes", "GONE"):
        assert found(admin, text) == []


def test_letters_of_ascii_fold(names, admin):
    admin.post("/projects", {"slug": "mixed", "name": "MiXeD"}, 201)
    Vault(admin).set(mixedKey="x")
    everything = ["mixed", "shop/prod/mixedKey"]
    assert found(admin, "mixed") == found(admin, "MIXED") == found(admin, "mIxEd") == everything


@pytest.mark.parametrize(
    ("name", "other"), [("ÄÖÜ", "äöü"), ("ΣΑΣ", "σας"), ("İstanbul", "i̇stanbul"), ("ǅungla", "ǆungla")]
)
def test_no_other_letters_fold_on_either_engine(names, admin, name, other):
    admin.post("/projects", {"slug": "far", "name": f"A {name} z"}, 201)
    assert found(admin, name) == found(admin, f"a {name} Z") == ["far"]
    assert found(admin, other) == []
    # KELVIN SIGN, which is a small k to whoever folds more than ASCII.
    assert found(admin, "stripe_\u212aey") == []


@pytest.mark.parametrize(
    "text", ["%%", "s%p", "_hop", "//", "\\\\", "''", "sh__", "sh%", "s\\p", "\\_", "/_"]
)
def test_signs_of_patterns_are_literal(names, admin, text):
    assert found(admin, text) == []
    name = f"A {text} sign"
    admin.post("/projects", {"slug": "signs", "name": name}, 201)
    assert found(admin, text) == ["signs"]


def test_a_name_is_null_for_a_secret_and_what_is_shown_otherwise(names, admin):
    kinds = {one["kind"]: one["name"] for text in ("shop", "prod", "STRIPE") for one in search(admin, text)}
    assert kinds == {"project": "Shop", "environment": "Prod", "secret": None}


def test_it_is_sorted_by_kind_project_environment_and_key_by_code_point(service):
    admin = service.user()
    for slug in ("xc", "x-b", "xa", "x0"):
        admin.post("/projects", {"slug": slug, "name": "Findable"}, 201)
        for inner in ("ec", "e-b", "ea"):
            admin.post(f"/projects/{slug}/environments", {"slug": inner, "name": "Findable"}, 201)
            if slug in ("x-b", "xa"):
                vault = Vault(admin, f"/projects/{slug}/environments/{inner}")
                vault.batch(
                    set=dict.fromkeys(("findable", "FINDABLE", "_FINDABLE", "FINDABLE_A", "FINDABLE0"), "x")
                )
    projects, environments = ["x-b", "x0", "xa", "xc"], ["e-b", "ea", "ec"]
    keys = ["FINDABLE", "FINDABLE0", "FINDABLE_A", "_FINDABLE", "findable"]
    everything = [
        *projects,
        *(f"{one}/{inner}" for one in projects for inner in environments),
        *(f"{one}/{inner}/{key}" for one in ("x-b", "xa") for inner in environments for key in keys),
    ]
    assert found(admin, "findable", limit=100) == everything
    for limit in (1, 4, 5, 17, 30):
        assert found(admin, "findable", limit=limit) == everything[:limit]


def test_the_limit_is_1_to_100_and_20_without_it(names, admin):
    Vault(admin).batch(set={f"MANY_{number:03}": "x" for number in range(101)})
    assert len(search(admin, "many")) == 20
    assert len(search(admin, "many", limit=1)) == 1
    assert len(search(admin, "many", limit=100)) == 100
    assert found(admin, "many", limit=100)[-1] == "shop/prod/MANY_099"


@pytest.mark.parametrize(
    ("query", "where"),
    [
        ("", {"q"}),
        ("q=", {"q"}),
        ("q=a", {"q"}),
        ("q=" + "a" * 65, {"q"}),
        ("q=a%00b", {"q"}),
        ("q=ab&q=ab", {"q"}),
        ("q=ab&limit=0", {"limit"}),
        ("q=ab&limit=101", {"limit"}),
        ("q=ab&limit=x", {"limit"}),
        ("q=ab&limit=-1", {"limit"}),
        ("q=ab&cursor=x", {"cursor"}),
        ("q=a&limit=0&x=1", {"q", "limit", "x"}),
    ],
)
def test_what_is_asked_outside_its_grammar_is_a_422(names, admin, query, where):
    assert paths(admin.get(f"/search?{query}", 422)) == where


def test_q_has_2_to_64_characters(names, admin):
    for text in ("sh", "é€", "x" * 64, "\U0001f511" * 64, "  "):
        ask(admin, text)


def test_a_text_that_is_not_utf_8_is_a_400(names, admin):
    admin.get("/search?q=%FF%FF", 400)


def test_another_method_is_not_found(names, admin):
    admin.request("POST", "/search?q=ab", {}, status=404)
    names.nobody().get("/search?q=ab", 401)


@pytest.mark.parametrize("text", ["depot", "DEPOT_KEY", "prod"])
def test_what_is_invisible_answers_like_what_is_absent(names, admin, text):
    names.grant(ADA, "admin", "shop/dev")
    caller = names.user(ADA)
    before = len(names.audit())
    there = ask(caller, text)
    admin.delete("/projects/depot")
    admin.delete("/projects/shop/environments/prod")
    gone = ask(caller, text)
    assert there.body == gone.body == b'{"items":[]}'
    assert [row["action"] for row in names.audit()[before:]] == ["project.delete", "environment.delete"]
