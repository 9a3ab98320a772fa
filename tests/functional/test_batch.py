"""`POST …/secrets:batch` (specification, "Secrets" 4; contract 3.2, 3.3, 4.3, 4.12)."""

from __future__ import annotations

import pytest
from secrets_client import BOTH_SPELLINGS, Vault, block_audit, block_commit, detail, digests, records, state

pytestmark = pytest.mark.both_engines


@BOTH_SPELLINGS
def test_a_batch_answers_with_the_new_revision_and_what_it_did_by_key(vault):
    vault.set(B="one", C="one")
    answer = vault.batch(set={"C": "two", "A": "new"}, delete=["B"])
    assert answer.json == {
        "rev": 2,
        "changes": [
            {"key": "A", "kind": "added", "version": 1},
            {"key": "B", "kind": "removed", "version": 2},
            {"key": "C", "kind": "changed", "version": 2},
        ],
    }
    assert vault.values() == {"A": "new", "C": "two"}


def test_merge_leaves_alone_what_it_does_not_name(vault):
    vault.set(A="one", B="two")
    before = vault.listed()["B"]
    vault.batch(mode="merge", set={"A": "uno"})
    assert vault.values() == {"A": "uno", "B": "two"}
    assert vault.listed()["B"] == before


def test_replace_removes_what_it_does_not_set(vault):
    vault.set(A="one", B="two", C="three")
    answer = vault.batch(mode="replace", set={"B": "dos", "D": "four"}, delete=["A"])
    kinds = {change["key"]: change["kind"] for change in answer.json["changes"]}
    assert kinds == {"A": "removed", "B": "changed", "C": "removed", "D": "added"}
    assert vault.values() == {"B": "dos", "D": "four"}


@pytest.mark.parametrize("body", [{}, {"set": {}}, {"delete": []}, {"delete": ["A"]}])
def test_replace_by_nothing_empties_the_environment(vault, body):
    vault.set(A="one", B="two")
    vault.batch(mode="replace", **body)
    assert vault.values() == {}


@pytest.mark.parametrize("mode", ["merge", "replace"])
def test_a_key_in_both_set_and_delete_is_refused(vault, service, mode):
    vault.set(A="one", B="two")
    before = state(service)
    answer = vault.batch(422, mode=mode, set={"A": "x", "B": "y", "C": "z"}, delete=["B", "A", "B"])
    assert answer.json["code"] == "VALIDATION_FAILED"
    assert [issue["path"] for issue in answer.json["issues"]] == ["set.A", "set.B"]
    assert state(service) == before


def test_a_description_needs_its_key_in_set(vault, service):
    vault.set(A="one")
    before = state(service)
    answer = vault.batch(422, set={"B": "x"}, descriptions={"A": "no", "B": "yes"})
    assert [issue["path"] for issue in answer.json["issues"]] == ["descriptions.A"]
    assert vault.batch(422, descriptions={"A": None}).json["code"] == "VALIDATION_FAILED"
    assert state(service) == before


def test_descriptions_are_kept_changed_and_cleared_and_bump_no_version(vault):
    vault.batch(set={"A": "1", "B": "1", "C": "1"}, descriptions={"A": "a", "B": "b", "C": " c "})
    vault.batch(set={"A": "2", "B": "2", "C": "2"}, descriptions={"A": None, "B": "new"})
    listed = vault.listed()
    assert {key: one["description"] for key, one in listed.items()} == {"A": None, "B": "new", "C": "c"}
    assert {one["version"] for one in listed.values()} == {2}
    vault.batch(mode="replace", set={"B": "3"})
    assert vault.listed()["B"]["description"] == "new"


def test_the_value_that_is_there_already_is_a_change(vault):
    vault.set(A="same")
    (change,) = vault.batch(set={"A": "same"}).json["changes"]
    assert change == {"key": "A", "kind": "changed", "version": 2}
    assert vault.rev == 2


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"set": {}},
        {"delete": ["NEVER"]},
        {"delete": ["GONE"]},
        {"set": {}, "descriptions": {}, "delete": []},
    ],
)
def test_a_batch_that_changes_nothing_leaves_everything_as_it_is(vault, service, body):
    vault.set(A="one", GONE="x")
    vault.batch(delete=["GONE"])
    before, known = state(service), len(records(service))
    assert vault.batch(**body).json == {"rev": 2, "changes": []}
    assert state(service) == before
    assert len(records(service)) == known


