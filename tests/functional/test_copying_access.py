"""`POST …/secrets:copy`: who may, what cannot be opened, limits, races, and what it leaves (contract 5.4)."""

from __future__ import annotations

import base64
from itertools import pairwise

import pytest
from rotation import rotated
from secrets_client import (
    BOTH_SPELLINGS,
    Vault,
    block_audit,
    detail,
    environment_ids,
    origins,
    records,
    state,
    tamper,
)
from service import arrange
from sqlalchemy import event
from statements import recorded

from secretsvc.kernel.crypto import SHORTEST
from secretsvc.secrets.queries.contents import INLINE_BYTES as SHORT

pytestmark = pytest.mark.both_engines

DEV = "/projects/shop/environments/dev"
FROM_DEV = {"from": {"project": "shop", "environment": "dev"}}
ADA = "ada@example.com"


@pytest.fixture
def dev(vault):
    """The source, with A and B."""
    made = Vault(vault.client, DEV)
    made.set(A="hunter2-one", B="hunter2-two")
    return made


def copy(vault, status=200, **body):
    return vault.post("copy", FROM_DEV | body, status)


def changes(answer):
    return [(one["key"], one["kind"], one.get("version")) for one in answer.json["changes"]]


@BOTH_SPELLINGS
def test_a_writer_here_and_reader_there_may_copy(vault, dev, service):
    service.grant(ADA, "writer", "shop/prod")
    service.grant(ADA, "reader", "shop/dev")
    assert copy(Vault(service.user(ADA), vault.base)).json["rev"] == 1


@BOTH_SPELLINGS
def test_a_reader_here_is_refused_whatever_it_may_there(vault, dev, service):
    service.grant(ADA, "reader", "shop/prod")
    service.grant(ADA, "admin", "shop/dev")
    for dry_run in (False, True):
        refused = copy(Vault(service.user(ADA), vault.base), 403, dry_run=dry_run)
        assert refused.json["code"] == "FORBIDDEN"
    assert [row["action"] for row in service.denials()] == ["authz.environment.writer"] * 2


@BOTH_SPELLINGS
def test_a_source_that_is_not_seen_is_the_404_of_its_kind(vault, dev, service):
    service.grant(ADA, "admin", "shop/prod")
    ada = Vault(service.user(ADA), vault.base)
    for dry_run in (False, True):
        refused = copy(ada, 404, dry_run=dry_run)
        assert refused.json["message"] == "Environment not found."
        absent = {"from": {"project": "shop", "environment": "nowhere"}, "dry_run": dry_run}
        told = ada.post("copy", absent, 404)
        assert told.json | {"request_id": ""} == refused.json | {"request_id": ""}
    other = {"from": {"project": "depot", "environment": "dev"}}
    assert ada.post("copy", other, 404).json["message"] == "Project not found."
    denied = service.denials()
    assert [row["action"] for row in denied] == ["authz.environment.reader"] * 2
    assert {row["environment_id"] for row in denied} == {service.scope("shop/dev")["environment_id"]}


def test_a_destination_that_is_not_there_is_404(vault, dev):
    nowhere = Vault(vault.client, vault.base.replace("prod", "nowhere"))
    assert copy(nowhere, 404).json["message"] == "Environment not found."
    assert copy(nowhere, 404, dry_run=True).json["message"] == "Environment not found."


@BOTH_SPELLINGS
def test_a_write_is_recorded_here_and_as_an_export_there(vault, dev, service):
    vault.set(A="hunter2-one", C="hunter2-three")
    dev.set(A="hunter2-four")
    known = len(service.audit())
    answer = copy(vault, mode="replace", reason="promotion").json
    here, there = service.audit()[known:]
    prod, source = environment_ids(service), environment_ids(service, "dev")
    assert (here["action"], here["outcome"], here["reason"]) == ("secret.copy", "success", "promotion")
    assert {name: here[name] for name in prod} == prod
    written = {one["key"]: one["version"] for one in answer["changes"] if one["kind"] != "removed"}
    taken = {"from": {**{n: str(v) for n, v in source.items()}, "rev": 2}}
    assert detail(here) == answer | taken | origins(service, **written)
    assert (there["action"], there["outcome"], there["reason"]) == ("secret.export", "success", "copy")
    assert {name: there[name] for name in source} == source
    assert detail(there) == {
        "rev": 2,
        "count": 2,
        "copied_to": {**{n: str(v) for n, v in prod.items()}, "rev": 2},
        "keys": ["A", "B"],
    }
    assert here["request_id"] == there["request_id"]
    assert "hunter2" not in str([dict(here), dict(there)])


def test_the_records_of_an_older_revision_name_it(vault, dev, service):
    dev.set(A="later")
    copy(vault, from_rev=1, keys=["A"])
    here, there = records(service)[-2:]
    assert detail(here)["from"]["rev"] == detail(there)["rev"] == 1


