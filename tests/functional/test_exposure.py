"""Exposure: which values an identity was given or wrote, and which of them are in force (contract 5.11)."""

from __future__ import annotations

import pytest
from resource_fields import IDENTITY, paths
from secrets_client import Vault
from service import arrange
from statements import recorded

from secretsvc.exposure import domain
from secretsvc.kernel.ids import new_id
from secretsvc.secrets.models import departed_version

pytestmark = pytest.mark.both_engines

ADA = "ada@example.com"
EVE = "eve@example.com"
ITEM = {"project", "environment", "key", "version", "seen_at", "current"}


@pytest.fixture
def vaults(service, admin):
    """Root's vaults of prod and dev; Ada writes both."""
    service.grant(ADA, "writer", "shop")
    service.user(ADA).get("/whoami")
    return Vault(admin), Vault(admin, "/projects/shop/environments/dev")


def mine(service, vault):
    """The vault as Ada meets it."""
    return Vault(service.user(ADA), vault.base)


def page(service, subject=ADA, client=None, query=""):
    found = service.identity_id(subject)
    return (client or service.user()).get(f"/identities/{found}/exposure{query}").json


def exposed(service, subject=ADA, client=None):
    """What there is: environment, key, version, and whether it is in force."""
    items = page(service, subject, client)["items"]
    return [(one["environment"], one["key"], one["version"], one["current"]) for one in items]


def last_record(service):
    return service.audit()[-1]["created_at"]


def test_an_answer_has_the_fields_of_the_contract(service, vaults):
    prod, _ = vaults
    prod.set(A="x")
    mine(service, prod).get("secrets/A")
    answer = page(service)
    assert answer.keys() == {"identity", "complete_since", "items", "next_cursor"}
    assert answer["identity"].keys() == IDENTITY
    assert answer["identity"]["subject"] == ADA
    assert answer["complete_since"] is None
    assert answer["next_cursor"] is None
    [item] = answer["items"]
    assert item.keys() == ITEM
    assert item == {
        "project": "shop",
        "environment": "prod",
        "key": "A",
        "version": 1,
        "seen_at": last_record(service),
        "current": True,
    }


def test_a_reveal_gives_one_version(service, vaults):
    prod, _ = vaults
    prod.set(A="x", B="x")
    prod.set(A="y")
    prod.set(A="z")
    mine(service, prod).get("secrets/A?version=2")
    assert exposed(service) == [("prod", "A", 2, False)]
    mine(service, prod).get("secrets/A:reveal")
    assert exposed(service) == [("prod", "A", 2, False), ("prod", "A", 3, True)]


def test_an_export_gives_what_was_in_force_and_a_later_write_is_not_given(service, vaults):
    prod, _ = vaults
    prod.set(A="x", B="x")
    mine(service, prod).values()
    prod.set(A="y", C="x")
    assert exposed(service) == [("prod", "A", 1, False), ("prod", "B", 1, True)]


def test_an_export_of_an_older_state_gives_what_was_in_force_then(service, vaults):
    prod, _ = vaults
    prod.set(A="1")
    prod.set(A="2", B="1")
    prod.batch(set={"A": "3"}, delete=["B"])
    mine(service, prod).get("secrets:export?rev=1")
    assert exposed(service) == [("prod", "A", 1, False)]
    mine(service, prod).get("secrets:export?rev=2")
    assert exposed(service) == [("prod", "A", 1, False), ("prod", "A", 2, False), ("prod", "B", 1, False)]
    mine(service, prod).get("secrets:export?rev=0")
    assert len(exposed(service)) == 3


def test_the_last_time_is_told_over_all_ways(service, vaults):
    prod, _ = vaults
    ada = mine(service, prod)
    prod.set(A="1")
    prod.set(A="2")

    def seen_at():
        return [one["seen_at"] for one in page(service)["items"]]

    ada.get("secrets:export?rev=1")
    assert seen_at() == [last_record(service)]
    ada.values()
    first = seen_at()[0]
    assert seen_at() == [first, last_record(service)]
    ada.get("secrets:export?rev=2")
    assert seen_at() == [first, last_record(service)]
    ada.get("secrets/A?version=1")
    ada.get("secrets:export?rev=2")
    ada.get("secrets/A")
    assert seen_at()[1] == last_record(service)
    assert seen_at()[0] > first


