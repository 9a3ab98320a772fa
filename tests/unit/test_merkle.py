"""Trees of RFC 6962: the vectors of its own log, and proofs that hold for what they show and nothing else."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from proofs import consistency_proof, inclusion_proof, is_consistent, is_included

from secretsvc.transparency.merkle import EMPTY_ROOT, Frontier, leaf_hash, node_hash, root_of

#: Those of Certificate Transparency's reference implementation.
ENTRIES = [
    bytes.fromhex(one)
    for one in (
        "", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f",
    )
]  # fmt: skip
ROOTS = [
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
]
INCLUSION = [
    "96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7",
    "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
    "6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4",
]

LEAVES = [leaf_hash(bytes([at % 256, at // 256])) for at in range(300)]
SIZES = st.integers(1, 300)


@pytest.mark.parametrize("size", range(9))
def test_roots_are_those_of_the_reference(size):
    frontier = Frontier()
    for entry in ENTRIES[:size]:
        frontier.append(leaf_hash(entry))
    assert frontier.root().hex() == ROOTS[size]


def test_a_proof_is_that_of_the_reference():
    leaves = [leaf_hash(entry) for entry in ENTRIES]
    assert [one.hex() for one in inclusion_proof(0, leaves)] == INCLUSION


def test_leaves_and_nodes_are_kept_apart():
    left, right = LEAVES[:2]
    assert leaf_hash(left + right) != node_hash(left, right)
    assert leaf_hash(b"") != EMPTY_ROOT == hashlib.sha256().digest()


def definition(leaves):
    """The root as RFC 6962 defines it."""
    if len(leaves) == 1:
        return leaves[0]
    split = 1
    while split * 2 < len(leaves):
        split *= 2
    return node_hash(definition(leaves[:split]), definition(leaves[split:]))


@given(SIZES, st.integers(0, 300))
def test_a_frontier_that_was_stored_goes_on_to_the_root_of_the_definition(size, stop):
    stop = min(stop, size)
    first = Frontier()
    for leaf in LEAVES[:stop]:
        first.append(leaf)
    again = Frontier(stop, first.stored)
    for leaf in LEAVES[stop:size]:
        again.append(leaf)
    assert (again.size, again.root()) == (size, definition(LEAVES[:size]))


@pytest.mark.parametrize("size", [1, 3])
def test_a_frontier_of_another_size_is_refused(size):
    with pytest.raises(ValueError, match="another size"):
        Frontier(size, bytes(32 * (size.bit_count() + 1)))


def spoilt(value, at):
    """The bytes with one bit turned."""
    byte = at % len(value)
    return value[:byte] + bytes([value[byte] ^ 1]) + value[byte + 1 :]


@given(SIZES, st.integers(0, 299), st.integers(0, 2**16))
def test_an_inclusion_proof_holds_and_no_changed_one(size, index, at):
    index %= size
    leaves = LEAVES[:size]
    root, proof = root_of(leaves), inclusion_proof(index, leaves)
    assert is_included(index, size, leaves[index], proof, root)
    assert not is_included(index, size, spoilt(leaves[index], at), proof, root)
    assert not is_included(index, size, leaves[index], proof, spoilt(root, at))
    assert not is_included(index, size, leaves[index], [*proof, root], root)
    assert not is_included(size, size, leaves[index], proof, root)
    if proof:
        which = at % len(proof)
        changed = [*proof[:which], spoilt(proof[which], at), *proof[which + 1 :]]
        assert not is_included(index, size, leaves[index], changed, root)
        assert not is_included(index, size, leaves[index], proof[:-1], root)
        assert not is_included(index ^ 1, size, leaves[index], proof, root)


@given(SIZES, SIZES, st.integers(0, 2**16))
def test_a_consistency_proof_holds_and_no_changed_one(one, other, at):
    old, size = sorted((one, other))
    leaves = LEAVES[:size]
    before, after = root_of(leaves[:old]), root_of(leaves)
    proof = consistency_proof(old, leaves)
    assert is_consistent(old, size, proof, before, after)
    assert not is_consistent(old, size, proof, spoilt(before, at), after)
    assert not is_consistent(old, size, proof, before, spoilt(after, at))
    assert not is_consistent(old, size, [*proof, after], before, after)
    assert not is_consistent(0, size, proof, before, after)
    assert not is_consistent(size + 1, size, proof, before, after)
    if proof:
        which = at % len(proof)
        changed = [*proof[:which], spoilt(proof[which], at), *proof[which + 1 :]]
        assert not is_consistent(old, size, changed, before, after)
        assert not is_consistent(old, size, proof[:-1], before, after)


@given(st.integers(2, 300), st.integers(0, 299))
def test_a_tree_with_another_history_is_not_consistent(size, changed):
    old = size // 2
    changed %= old
    other = [*LEAVES[:changed], leaf_hash(b"forged"), *LEAVES[changed + 1 : size]]
    proof = consistency_proof(old, other)
    assert not is_consistent(old, size, proof, root_of(LEAVES[:old]), root_of(other))
