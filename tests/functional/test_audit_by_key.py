"""The records that concern one key (contract 5.11): writes, reads and copies of it, no denials."""

from __future__ import annotations

import pytest
from pages import Browser, form_of, submit
from query_plans import PLAN_MODES, executed, rows_read, steps_of
from resource_fields import log, paths
from secrets_client import CANONICAL as PROD
from secrets_client import Vault
from service import Service, arrange

from secretsvc.audit.models import audit_key
from secretsvc.db.engine import snapshot
from secretsvc.kernel.clock import now_ms
from secretsvc.kernel.ids import new_id
from secretsvc.sealedlog.models import audit_seal
from secretsvc.sealedlog.verification.columns import wrong_columns

pytestmark = pytest.mark.both_engines

ADA = "ada@example.com"
QUERY = "/audit?project=shop&environment=prod&key=A"


@pytest.fixture
def vaults(service, admin):
    """The vaults of prod and of dev, in which things happened to A and to others."""
    prod, dev = Vault(admin), Vault(admin, "/projects/shop/environments/dev")
    prod.batch(set={"A": "1", "B": "1"}, descriptions={"A": "ay"})
    prod.set(B="2")
    prod.get("secrets/A")
    prod.get("secrets/A:reveal?reason=run")
    prod.get("secrets/A?version=1")
    prod.get("secrets/B")
    prod.values()
    prod.get("secrets:export?rev=1")
    prod.load("A=2\nC=1\n")
    prod.rename("A", "D")
    prod.rename("D", "A")
    prod.rename("B", "E")
    prod.rollback("A", 1)
    prod.batch(delete=["A"])
    prod.post("restore", {"to_rev": 2})
    source = {"project": "shop", "environment": "prod"}
    dev.post("copy", {"from": source})
    dev.post("copy", {"from": source, "keys": ["C"]}, "*")
    prod.post("copy", {"from": {**source, "environment": "dev"}, "existing": "skip"})
    dev.set(A="there")
    prod.post("copy", {"from": {**source, "environment": "dev"}, "keys": ["A"]})
    describe(service, "A", "bee")
    prod.get("secrets/NEVER", 404)
    service.user("eve@example.com").get(f"{PROD}/secrets/A", 404)
    return prod, dev


def describe(service, key, text):
    """By the page of the secret, which changes a description alone."""
    page = Browser(service).open(f"{PROD}/secrets/{key}?describe")
    submit(page, f"{key}/describe", description=text)


def concerns(record, environment_id, key):
    """Whether it is of the environment and tells of the key, as the contract has it."""
    if record["environment_id"] != environment_id or record["outcome"] == "denied":
        return False
    detail = record["detail"] or {}
    if record["action"] == "secret.export":
        return key in detail["keys"] if "copied_to" in detail else True
    named = {change["key"] for change in detail.get("changes", ())} | {*detail.get("described", ())}
    return key in named or detail.get("key") == key


def due(admin, service, key="A", slug="prod"):
    inside = str(service.scope(f"shop/{slug}")["environment_id"])
    return [row for row in admin.get("/audit?limit=500").json["items"] if concerns(row, inside, key)]


@pytest.mark.slow
def test_the_columns_that_they_are_found_by_are_what_their_details_say(service, vaults):
    while service.app.registry.audit_sealer.step():
        pass
    with snapshot(service.engine) as connection:
        assert len(service.rows(audit_key)) == 2
        assert [*wrong_columns(connection, 0, len(service.rows(audit_seal)))] == []


@pytest.mark.slow
def test_writes_reads_exports_and_copies_of_a_key_are_found_and_nothing_else(service, vaults):
    admin = service.user()
    for slug in ("prod", "dev"):
        for key in ("A", "B", "C", "D", "E", "NEVER"):
            found = admin.get(f"/audit?project=shop&environment={slug}&key={key}&limit=500").json["items"]
            assert found == due(admin, service, key, slug), (slug, key)
    actions = {row["action"] for row in due(admin, service)}
    every = ("batch", "import", "rename", "rollback", "restore", "copy", "reveal", "export")
    assert actions == {f"secret.{one}" for one in every}
    assert {row["outcome"] for row in due(admin, service)} == {"success"}
    kept = [row["detail"] for row in due(admin, service)]
    assert any("copied_to" in detail for detail in kept)
    assert any(detail.get("described") == ["A"] for detail in kept)