def test_a_key_named_twice_in_delete_counts_once(vault):
    vault.set(A="one")
    answer = vault.batch(delete=["A", "A", "A"])
    assert answer.json == {"rev": 2, "changes": [{"key": "A", "kind": "removed", "version": 2}]}


@pytest.mark.parametrize("count", [1, 40])
def test_one_batch_is_one_revision_however_large(vault, service, count):
    before = len(records(service))
    answer = vault.batch(set={f"K{number}": "x" for number in range(count)})
    assert answer.json["rev"] == 1
    assert len(answer.json["changes"]) == count
    assert len(records(service)) == before + 1


def test_a_key_that_comes_back_goes_on_counting(vault):
    for version in (1, 3, 5):
        assert vault.batch(set={"A": "x"}).json["changes"][0]["version"] == version
        assert vault.batch(delete=["A"]).json["changes"][0]["version"] == version + 1
    assert [one["deleted"] for one in vault.versions("A")] == [True, False] * 3


def test_an_environments_secrets_are_its_own(vault, admin):
    dev = Vault(admin, vault.base.replace("prod", "dev"))
    vault.set(A="prod")
    assert dev.set(A="dev") == 1
    dev.batch(mode="replace", set={"B": "x"})
    assert vault.values() == {"A": "prod"}


@pytest.mark.both_engines
@pytest.mark.parametrize("block", [block_audit, block_commit], ids=["insert", "commit"])
def test_a_batch_that_cannot_be_recorded_changes_nothing(vault, service, block):
    vault.set(A="one", B="two")
    block(service)
    before = state(service)
    answer = vault.batch(500, mode="replace", set={"A": "uno", "C": "tres"})
    assert answer.json["code"] == "INTERNAL"
    assert state(service) == before
    assert vault.get("secrets").json["rev"] == 1


def test_the_reason_of_a_batch_is_recorded(vault, service):
    vault.batch(set={"A": "one"}, reason="r" * 512)
    vault.batch(set={"A": "one"}, reason=None)
    vault.batch(set={"A": "one"})
    assert [row["reason"] for row in records(service)] == ["r" * 512, None, None]


REFUSED = [
    ({"mode": None}, "mode"),
    ({"mode": "upsert"}, "mode"),
    ({"mode": 1}, "mode"),
    ({"set": []}, "set"),
    ({"set": None}, "set"),
    ({"set": {"A": 12345678}}, "set.A"),
    ({"set": {"A": None}}, "set.A"),
    ({"set": {"A": ["12345678"]}}, "set.A"),
    ({"set": {"A": "\ud800"}}, "set.A"),
    ({"set": {"A B": "12345678"}}, "set.A B"),
    ({"set": {"": "12345678"}}, "set."),
    ({"set": {"K" * 257: "12345678"}}, "set." + "K" * 257),
    ({"descriptions": {"A": 12345678}, "set": {"A": "x"}}, "descriptions.A"),
    ({"descriptions": {"A": "d" * 1025}, "set": {"A": "x"}}, "descriptions.A"),
    ({"descriptions": {"A": "12345678\x00"}, "set": {"A": "x"}}, "descriptions.A"),
    ({"delete": "A"}, "delete"),
    ({"delete": {"A": 1}}, "delete"),
    ({"delete": ["A", "12345678"]}, "delete.1"),
    ({"delete": [None]}, "delete.0"),
    ({"expected_rev": "1"}, "expected_rev"),
    ({"expected_rev": 1.0}, "expected_rev"),
    ({"expected_rev": True}, "expected_rev"),
    ({"expected_rev": -1}, "expected_rev"),
    ({"expected_rev": 2**53}, "expected_rev"),
    ({"reason": "r" * 513}, "reason"),
    ({"reason": 12345678}, "reason"),
    ({"reason": "12345678\x00"}, "reason"),
    ({"dry_run": True}, "dry_run"),
    ({"values": {}}, "values"),
]