def test_a_copy_that_only_removes_is_recorded_in_both_environments(vault, dev, service):
    vault.set(C="x")
    copy(vault, mode="replace", from_rev=0)
    here, there = records(service)[-2:]
    assert [(one["key"], one["kind"]) for one in detail(here)["changes"]] == [("C", "removed")]
    assert (detail(there)["count"], detail(there)["keys"]) == (0, [])


def test_a_copy_that_cannot_be_recorded_is_not_made(vault, dev, service):
    before = state(service)
    block_audit(service)
    assert copy(vault, 500).json["code"] == "INTERNAL"
    assert state(service) == before


@pytest.mark.both_engines
@pytest.mark.parametrize("dry_run", [False, True])
@pytest.mark.parametrize("existing", ["overwrite", "skip", "refuse"])
def test_an_envelope_that_cannot_be_opened_at_the_source_fails_it_whole(
    vault, dev, service, existing, dry_run
):
    tamper(service, "A")
    vault.set(A="mine")
    before, known = state(service), len(service.audit())
    assert copy(vault, 500, existing=existing, dry_run=dry_run).json["code"] == "DECRYPT_FAILED"
    assert state(service) == before
    assert len(service.audit()) == known
    assert copy(vault, 500, keys=["A"], dry_run=True).json["code"] == "DECRYPT_FAILED"
    assert changes(copy(vault, keys=["B"])) == [("B", "added", 1)]


def test_a_source_s_envelope_that_is_gone_fails_it_whole(vault, dev, service):
    service.execute("DELETE FROM secret_version")
    assert copy(vault, 500).json["code"] == "DECRYPT_FAILED"


def test_a_source_that_is_deleted_meanwhile_is_not_there(vault, dev, service):
    """Nothing locks it: it goes between the statements that read its keys and its long values."""
    dev.set(LONG="x" * SHORT)
    due = [True]

    def delete(connection, _cursor, statement, *_rest):
        reads = statement.startswith("SELECT") and ("json_extract" in statement or "unnest" in statement)
        if due and reads:
            due.clear()
            connection.exec_driver_sql("DELETE FROM environment WHERE slug = 'dev'")

    vault.set(KEPT="x")
    before = state(service)
    event.listen(service.engine, "before_cursor_execute", delete)
    assert copy(vault, 404, mode="replace").json["message"] == "Environment not found."
    assert not due
    assert state(service) == before


def test_values_under_an_older_master_key_are_copied_under_the_active_one(vault, dev, service):
    old = dev.listed()["A"]["kid"]
    now = Vault(rotated(service).user())
    copy(now)
    assert now.values() == {"A": "hunter2-one", "B": "hunter2-two"}
    assert {one["kid"] for one in now.listed().values()} & {old} == set()
    now.post("restore", {"to_rev": 0})
    assert len(now.post("restore", {"to_rev": 1}).json["changes"]) == 2


def test_an_envelope_of_an_unknown_key_names_it(vault, dev, service):
    other = service.restarted(MASTER_KEY=base64.b64encode(bytes(range(32, 64))).decode())
    assert copy(Vault(other.user(), vault.base), 500, dry_run=True).json["code"] == "UNKNOWN_KID"


@BOTH_SPELLINGS
def test_an_envelope_that_cannot_be_opened_at_the_destination_counts_as_differing(vault, dev, service):
    vault.set(C="x")
    vault.rename("C", "ONLY")
    vault.set(Z="hunter2-one")
    tamper(service, "Z")
    dev.set(Z="hunter2-one")
    assert copy(vault, 409, keys=["Z"], existing="refuse").json["code"] == "CONFLICT"
    assert copy(vault, keys=["Z"], existing="skip").json["changes"] == []
    assert changes(copy(vault, keys=["Z"])) == [("Z", "changed", 2)]
    assert vault.value("Z") == "hunter2-one"


def test_values_too_long_to_be_read_at_once_are_judged_as_short_ones_are(vault, dev, service):
    """Of ten, one differs there by what it holds, one by its length, one is deleted, one cannot be opened."""
    long = {f"K{digit}": str(digit) * 60_000 for digit in range(10)}
    vault.batch(set=long | {"K1": "x" * 60_000, "K2": "x" * 60_001})
    vault.batch(delete=["K3"])
    tamper(service, "K4")
    dev.batch(set=long)
    assert changes(copy(vault)) == [
        ("A", "added", 1),
        ("B", "added", 1),
        ("K1", "changed", 2),
        ("K2", "changed", 2),
        ("K3", "added", 3),
        ("K4", "changed", 2),
    ]
    assert vault.values() == dev.values()


def test_values_about_as_long_as_what_is_read_with_the_keys_are_judged_as_others_are(vault, dev, service):
    """Of each length one is equal, one differs by its last character, one is longer there."""
    lengths = [SHORT - SHORTEST + extra for extra in (-1, 0, 1)]
    dev.batch(mode="replace", set={f"{kind}{length}": "x" * length for kind in "DLS" for length in lengths})
    vault.batch(set={f"S{length}": "x" * length for length in lengths})
    vault.batch(set={f"D{length}": "x" * (length - 1) + "y" for length in lengths})
    vault.batch(set={f"L{length}": "x" * (length + 1) for length in lengths})
    before, due = vault.values(), ["D"] * 3 + ["L"] * 3
    assert [one["key"][0] for one in copy(vault).json["changes"]] == due
    assert vault.values() == dev.values()
    assert [one["key"][0] for one in vault.post("restore", {"to_rev": 3}).json["changes"]] == due
    assert vault.values() == before