@pytest.mark.slow
def test_a_copy_of_all_keys_is_one_entry_and_found_for_those_that_it_took(service, vaults):
    prod, _ = vaults
    prod.batch(delete=["C"])
    before = len(service.rows(audit_key))
    prod.set(NEW="1")
    admin = service.user()
    admin.post("/projects/shop/environments", {"slug": "copy", "name": "C"}, 201)
    Vault(admin, "/projects/shop/environments/copy").post(
        "copy", {"from": {"project": "shop", "environment": "prod"}}
    )
    assert len(service.rows(audit_key)) == before
    prod.set(LATER="1")
    for key in ("A", "NEW", "C", "LATER", "NEVER"):
        path = f"/audit?project=shop&environment=prod&key={key}&action=secret.export&limit=500"
        found = admin.get(path).json["items"]
        assert found == [one for one in due(admin, service, key) if one["action"] == "secret.export"], key
    copies = [one["detail"] for one in due(admin, service, "NEW") if "copied_to" in (one["detail"] or {})]
    assert [sorted(one["keys"]) for one in copies] == [sorted(prod.values().keys() - {"LATER"})]


@pytest.mark.slow
@pytest.mark.parametrize("limit", [1, 2, 3, 7])
def test_its_pages_together_are_the_whole(service, vaults, limit):
    admin = service.user()
    found, cursor = [], ""
    while cursor is not None:
        page = admin.get(f"{QUERY}&limit={limit}{cursor and f'&cursor={cursor}'}").json
        found += page["items"]
        cursor = page["next_cursor"]
        assert len(page["items"]) == limit or cursor is None
    assert found == due(admin, service)