@pytest.mark.parametrize(("body", "path"), REFUSED)
def test_a_body_outside_the_schema_is_refused_by_path_and_never_quoted(vault, service, body, path):
    before = state(service)
    answer = vault.batch(422, **body)
    assert answer.json["code"] == "VALIDATION_FAILED"
    assert [issue["path"] for issue in answer.json["issues"]] == [path]
    messages = [issue["message"] for issue in answer.json["issues"]]
    assert "12345678" not in "".join(messages)
    assert state(service) == before


def test_the_mode_is_required(vault):
    (issue,) = vault.post("batch", {"set": {"A": "x"}}, 422).json["issues"]
    assert issue == {"path": "mode", "message": "Required."}


def test_every_problem_of_a_body_is_told_at_once(vault):
    issues = vault.batch(422, set={"A": 1, "B": "fine", "C": None}, reason=7, delete=["1"]).json["issues"]
    assert {issue["path"] for issue in issues} == {"set.A", "set.C", "reason", "delete.0"}


def test_the_longest_description_fits(vault):
    vault.batch(set={"A": "x"}, descriptions={"A": "\U0001f511" * 1024})
    assert vault.listed()["A"]["description"] == "\U0001f511" * 1024


@pytest.mark.parametrize(
    ("raw", "content_type"),
    [
        (b'{"mode": "merge", "set": {"A": "x", "A": "y"}}', "application/json"),
        (b'{"mode": "merge", "mode": "merge"}', "application/json"),
        (b'["merge"]', "application/json"),
        (b'{"mode": "merge"', "application/json"),
        (b"", "application/json"),
        (b'{"mode": "merge"}', "text/plain"),
        (b'{"mode": "merge", "set": {"A": "\xff"}}', "application/json"),
    ],
)
def test_what_is_no_json_object_is_a_bad_request(vault, raw, content_type):
    path = f"{vault.base}/secrets:batch"
    answer = vault.client.request("POST", path, body=raw, content_type=content_type)
    assert (answer.status_int, answer.json["code"]) == (400, "BAD_REQUEST")
    assert vault.rev == 0


WRITES = {
    "batch": {"mode": "merge", "set": {"B": "x"}},
    "import": {"format": "env", "mode": "merge", "content": "B=x", "dry_run": True},
    "rename": {"from": "A", "to": "B"},
    "rollback": {"key": "A", "to_version": 1},
}


@BOTH_SPELLINGS
def test_every_write_takes_a_writer_of_the_environment(vault, service):
    vault.set(A="one")
    service.grant("reader@example.com", "reader", "shop/prod")
    service.grant("other@example.com", "admin", "shop/dev")
    service.grant("writer@example.com", "writer", "shop/prod")
    for verb, body in WRITES.items():
        before = state(service), len(records(service))
        Vault(service.user("reader@example.com"), vault.base).post(verb, body, 403)
        Vault(service.user("other@example.com"), vault.base).post(verb, body, 404)
        Vault(service.nobody(), vault.base).post(verb, body, 401)
        assert (state(service), len(records(service))) == before
        forbidden, hidden = service.denials()[-2:]
        assert {row["action"] for row in (forbidden, hidden)} == {"authz.environment.writer"}
        assert {row["project_id"] for row in (forbidden, hidden)} == {None}
        assert forbidden["environment_id"] == hidden["environment_id"] is not None
    writer = Vault(service.user("writer@example.com"), vault.base)
    for verb in ("rollback", "rename", "import", "batch"):
        writer.post(verb, WRITES[verb])


def test_the_record_of_a_batch_tells_keys_and_versions_only(vault, service):
    vault.batch(set={"A": "correct-horse"}, descriptions={"A": "battery-staple"})
    vault.batch(set={"A": "correct-horse"})
    vault.batch(set={"A": "correct-horse"}, descriptions={"A": "battery-staple"})
    first, *others = records(service)
    told = {"rev": 1, "changes": [{"key": "A", "kind": "added", "version": 1}]}
    assert detail(first) == told | digests(service, A="battery-staple")
    # Of a description that stays nothing is told.
    for rev, row in enumerate(others, 2):
        assert detail(row) == {"rev": rev, "changes": [{"key": "A", "kind": "changed", "version": rev}]}
    assert "horse" not in str([dict(row) for row in records(service)])
    assert "staple" not in str([dict(row) for row in records(service)])