def test_limits_are_those_of_a_batch(vault, dev, service):
    vault.set(MINE="x")
    before = state(service)
    small = Vault(service.restarted(ENV_MAX_SECRETS="2").user())
    for body in ({}, {"dry_run": True}):
        assert copy(small, 413, **body).json["code"] == "PAYLOAD_TOO_LARGE"
    assert changes(copy(small, mode="replace", dry_run=True))[-1] == ("MINE", "removed", None)
    short = Vault(service.restarted(SECRET_MAX_BYTES="5").user())
    assert copy(short, 413).json["code"] == "PAYLOAD_TOO_LARGE"
    assert state(service) == before


def test_a_copy_of_more_than_a_body_may_hold_is_no_large_body(vault, service):
    small = service.restarted(BODY_MAX_BYTES="2000")
    source = Vault(small.user(), DEV)
    for number in range(5):
        source.set(**{f"K{number}": "x" * 1_500})
    assert len(copy(Vault(small.user())).json["changes"]) == 5


def test_a_protected_destination_needs_a_reason(vault, dev, service):
    service.execute("UPDATE environment SET protected = true WHERE slug = 'prod'")
    for verb, body in (("copy", FROM_DEV), ("restore", {"to_rev": 0})):
        for reason in ({}, {"reason": " "}):
            refused = vault.post(verb, body | reason, 422)
            assert [issue["path"] for issue in refused.json["issues"]] == ["reason"]
        assert vault.post(verb, body | {"dry_run": True}).json["dry_run"]
    assert copy(vault, reason="promotion").json["rev"] == 1
    assert vault.post("restore", {"to_rev": 0, "reason": "back"}).json["rev"] == 2


def test_a_protected_source_needs_none(vault, dev, service):
    service.execute("UPDATE environment SET protected = true WHERE slug = 'dev'")
    assert copy(vault).json["rev"] == 1


def test_a_revision_of_it_is_recorded_with_its_reason(vault, dev, service):
    copy(vault, reason="promotion")
    vault.post("restore", {"to_rev": 0, "reason": "back"})
    sql = (
        "SELECT revision.rev, action, reason FROM revision JOIN environment"
        " ON environment.id = environment_id WHERE slug = 'prod' ORDER BY revision.rev"
    )
    with service.engine.connect() as connection:
        found = [tuple(row) for row in connection.exec_driver_sql(sql)]
    assert found == [(1, "secret.copy", "promotion"), (2, "secret.restore", "back")]


def test_only_the_destination_is_locked(vault, dev, service):
    with recorded(service.engine) as statements:
        copy(vault)
        vault.post("restore", {"to_rev": 0})
    locks = [one for one in statements if "FOR " in one and "UPDATE" in one and one.startswith("SELECT")]
    assert len(locks) == (0 if service.engine.name == "sqlite" else 2)


KINDS = {
    "add": {},
    "overwrite": {"reason": "why"},
    "replace": {"mode": "replace"},
    "skip": {"existing": "skip"},
    "dry run": {"dry_run": True},
    "from_rev": {"from_rev": 1},
    "long": {},
}


@pytest.mark.slow
def test_a_copy_and_a_restore_take_a_bounded_number_of_statements_whatever_their_size(make_service):
    service, taken = make_service(LAST_SEEN_RESOLUTION="3600000"), []
    admin = arrange(service, "shop", *(f"{slug}{count}" for count in (2, 300) for slug in ("prod", "dev")))
    for count in (2, 300):
        vault, source = (
            Vault(admin, f"/projects/shop/environments/{slug}{count}") for slug in ("prod", "dev")
        )
        # Whoever seals first asks whether the master key may.
        vault.set(FIRST="x")
        counts = {}
        for number, (name, body) in enumerate(KINDS.items()):
            value = str(number) * (SHORT if name == "long" else 1)
            source.batch(set={f"K{at}": value for at in range(count)})
            source_of = {"from": {"project": "shop", "environment": f"dev{count}"}}
            with recorded(service.engine) as statements:
                vault.post("copy", source_of | body)
            counts[name] = len(statements)
            # One names the keys at the source where not all were taken, two read values that are long.
            assert len(statements) <= 1 + 14, (name, statements)
        for name, body in (("restore", {"to_rev": 2}), ("empty", {"to_rev": 0}), ("back", {"to_rev": 3})):
            with recorded(service.engine) as statements:
                vault.post("restore", body)
            counts[name] = len(statements)
            assert len(statements) <= 1 + 11, (name, statements)
        taken.append(counts)
    assert all(one == other for one, other in pairwise(taken)), taken
