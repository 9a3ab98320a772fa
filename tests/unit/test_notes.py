"""Signed notes and checkpoints in the forms of C2SP, tiles of a log, and canonical JSON."""

from __future__ import annotations

import base64
import json
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from secretsvc.transparency.canonical_json import canonical
from secretsvc.transparency.merkle import EMPTY_ROOT
from secretsvc.transparency.signed_note import (
    Checkpoint,
    Verifier,
    public_key_of,
    read_checkpoint,
    read_verifier,
    sign,
)
from secretsvc.transparency.tiles import Tile, bundled, tiles_of, unbundled

#: The example of the Go package golang.org/x/mod/sumdb/note.
NEUMANN = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
NOTE = (
    "If you think cryptography is the answer to your problem,\n"
    "then you don't know what your problem is.\n"
    "\n"
    "\N{EM DASH} PeterNeumann"
    " x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n"
)
PRIVATE = bytes(range(32))
OWN = Verifier("secretsvc", public_key_of(PRIVATE))
HEAD = Checkpoint("secretsvc", 0, EMPTY_ROOT)


def test_a_note_of_another_implementation_is_read():
    verifier = read_verifier(NEUMANN)
    assert verifier.text == NEUMANN
    assert verifier.has_signed(NOTE) == NOTE.partition("\n\n")[0] + "\n"


@pytest.mark.parametrize(
    "text",
    [
        NEUMANN.replace("c74f20a3", "c74f20a4"),
        NEUMANN.replace("PeterNeumann", "Peter Neumann"),
        NEUMANN.replace("+ARpc", "+AhpC"),
        NEUMANN[:-4],
        "PeterNeumann+c74f20a3",
        "",
    ],
)
def test_what_is_no_verifier_key_is_refused(text):
    with pytest.raises(ValueError, match=r"verifier key|padding|base64"):
        read_verifier(text)


def test_a_checkpoint_is_signed_and_read():
    note = sign("secretsvc", PRIVATE, HEAD.body)
    lines = note.split("\n")
    assert lines[:4] == ["secretsvc", "0", "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=", ""]
    assert read_checkpoint(note, OWN) == HEAD
    signature = base64.b64decode(lines[4].rpartition(" ")[2])
    assert (len(signature), signature[:4]) == (68, OWN.key_id)


def test_a_checkpoint_with_the_signature_of_a_witness_beside_is_read():
    note = sign("secretsvc", PRIVATE, HEAD.body)
    witness = sign("witness", bytes(32), HEAD.body).rpartition("\n\n")[2]
    assert read_checkpoint(note + witness, OWN) == HEAD
    assert read_checkpoint(note.replace("\n\n", f"\n\n{witness}"), OWN) == HEAD


NOTE_OF_OWN = sign("secretsvc", PRIVATE, HEAD.body)
FORGED = {
    "another size": NOTE_OF_OWN.replace("\n0\n", "\n1\n"),
    "another key": sign("secretsvc", bytes(32), HEAD.body),
    "another name": sign("other", PRIVATE, HEAD.body),
    "another log": sign("secretsvc", PRIVATE, Checkpoint("other", 0, EMPTY_ROOT).body),
    "no checkpoint": sign("secretsvc", PRIVATE, "secretsvc\n"),
    "a leading zero": sign("secretsvc", PRIVATE, HEAD.body.replace("\n0\n", "\n00\n")),
    "no signature": HEAD.body,
    "no end": NOTE_OF_OWN[:-1],
    "a short signature": NOTE_OF_OWN[:-5] + "\n",
    "nothing": "",
}


@pytest.mark.parametrize("kind", FORGED)
def test_what_is_no_checkpoint_of_the_log_is_refused(kind):
    with pytest.raises(ValueError, match=r"not (signed by this key|a checkpoint of this log)"):
        read_checkpoint(FORGED[kind], OWN)


@given(st.integers(0, len(NOTE_OF_OWN.encode()) - 1), st.integers(0, 7))
def test_a_checkpoint_with_one_bit_turned_is_another_or_none(at, bit):
    raw = bytearray(NOTE_OF_OWN.encode())
    raw[at] ^= 1 << bit
    try:
        found = read_checkpoint(raw.decode(), OWN)
    except ValueError:
        return
    assert found == HEAD


@pytest.mark.parametrize(
    ("tile", "level", "path"),
    [
        (Tile(0, 256), 0, "tile/0/000"),
        (Tile(1234067, 256), 0, "tile/0/x001/x234/067"),
        (Tile(1000, 112), 1, "tile/1/x001/000.p/112"),
        (Tile(5, 1), None, "tile/entries/005.p/1"),
    ],
)
def test_tiles_lie_where_the_specification_says(tile, level, path):
    assert tile.path(level) == path


def test_the_tiles_of_a_count_are_full_but_for_the_last():
    assert [*tiles_of(0)] == []
    assert [*tiles_of(256)] == [Tile(0, 256)]
    assert [*tiles_of(513, 300)] == [Tile(1, 256), Tile(2, 1)]


@given(st.lists(st.binary(max_size=70), max_size=5))
def test_entries_come_out_of_a_bundle_as_they_went_in(entries):
    bundle = bundled(entries)
    assert [*unbundled(bundle)] == entries
    for cut in range(1, len(bundle)):
        try:
            found = [*unbundled(bundle[:cut])]
        except ValueError:
            continue
        assert found == entries[: len(found)]


def test_an_entry_that_is_too_long_is_refused():
    assert len(bundled([bytes(65_535)])) == 65_537
    with pytest.raises(struct.error):
        bundled([bytes(65_536)])


#: What the example of RFC 8785 (3.2.2) holds of what records hold: its texts, its literals, its order.
RFC_8785 = (
    '{"string": "\\u20ac$\\u000F\\u000aA\'\\u0042\\u0022\\u005c\\\\\\"\\/", "literals": [null, true, false],'
    ' "\\ufb33": 7, "\\ud83d\\ude00": 5, "\\u20ac": 1, "\\r": 2, "1": 4, "\\u0080": 6, "\\u00f6": 3}'
)
CANONICAL = (
    '{"\\r":2,"1":4,"literals":[null,true,false],"string":"\u20ac$\\u000f\\nA\'B\\"\\\\\\\\\\"/",'
    '"\u0080":6,"\u00f6":3,"\u20ac":1,"\U0001f600":5,"\ufb33":7}'
)


def test_canonical_json_is_that_of_the_specification():
    assert canonical(json.loads(RFC_8785)) == CANONICAL.encode()


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(VALUES)
def test_canonical_json_is_the_value_and_the_same_again(value):
    text = canonical(value)
    assert json.loads(text) == value
    assert canonical(json.loads(text)) == text


def test_what_is_nested_too_deep_has_no_canonical_json():
    value: list[object] = []
    for _ in range(2000):
        value = [value]
    with pytest.raises(ValueError, match="canonical"):
        canonical(value)


@pytest.mark.parametrize(
    "value", [1.5, 2**53, -(2**53), "\ud800", {"\ud800": 1}, {1: 2}, (1,), b"x", [float("nan")]], ids=repr
)
def test_what_records_do_not_hold_has_no_canonical_json(value):
    with pytest.raises(ValueError, match=r"canonical|surrogates|round|name"):
        canonical(value)
