"""Replaced signing keys: a note of both, and which checkpoints of which key count."""

from __future__ import annotations

import pytest

from secretsvc.transparency.key_succession import Replacement, Signers, read_replacement
from secretsvc.transparency.signed_note import (
    Checkpoint,
    Verifier,
    public_key_of,
    read_checkpoint,
    read_verifier,
    sign,
)

KEYS = [bytes([number]) * 32 for number in range(4)]
NAMED = [Verifier("secretsvc", public_key_of(key)) for key in KEYS]


def note_of(old: int, size: int, *signing: int, new: int | None = None) -> str:
    """On the replacement of a key by the next one; by default both sign it."""
    at = Checkpoint("secretsvc", size, bytes(32))
    body = Replacement(at, NAMED[old], NAMED[old + 1 if new is None else new]).body
    keys = [KEYS[one] for one in signing or (old, old + 1)]
    return sign("secretsvc", keys[0], body, *keys[1:])


def checkpoint(signer: int, size: int) -> str:
    return sign("secretsvc", KEYS[signer], Checkpoint("secretsvc", size, bytes(32)).body)


def counts(signers: Signers, signer: int, size: int) -> bool:
    try:
        return read_checkpoint(checkpoint(signer, size), signers).size == size
    except ValueError:
        return False


def test_a_note_with_two_signatures_is_read_by_who_knows_either_key():
    note = note_of(0, 7)
    assert NAMED[0].has_signed(note) == NAMED[1].has_signed(note)
    assert NAMED[2].has_signed(note) is None
    assert note.startswith("secretsvc\n7\n")
    found = read_replacement(note)
    assert (found.at.size, found.old, found.new) == (7, NAMED[0], NAMED[1])


@pytest.mark.parametrize(
    "note",
    [
        note_of(0, 7, 0),
        note_of(0, 7, 1),
        note_of(0, 7, 0, 2),
        note_of(0, 7).replace("\n7\n", "\n8\n"),
        checkpoint(0, 7),
        sign("secretsvc", KEYS[0], "secretsvc\n7\nx\nreplaced x\nby y\n", KEYS[1]),
        sign("other", KEYS[0], note_of(0, 7).partition("\n\n")[0] + "\n", KEYS[1]),
        "",
    ],
    ids=["old", "new", "another", "changed", "checkpoint", "form", "name", "empty"],
)
def test_a_note_that_not_both_keys_have_signed_is_none(note):
    with pytest.raises(ValueError, match="not a note on the replacement of a key"):
        read_replacement(note)


def test_whichever_key_is_trusted_each_counts_up_to_its_replacement_and_the_newest_goes_on():
    notes = [read_replacement(one) for one in (note_of(1, 9), note_of(0, 5), note_of(2, 9))]
    for trusted in NAMED:
        signers = Signers(trusted, notes)
        assert signers.newest == NAMED[3]
        assert [one.at.size for one in signers.replacements] == [5, 9, 9]
        for signer, most in enumerate((5, 9, 9)):
            assert counts(signers, signer, most)
            assert not counts(signers, signer, most + 1)
        assert counts(signers, 3, 1000)


def test_without_the_notes_between_a_key_leads_to_no_other():
    signers = Signers(NAMED[0], [read_replacement(note_of(1, 9))])
    assert (signers.newest, signers.replacements) == (NAMED[0], ())
    assert counts(signers, 0, 1000)
    assert not counts(signers, 1, 1)
    other = Signers(read_verifier(Verifier("other", NAMED[0].public_key).text), [])
    assert not counts(other, 0, 1)


def test_a_former_key_counts_for_nothing_that_names_no_number_of_records():
    signers = Signers(NAMED[1], [read_replacement(note_of(0, 5))])
    for text in ("secretsvc\n", "secretsvc\n-1\n", "secretsvc state/1\n٣\nx\n"):
        assert signers.has_signed(sign("secretsvc", KEYS[0], text)) is None
        assert signers.has_signed(sign("secretsvc", KEYS[1], text)) == text
    assert signers.has_signed(sign("secretsvc", KEYS[0], "secretsvc state/1\n5\nx\n")) is not None


def test_a_key_with_two_successors_and_one_with_two_predecessors_are_refused():
    for notes in ((note_of(0, 5), note_of(0, 5, 0, 2, new=2)), (note_of(1, 5), note_of(0, 5, 0, 2, new=2))):
        with pytest.raises(ValueError, match="two"):
            Signers(NAMED[1], [read_replacement(one) for one in notes])


def test_notes_in_a_circle_come_to_an_end():
    notes = [note_of(0, 5), note_of(1, 6, 1, 0, new=0)]
    assert len(Signers(NAMED[0], [read_replacement(one) for one in notes]).replacements) <= 4