@pytest.mark.parametrize("format", ["json", "env", "shell", "kubernetes"])
def test_of_two_older_states_the_one_that_was_read_last_tells_the_time(service, vaults, format):
    prod, _ = vaults
    prod.set(A="1")
    prod.set(B="1")
    prod.set(B="2")
    for rev in (2, 1):
        mine(service, prod).get(f"secrets:export?format={format}&rev={rev}")
    [of_a, _of_b] = page(service)["items"]
    assert (of_a["key"], of_a["seen_at"]) == ("A", last_record(service))


def test_what_an_identity_wrote_it_met(service, vaults):
    prod, _ = vaults
    prod.set(A="theirs")
    mine(service, prod).set(A="mine", B="mine")
    prod.set(B="theirs")
    assert exposed(service) == [("prod", "A", 2, True), ("prod", "B", 1, False)]
    # A deletion wrote no value.
    mine(service, prod).batch(delete=["A"])
    assert exposed(service) == [("prod", "A", 2, False), ("prod", "B", 1, False)]
    assert [one["seen_at"] for one in page(service)["items"]] == [
        row["created_at"] for row in service.audit("secret.batch") if row["actor_subject"] == ADA
    ][:1] * 2


def test_a_copy_gives_what_it_took_at_its_source_too(service, vaults):
    prod, dev = vaults
    prod.set(A="1", B="1", C="1")
    prod.set(A="2")
    dev.set(B="1")
    source = {"project": "shop", "environment": "prod"}
    mine(service, dev).post("copy", {"from": source, "keys": ["A", "B"]})
    # B was there already, and was not written.
    both = [("dev", "A", 1, True), ("prod", "A", 2, True)]
    assert exposed(service) == both
    prod.set(A="3")
    assert exposed(service) == [both[0], ("prod", "A", 2, False)]
    service.user().delete("/projects/shop/environments/dev")
    assert exposed(service) == [("prod", "A", 2, False)]


def test_a_value_that_was_copied_is_listed_where_it_is_in_force(service, vaults):
    prod, dev = vaults
    prod.set(A="1")
    mine(service, prod).get("secrets/A")
    dev.post("copy", {"from": {"project": "shop", "environment": "prod"}})
    assert exposed(service) == [("dev", "A", 1, True), ("prod", "A", 1, True)]
    dev.set(A="2")
    assert exposed(service) == [("prod", "A", 1, True)]
    dev.rollback("A", 1)
    assert exposed(service) == [("dev", "A", 3, True), ("prod", "A", 1, True)]
    dev.rename("A", "MOVED")
    assert exposed(service) == [("dev", "MOVED", 1, True), ("prod", "A", 1, True)]
    prod.batch(delete=["A"])
    assert exposed(service) == [("dev", "MOVED", 1, True), ("prod", "A", 1, False)]


def test_what_was_met_at_the_copy_is_listed_at_the_source(service, vaults):
    prod, dev = vaults
    prod.set(A="1")
    dev.post("copy", {"from": {"project": "shop", "environment": "prod"}})
    mine(service, dev).values()
    assert exposed(service) == [("dev", "A", 1, True), ("prod", "A", 1, True)]
    seen = {one["seen_at"] for one in page(service)["items"]}
    assert seen == {last_record(service)}


def test_the_same_value_again_is_listed_once_by_its_newest_version(service, vaults):
    prod, _ = vaults
    prod.set(A="1")
    mine(service, prod).get("secrets/A")
    prod.set(A="2")
    prod.rollback("A", 1)
    assert exposed(service) == [("prod", "A", 3, True)]
    prod.set(A="4")
    assert exposed(service) == [("prod", "A", 3, False)]
    prod.post("restore", {"to_rev": 1})
    assert exposed(service) == [("prod", "A", 5, True)]
    mine(service, prod).get("secrets/A?version=2")
    assert exposed(service) == [("prod", "A", 2, False), ("prod", "A", 5, True)]


def test_the_same_text_written_anew_is_another_value(service, vaults):
    prod, _ = vaults
    prod.set(A="same")
    mine(service, prod).get("secrets/A")
    prod.set(A="same")
    assert exposed(service) == [("prod", "A", 1, False)]


