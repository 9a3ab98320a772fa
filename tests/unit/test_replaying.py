"""The state that records lead to, in the order in which they were sealed, and its signature."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from secretsvc.audit.models import EVERYWHERE
from secretsvc.sealedlog.replay.histories import History, reason_digest
from secretsvc.sealedlog.replay.replay import State
from secretsvc.sealedlog.replay.row_states import (
    UNTOLD,
    EnvironmentState,
    GrantState,
    IdentityState,
    RevisionState,
    SecretState,
    Tally,
    TokenState,
    VersionState,
)
from secretsvc.sealedlog.replay.snapshots import open_state, sign_state
from secretsvc.transparency.signed_note import Verifier, public_key_of, read_checkpoint

DATA = Path(__file__).parents[1] / "data"
KEY = bytes(range(32))
VERIFIER = Verifier("secretsvc", public_key_of(KEY))


def record(action, detail, project_id=None, environment_id=None, **more):
    actor = {"identity_id": "ada", "kind": "user", "subject": "ada@example.com"}
    scope = {"project_id": project_id, "environment_id": environment_id}
    more = {"id": "0000", "created_at": 1, "reason": None, **more}
    return {"action": action, "outcome": "success", "actor": actor, "detail": detail, **scope, **more}


def write(rev, *changes, digests=None, action="secret.batch", **more):
    made = [{"key": key, "kind": kind, "version": version} for key, kind, version in changes]
    detail = {"rev": rev, "changes": made}
    if digests is not None:
        detail["descriptions"] = {"kid": "0123", "digests": digests}
    fields = {"id": f"record {rev}", "created_at": rev, "reason": f"reason {rev}"}
    return record(action, detail | more, "shop", "prod", **fields)


def granted(grant_id, **terms):
    detail = {"grant_id": grant_id, "identity_id": "ada", "group_id": None, "scope_type": "environment"}
    return {**detail, **terms}


HISTORY = [
    record("identity.create", {"identity_id": "ada"}),
    record("identity.create", {"identity_id": "bot", "kind": "service", "subject": "bot"}),
    record("identity.update", {"identity_id": "bot", "fields": ["disabled"], "disabled": True}),
    record("grant.bootstrap", {"grant_id": "g0", "identity_id": "ada", "subject": "ada@example.com"}),
    record("group.create", {"group_id": "crew", "slug": "crew"}),
    record("group.member.add", {"group_id": "crew", "identity_id": "bot"}),
    record("project.create", {"slug": "shop"}, "shop"),
    record("environment.create", {"slug": "prod"}, "shop", "prod"),
    record("environment.update", {"fields": ["protected"], "protected": True}, "shop", "prod"),
    record("grant.create", granted("g1", role="reader", expires_at=5), "shop", "prod"),
    record("grant.update", granted("g1", after={"role": "writer", "expires_at": None}), "shop", "prod"),
    write(1, ("A", "added", 1), ("B", "added", 1), digests={"A": "aa"}),
    write(2, ("A", "changed", 2), ("B", "removed", 2)),
    write(3, digests={"A": "ab"}),
]


def replayed(records):
    state = State()
    for one in records:
        state.apply(one)
    return state


def test_each_record_changes_what_it_tells_of():
    state = replayed(HISTORY)
    assert state.identities == {
        "ada": IdentityState("user", "ada@example.com", False),
        "bot": IdentityState("service", "bot", True),
    }
    assert (state.groups, state.members, state.projects) == (
        {"crew": "crew"},
        {"crew": {"bot"}},
        {"shop": "shop"},
    )
    assert state.environments == {"prod": EnvironmentState("shop", "prod", True, 3)}
    assert state.grants == {
        "g0": GrantState("ada", None, "global", None, None, "admin", None),
        "g1": GrantState("ada", None, "environment", "shop", "prod", "writer", None),
    }
    assert state.secrets == {"prod": {"A": SecretState(2, False, "0123", "ab"), "B": SecretState(2, True)}}
    assert state.histories["prod"].versions == {
        "A": {1: VersionState(1, False), 2: VersionState(2, False)},
        "B": {1: VersionState(1, False), 2: VersionState(2, True)},
    }
    assert state.histories["prod"].revisions == {rev: revision(rev) for rev in (1, 2, 3)}


def revision(rev, action="secret.batch", copied_from=None):
    return RevisionState(action, reason_digest(f"reason {rev}"), rev, "ada", f"record {rev}", copied_from)


@pytest.mark.parametrize("action", ["secret.rename", "secret.rollback", "secret.restore", "secret.copy"])
def test_a_value_of_another_version_has_its_origin_or_an_unknown_one_from_an_earlier_release(action):
    source = {"from": {"environment_id": "prod"}}
    written = ("A", "changed", 3), ("C", "added", 1), ("B", "removed", 3)
    told = write(4, *written, action=action, origins={"A": "aa", "C": "cc"}, **source)
    history = replayed([*HISTORY, told]).histories["prod"]
    held = {key: history.versions[key] for key in "ABC"}
    assert (held["A"][3], held["C"][1], held["B"][3]) == (
        VersionState(4, False, "aa"), VersionState(4, False, "cc"), VersionState(4, True),
    )  # fmt: skip
    earlier = replayed([*HISTORY, write(4, *written, action=action, **source)]).histories["prod"].versions
    assert (earlier["A"][3].origin, earlier["B"][3].origin) == (UNTOLD, None)


def test_a_copy_out_of_another_environment_names_it():
    for source, wanted in (("dev", "dev"), ("prod", None)):
        detail = {"from": {"environment_id": source}, "origins": {"A": "aa"}}
        copied = write(4, ("A", "changed", 3), action="secret.copy", **detail)
        history = replayed([*HISTORY, copied]).histories["prod"]
        assert history.revisions[4] == revision(4, "secret.copy", wanted)


TOKEN = {"token_id": "t1", "identity_id": "bot", "name": "ci", "prefix": "ssv_0000", "expires_at": 9}


def test_tokens_are_followed_and_denials_counted_in_any_order():
    created, deleted = record("token.create", TOKEN | {"digest": "dd"}), record("token.delete", TOKEN)
    assert replayed([created]).tokens == {"t1": TokenState("bot", "ci", "ssv_0000", 1, "ada", 9, "dd")}
    assert replayed([record("token.create", TOKEN)]).tokens["t1"].digest == UNTOLD
    assert replayed([created, deleted]).to_json() == State().to_json()
    at = [("shop", None, 7), ("shop", "prod", 5), ("shop", "prod", 3), (None, None, 4)]
    denied = [record("project.view", None, *where, outcome="denied", created_at=time) for *where, time in at]
    for order in (denied, denied[::-1]):
        assert replayed(order).tallies == {
            "ada": {"shop": Tally(1, 7, 7), "prod": Tally(2, 3, 5), str(EVERYWHERE): Tally(1, 4, 4)}
        }


def test_a_state_without_histories_is_read_and_what_led_to_it_is_unknown():
    content, note = ((DATA / f"state-1.{name}").read_bytes() for name in ("json", "note"))
    size, state, _ = open_state(note.decode(), VERIFIER, content)
    assert (size, state.is_partial, state.tokens, state.tallies) == (15, True, {}, {})
    assert state.histories == {"prod": History(since=3)}
    state.apply(write(4, ("B", "added", 3)))
    assert state.environments["prod"].rev == 4
    assert state.histories["prod"].revisions.keys() == {4}
    assert state.histories["prod"].versions == {"B": {3: VersionState(4, False)}}
    assert State.from_json(state.to_json()).to_json() == state.to_json()


@pytest.mark.parametrize("name", ["waiting", "removed", "changed"])
def test_a_state_in_which_records_wait_is_refused(name):
    found = json.loads(replayed(HISTORY).to_json()) | {"v": 2, "waiting": {}, "removed": [], "changed": {}}
    assert State.from_json(json.dumps(found).encode()).to_json() == replayed(HISTORY).to_json()
    found[name] = {"prod": []} if name == "waiting" else ["other"]
    with pytest.raises(ValueError, match="records wait"):
        State.from_json(json.dumps(found))


def test_who_is_removed_and_comes_back_has_the_description_of_before_unless_another_is_told():
    state = replayed([*HISTORY, write(4, ("A", "removed", 3))])
    assert state.secrets["prod"]["A"] == SecretState(3, True, "0123", "ab")
    state.apply(write(5, ("A", "added", 4)))
    assert state.secrets["prod"]["A"] == SecretState(4, False, "0123", "ab")
    state.apply(write(6, ("A", "removed", 5)))
    state.apply(write(7, ("A", "added", 6), digests={"A": None}))
    assert state.secrets["prod"]["A"] == SecretState(6, False)


UNKNOWN = [
    HISTORY[2],
    HISTORY[8],
    HISTORY[10],
    record("group.member.remove", {"group_id": "crew", "identity_id": "bot"}),
    record("grant.delete", granted("g1", role="reader", expires_at=5), "shop", "prod"),
    record("group.delete", {"group_id": "crew", "slug": "crew"}),
    record("project.delete", {"slug": "shop"}, "shop"),
    record("environment.delete", {"slug": "prod"}, "shop", "prod"),
    record("token.delete", TOKEN),
    write(1, ("A", "added", 1)),
]


@pytest.mark.parametrize("about", UNKNOWN, ids=lambda one: one["action"])
def test_a_record_about_a_row_that_the_log_did_not_create_changes_nothing(about):
    assert replayed([about]).to_json() == State().to_json()


def terms(before, after):
    named = [{"role": role, "expires_at": None} for role in (before, after)]
    return record("grant.update", granted("g2", before=named[0], after=named[1]), "shop", "prod")


def test_a_change_of_a_grant_from_terms_that_the_log_did_not_lead_to_is_not_followed():
    made = record("grant.create", granted("g2", role="reader", expires_at=None), "shop", "prod")
    followed = replayed([made, terms("reader", "writer")])
    assert followed.grants["g2"].role == "writer"
    followed.apply(terms("admin", "reader"))
    assert followed.grants["g2"].role == "writer"


@pytest.mark.parametrize("rev", [1, 2, 3, 5])
def test_a_revision_that_does_not_follow_the_one_before_it_is_not_followed(rev):
    state = replayed(HISTORY)
    state.apply(write(rev, ("A", "changed", 9)))
    assert state.to_json() == replayed(HISTORY).to_json()


def test_an_identity_that_is_removed_takes_all_that_it_holds_along():
    removed = record("identity.delete", {"identity_id": "bot", "kind": "service", "subject": "bot"})
    given = record("grant.create", granted("g2", role="reader", expires_at=None) | {"identity_id": "bot"})
    state = replayed([*HISTORY, given, record("token.create", TOKEN), removed])
    assert ([*state.identities], state.members, [*state.grants]) == (["ada"], {"crew": set()}, ["g0", "g1"])
    assert state.tokens == {}


GONE = {
    "project": record("project.delete", {"slug": "shop"}, "shop"),
    "environment": record("environment.delete", {"slug": "prod"}, "shop", "prod"),
}


@pytest.mark.parametrize("what", GONE)
def test_what_is_deleted_takes_along_all_that_hangs_below_it(what):
    state = replayed([*HISTORY, GONE[what]])
    assert (state.environments, state.secrets, [*state.grants]) == ({}, {}, ["g0"])
    state.apply(record("group.delete", {"group_id": "crew", "slug": "crew"}))
    assert (state.groups, state.members) == ({}, {})


def test_a_record_that_the_state_has_already_is_met_once_more_and_changes_nothing():
    state = replayed(HISTORY)
    state.applied = {"0001"}
    state.apply(record("group.create", {"group_id": "more", "slug": "more"}, id="0001"))
    assert ("more" in state.groups, state.applied) == (False, set())


def test_reads_and_what_plugins_record_change_nothing_and_a_refusal_only_its_tally():
    state = replayed(HISTORY)
    before = state.to_json()
    state.apply({**GONE["project"], "outcome": "denied"})
    assert state.tallies.pop("ada") == {"shop": Tally(1, 1, 1)}
    state.apply(record("secret.reveal", {"key": "A", "version": 1}, "shop", "prod"))
    state.apply(record("acme.made", None))
    assert state.to_json() == before


@pytest.mark.parametrize("action", ["grant.create", "identity.update", "group.member.add", "grant.bootstrap"])
@pytest.mark.parametrize("detail", [None, {}, [], "text"], ids=str)
def test_a_record_that_lacks_what_it_should_tell_is_told_apart(action, detail):
    with pytest.raises(ValueError, match="lacks what a replay needs"):
        State().apply(record(action, detail))


@pytest.mark.parametrize("field", ["actor", "created_at"])
def test_a_denial_that_lacks_a_field_is_told_apart(field):
    denied = record("project.view", None, "shop", outcome="denied")
    del denied[field]
    with pytest.raises(ValueError, match="lacks what a replay needs"):
        State().apply(denied)


def test_a_state_goes_to_json_and_back_as_it_is():
    state = replayed([*HISTORY, write(4, ("A", "changed", 3))])
    state.applied = {"0001"}
    again = State.from_json(state.to_json())
    assert vars(again) == vars(state)
    assert again.to_json() == state.to_json()


@pytest.mark.parametrize(
    "content", [b"", b"{}", b"[]", b'{"v":4}', b'{"v":3}', b'{"v":2}', b'{"v":1}', b'{"v":1,"identities":3}']
)
def test_what_is_no_state_is_refused(content):
    with pytest.raises(ValueError, match=r"not a state|another version|unexpected|empty"):
        State.from_json(content)


def test_a_signed_state_is_read_back_and_nothing_else_passes_for_it():
    content = replayed(HISTORY).to_json()
    note = sign_state("secretsvc", KEY, 14, content)
    size, state, _ = open_state(note, VERIFIER, content)
    assert (size, state.to_json()) == (14, content)
    for wrong in (note.replace("\n14\n", "\n15\n"), "", "\n\n", note[:-2]):
        with pytest.raises(ValueError, match="not signed"):
            open_state(wrong, VERIFIER, content)
    with pytest.raises(ValueError, match="not signed"):
        open_state(note, VERIFIER, State().to_json())
    with pytest.raises(ValueError, match="not signed"):
        open_state(note, Verifier("other", VERIFIER.public_key), content)
    with pytest.raises(ValueError, match="not a checkpoint"):
        read_checkpoint(note, VERIFIER)


@pytest.mark.parametrize("detail", [{"changes": ["all"]}, {"changes": None}, ["changes"], "changes", 3, None])
def test_records_of_plugins_are_passed_over_whatever_they_hold(detail):
    state = replayed([*HISTORY, record("acme.sync", detail, "shop", "prod")])
    assert state.to_json() == replayed(HISTORY).to_json()