@pytest.mark.slow
def test_every_other_filter_narrows_it(service, vaults):
    admin = service.user()
    rows = due(admin, service)
    middle = rows[len(rows) // 2]["created_at"]
    for query, meets in (
        ("action=secret.rename", lambda row: row["action"] == "secret.rename"),
        ("action=secret.copy", lambda row: row["action"] == "secret.copy"),
        ("outcome=success", lambda row: True),
        ("outcome=denied", lambda row: False),
        ("actor=root@example.com", lambda row: True),
        (f"actor={ADA}", lambda row: False),
        (f"since={middle}", lambda row: row["created_at"] >= middle),
        (f"until={middle}", lambda row: row["created_at"] < middle),
        (f"since={now_ms() + 60_000}", lambda row: False),
    ):
        found = admin.get(f"{QUERY}&limit=500&{query}").json["items"]
        assert found == [row for row in rows if meets(row)], query


@pytest.mark.parametrize(
    ("query", "where"),
    [
        ("key=A", {"project", "environment"}),
        ("key=A&project=shop", {"environment"}),
        ("key=A&environment=prod", {"project"}),
        ("key=", {"key"}),
        ("key=not-a-key&project=shop&environment=prod", {"key"}),
        ("key=A&key=B&project=shop&environment=prod", {"key"}),
    ],
)
def test_a_key_needs_its_environment_and_its_grammar(admin, query, where):
    assert paths(admin.get(f"/audit?{query}", 422)) == where


def test_below_admin_a_key_without_its_environment_is_a_403(service, admin):
    service.user(ADA).get("/audit?key=A", 403)


@pytest.mark.slow
def test_what_may_not_be_audited_is_answered_like_what_is_absent(service, vaults):
    service.grant(ADA, "admin", "shop/dev")
    service.grant(ADA, "writer", "shop/prod")
    ada = service.user(ADA)
    before = len(service.denials())
    hidden = ada.get(QUERY, 404)
    absent = ada.get("/audit?project=shop&environment=absent&key=A", 404)
    assert {**hidden.json, "request_id": ""} == {**absent.json, "request_id": ""}
    assert [row["action"] for row in service.denials()[before:]] == ["access.denied"]
    mine = ada.get("/audit?project=shop&environment=dev&key=A&limit=500").json["items"]
    assert mine == due(service.user(), service, "A", "dev")
    # A key that never was there is nothing to hide.
    assert ada.get("/audit?project=shop&environment=dev&key=NEVER_WAS").json["items"] == [
        row for row in mine if row["action"] == "secret.export" and "keys" not in row["detail"]
    ]


def test_the_records_of_a_deleted_environment_stay_and_are_not_those_of_its_namesake(service, vaults):
    admin = service.user()
    before = len(service.audit())
    admin.delete(PROD)
    admin.get(QUERY, 404)
    admin.post("/projects/shop/environments", {"slug": "prod", "name": "Prod"}, 201)
    assert len(service.audit()) == before + 2
    assert admin.get(QUERY).json["items"] == []
    Vault(admin).set(A="anew")
    [row] = admin.get(QUERY).json["items"]
    assert row["detail"]["rev"] == 1


@pytest.mark.slow
def test_the_page_of_the_log_takes_the_key_too(service, vaults):
    page = Browser(service).open(QUERY)
    assert form_of(page, "/audit")["key"].value == "A"
    assert [chip.b.text for chip in page.html.select(".chip.set")] == ["shop", "prod", "A"]
    assert len(page.html.select(".log > li")) == min(50, len(due(service.user(), service)))
    assert "Required" in Browser(service).open("/audit?key=A", status=422).text


HOT, RARE, OTHERS = 3000, 5, 6000


@pytest.fixture(scope="module")
def crowds():
    """The crowded service of each engine, by the engine's databases: to fill a log takes seconds."""
    made = {}
    yield made
    for databases, service in made.items():
        service.close()
        databases.drop(service.url)


@pytest.fixture
def crowded(databases, issuer, crowds):
    """A log of which a key has very many records, another few, and other keys the most; for reading alone."""
    if databases not in crowds:
        crowds[databases] = Service(databases.create(), issuer, lent=False)
        fill(crowds[databases])
    return crowds[databases]


def fill(service):
    admin = arrange(service, "shop", "prod", "dev")
    Vault(admin).batch(set={"HOT": "1", "RARE": "1"})
    scope = {name: value for name, value in service.scope("shop/prod").items() if name != "scope_type"}
    common = {"action": "secret.reveal", "identity_id": new_id(), "given": 1, "detail": "{}", **scope}
    log(service, RARE, **common, key="RARE")
    log(service, HOT, **common, key="HOT")
    log(service, OTHERS, **common, key="OTHER")
    log(
        service,
        OTHERS,
        **{**common, "environment_id": service.scope("shop/dev")["environment_id"]},
        key="HOT",
    )
    service.execute("ANALYZE")


@pytest.mark.slow
@pytest.mark.parametrize(
    "query", ["", "&action=secret.reveal", "&actor=writer@example.com", "&outcome=success"]
)
@pytest.mark.parametrize(("key", "count"), [("HOT", HOT), ("RARE", RARE), ("NONE", 0)])
def test_a_page_reads_the_records_that_it_shows_and_few_more(crowded, key, count, query):
    service = crowded
    with executed(service.engine, "audit_record") as statements:
        shown = (
            service.user()
            .get(f"/audit?project=shop&environment=prod&key={key}&limit=20{query}")
            .json["items"]
        )
    writes = 0 if key == "NONE" or query == "&action=secret.reveal" or "actor" in query else 1
    assert len(shown) == min(20, count + writes)
    [statement] = statements
    if service.engine.name == "sqlite":
        steps = steps_of(service.engine, statement, "of_key")
        assert len(steps) == (1 if "reveal" in query else 4)
        assert all("ix_audit_record_key (environment_id=? AND key>? AND key<?)" in step for step in steps), (
            steps
        )
        # Whatever else is read of the log is looked up by its id.
        steps = steps_of(service.engine, statement, "audit_record")
        assert all(step.startswith("SEARCH ") and step.endswith("(id=?)") for step in steps), steps
        return
    # Off the index, looked up for the conditions, and in the end.
    for mode in PLAN_MODES:
        assert rows_read(service.engine, statement, "audit_record", mode) <= 3 * 21 + 4, mode