def test_what_gives_no_value_exposes_none(service, vaults):
    prod, dev = vaults
    prod.set(A="1")
    ada = mine(service, prod)
    ada.get("secrets")
    ada.get("secrets/A/versions")
    ada.get("revisions")
    ada.get("secrets:compare?rev=0")
    ada.get("secrets:export", 304, headers={"If-None-Match": '"1"'})
    copied = {"from": {"project": "shop", "environment": "prod"}, "dry_run": True}
    mine(service, dev).post("copy", copied)
    ada.get("secrets/NEVER", 404)
    service.user(EVE).get(f"{prod.base}/secrets/A", 404)
    assert exposed(service) == exposed(service, EVE) == []


def test_each_identity_has_its_own_and_machines_too(service, vaults):
    prod, _ = vaults
    prod.set(A="1")
    robot = service.identity_id("robot.access", "service")
    service.grant(robot, "reader", "shop/prod")
    Vault(service.robot(), prod.base).values()
    assert exposed(service) == []
    [item] = service.user().get(f"/identities/{robot}/exposure").json["items"]
    assert (item["key"], item["version"]) == ("A", 1)


def test_a_revoked_grant_and_a_disabled_identity_change_nothing(service, vaults):
    prod, _ = vaults
    prod.set(A="1")
    mine(service, prod).values()
    before = page(service)["items"]
    service.user().patch(f"/identities/{service.identity_id(ADA)}", {"disabled": True})
    assert page(service)["items"] == before != []


@pytest.mark.parametrize(
    ("scope", "seen"), [("global", {"prod", "dev"}), ("shop", {"prod", "dev"}), ("shop/dev", {"dev"})]
)
def test_a_caller_sees_what_it_administers(service, vaults, scope, seen):
    for vault in vaults:
        vault.set(A="1")
        mine(service, vault).values()
    service.grant(EVE, "admin", scope)
    assert {one[0] for one in exposed(service, client=service.user(EVE))} == seen
    service.grant(EVE, "reader")
    assert {one[0] for one in exposed(service, client=service.user(EVE))} == seen


def test_an_admin_of_the_target_learns_that_the_value_is_known_and_no_more(service, vaults):
    prod, dev = vaults
    prod.set(A="1")
    mine(service, prod).values()
    dev.post("copy", {"from": {"project": "shop", "environment": "prod"}})
    service.grant(EVE, "admin", "shop/dev")
    assert exposed(service, client=service.user(EVE)) == [("dev", "A", 1, True)]


@pytest.mark.parametrize("role", [None, "reader", "writer"])
def test_below_admin_it_is_a_403_whoever_is_named(service, vaults, role):
    if role:
        service.grant(EVE, role)
    for named in (service.identity_id(ADA), new_id()):
        service.user(EVE).get(f"/identities/{named}/exposure", 403)
    assert [row["action"] for row in service.denials()] == ["authz.global.admin"] * 2


def test_an_identity_that_is_not_there_is_a_404(service, admin):
    assert admin.get(f"/identities/{new_id()}/exposure", 404).json["message"] == "Identity not found."
    assert paths(admin.get("/identities/ada/exposure", 422)) == {"id"}


def test_a_deleted_environment_is_left_out_and_its_namesake_is_another(service, vaults):
    _, dev = vaults
    for vault in vaults:
        vault.set(A="1")
        mine(service, vault).values()
    admin = service.user()
    admin.delete(dev.base)
    admin.post("/projects/shop/environments", {"slug": "dev", "name": "Dev"}, 201)
    dev.set(A="2")
    assert exposed(service) == [("prod", "A", 1, True)]


@pytest.mark.parametrize("way", ["secrets/A", "secrets:export", "secrets:export?rev=1", "written"])
def test_what_was_met_in_a_deleted_environment_is_known_where_it_was_copied(service, vaults, way):
    prod, dev = vaults
    (mine(service, dev) if way == "written" else dev).set(A="1")
    if way != "written":
        mine(service, dev).get(way)
    at = last_record(service)
    prod.post("copy", {"from": {"project": "shop", "environment": "dev"}})
    service.user().delete(dev.base)
    assert exposed(service) == [("prod", "A", 1, True)]
    assert page(service)["items"][0]["seen_at"] == at
    prod.rename("A", "MOVED")
    assert exposed(service) == [("prod", "MOVED", 1, True)]
    prod.set(MOVED="2")
    assert exposed(service) == []


def test_what_went_back_to_where_it_came_from_is_known_there(service, vaults):
    """Where the first version is, nothing names the one that was met."""
    prod, dev = vaults
    prod.set(A="1")
    dev.post("copy", {"from": {"project": "shop", "environment": "prod"}})
    mine(service, dev).values()
    service.user().delete(dev.base)
    assert exposed(service) == [("prod", "A", 1, True)]


def test_nothing_is_kept_of_a_deleted_environment_whose_values_are_nowhere_else(service, vaults):
    prod, dev = vaults
    prod.set(B="1")
    dev.set(A="1")
    dev.set(A="2")
    dev.rollback("A", 1)
    service.user().delete(dev.base)
    assert service.rows(departed_version) == []


def test_ids_that_are_used_again_mix_up_no_values(service, vaults):
    """On SQLite the secrets of a new environment get the ids of those that went with another."""
    prod, dev = vaults
    dev.set(A="1")
    prod.post("copy", {"from": {"project": "shop", "environment": "dev"}})
    admin = service.user()
    admin.delete(dev.base)
    admin.post("/projects/shop/environments", {"slug": "dev", "name": "Dev"}, 201)
    dev.set(OTHER="2")
    mine(service, dev).values()
    assert exposed(service) == [("dev", "OTHER", 1, True)]
    mine(service, prod).values()
    assert exposed(service) == [("dev", "OTHER", 1, True), ("prod", "A", 1, True)]


def test_reading_it_leaves_no_record(service, vaults):
    prod, _ = vaults
    prod.set(A="1")
    before = len(service.audit())
    page(service)
    assert len(service.audit()) == before


@pytest.mark.both_engines
@pytest.mark.parametrize("limit", [1, 2, 3, 100])
def test_its_pages_together_are_the_whole_and_sorted(service, vaults, limit):
    prod, dev = vaults
    service.user().post("/projects", {"slug": "a-depot", "name": "Depot"}, 201)
    service.user().post("/projects/a-depot/environments", {"slug": "prod", "name": "Prod"}, 201)
    service.grant(ADA, "writer", "a-depot")
    depot = Vault(service.user(), "/projects/a-depot/environments/prod")
    for vault in (prod, dev, depot):
        vault.set(B="1", a="1", A_B="1", A="1")
        mine(service, vault).values()
        vault.set(A="2")
        mine(service, vault).values()
    whole = page(service)["items"]
    names = [tuple(one[name] for name in ("project", "environment", "key", "version")) for one in whole]
    assert len(names) == 15
    assert names == sorted(names)
    found, cursor = [], ""
    while cursor is not None:
        answer = page(service, query=f"?limit={limit}{cursor and f'&cursor={cursor}'}")
        assert len(answer["items"]) <= limit
        found += answer["items"]
        cursor = answer["next_cursor"]
    assert found == whole


@pytest.mark.parametrize(
    ("query", "where"),
    [
        ("limit=0", "limit"),
        ("limit=501", "limit"),
        ("cursor=", "cursor"),
        ("cursor=x", "cursor"),
        ("cursor=shop/prod/A", "cursor"),
        ("cursor=shop/prod/A/1/2", "cursor"),
        ("cursor=Shop/prod/A/1", "cursor"),
        ("cursor=shop/prod/1/1", "cursor"),
        ("cursor=shop/prod/A/-1", "cursor"),
        ("cursor=shop/prod/A/%D9%A1", "cursor"),
        ("cursor=shop/prod/A/12345678901234567", "cursor"),
        ("cursor=a/b/C/1&cursor=a/b/C/1", "cursor"),
        ("order=oldest", "order"),
    ],
)
def test_a_query_outside_its_grammar_is_a_422(service, admin, query, where):
    assert paths(admin.get(f"/identities/{service.identity_id(ADA)}/exposure?{query}", 422)) == {where}


@pytest.mark.both_engines
@pytest.mark.parametrize("scope", ["global", "shop", "shop/prod"])
def test_a_page_takes_as_many_statements_for_many_as_for_few(make_service, scope):
    service = make_service(LAST_SEEN_RESOLUTION="3600000")
    admin = arrange(service, "shop", "prod", "dev")
    service.grant(EVE, "admin", scope)
    service.user(EVE).get("/whoami")
    prod, dev = Vault(admin), Vault(admin, "/projects/shop/environments/dev")
    taken = []
    for count in (2, 300):
        prod.batch(set={f"K{number}": "x" for number in range(count)})
        dev.post("copy", {"from": {"project": "shop", "environment": "prod"}})
        for path in ("secrets/K0", "secrets:export", "secrets:export?rev=1"):
            prod.get(path)
        root = service.identity_id("root@example.com")
        with recorded(service.engine) as statements:
            service.user(EVE).get(f"/identities/{root}/exposure?limit=500")
        taken.append(len(statements))
    # The snapshot, the identity, environments, keys, versions, those of the same values, older states.
    assert taken == [7, 7]


def pages_of(service, limit, subject=ADA):
    """The items of each page; all but the last are full, and one without items has no cursor."""
    found, cursor = [], ""
    while cursor is not None:
        answer = page(service, subject, query=f"?limit={limit}{cursor and f'&cursor={cursor}'}")
        found.append(answer["items"])
        cursor = answer["next_cursor"]
        assert len(found[-1]) == limit or cursor is None
    assert found[-1] or len(found) == 1
    return found


#: What a pass looks at, at most: environments, keys and versions.
SMALL = ((1, 500, 1000), (20, 1, 1000), (20, 2, 1000), (20, 500, 1), (20, 500, 3), (1, 3, 4))


@pytest.mark.slow
@pytest.mark.parametrize("bounds", SMALL)
def test_a_page_is_full_unless_it_is_the_last(service, vaults, monkeypatch, bounds):
    prod, dev = vaults
    # The ids of secrets are in no order of keys.
    prod.set(K4="x")
    prod.batch(set={f"K{number}": "x" for number in range(6) if number != 4})
    for number in range(5):
        prod.set(K2=str(number))
    dev.post("copy", {"from": {"project": "shop", "environment": "prod"}})
    mine(service, prod).values()
    mine(service, dev).values()
    mine(service, prod).get("secrets/K2?version=3")
    whole = page(service)["items"]
    assert len(whole) == 13
    for name, bound in zip(("ENVIRONMENTS", "KEYS", "VERSIONS"), bounds, strict=True):
        monkeypatch.setattr(domain, name, bound)
    for limit in (1, 4, 12, 13, 14):
        assert [one for items in pages_of(service, limit) for one in items] == whole


@pytest.mark.slow
def test_a_page_goes_on_where_nothing_was_met(service, vaults, monkeypatch):
    prod, _ = vaults
    root = service.user()
    prod.set(OTHER="1", KEY="x")
    taken = {"from": {"project": "shop", "environment": "prod"}, "keys": ["OTHER"]}
    for number in range(25):
        slug = f"a{number:02}"
        root.post("/projects/shop/environments", {"slug": slug, "name": slug}, 201)
        Vault(root, f"/projects/shop/environments/{slug}").post("copy", taken)
    mine(service, prod).get("secrets/KEY")
    assert [len(items) for items in pages_of(service, 1)] == [1]
    service.user("new@example.com").get("/whoami")
    assert pages_of(service, 1, "new@example.com") == [[]]


@pytest.mark.slow
def test_the_statements_of_a_page_are_bounded_by_what_lies_before_its_end(make_service):
    service = make_service(LAST_SEEN_RESOLUTION="3600000")
    root = arrange(service, "shop", "prod")
    Vault(root).set(A="1")
    for number in range(45):
        root.post("/projects/shop/environments", {"slug": f"a{number:02}", "name": "A"}, 201)
        Vault(root, f"/projects/shop/environments/a{number:02}").post(
            "copy", {"from": {"project": "shop", "environment": "prod"}, "keys": ["A"]}
        )
    ada = service.identity_id(ADA)
    root.get("/whoami")
    with recorded(service.engine) as statements:
        root.get(f"/identities/{ada}/exposure")
    # The snapshot, the identity, and of three times twenty environments at most five each.
    assert len(statements) <= 2 + 3 * 5
