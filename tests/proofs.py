"""Proofs of trees of RFC 6962, made and judged, as readers of an export would."""

from __future__ import annotations

from collections.abc import Sequence

from secretsvc.transparency.merkle import node_hash, root_of


def inclusion_proof(index: int, leaves: Sequence[bytes]) -> list[bytes]:
    """The audit path of a leaf in the tree of these leaf hashes (RFC 6962, 2.1.1)."""
    if len(leaves) == 1:
        return []
    split = _split(len(leaves))
    if index < split:
        return [*inclusion_proof(index, leaves[:split]), root_of(leaves[split:])]
    return [*inclusion_proof(index - split, leaves[split:]), root_of(leaves[:split])]


def consistency_proof(old: int, leaves: Sequence[bytes]) -> list[bytes]:
    """That the tree of the first `old` leaves, at least one, became that of all (RFC 6962, 2.1.2)."""
    return _subproof(old, leaves, whole=True)


def _subproof(old: int, leaves: Sequence[bytes], *, whole: bool) -> list[bytes]:
    if old == len(leaves):
        return [] if whole else [root_of(leaves)]
    split = _split(len(leaves))
    if old <= split:
        return [*_subproof(old, leaves[:split], whole=whole), root_of(leaves[split:])]
    return [*_subproof(old - split, leaves[split:], whole=False), root_of(leaves[:split])]


def _split(size: int) -> int:
    """The largest power of two below it."""
    return 1 << ((size - 1).bit_length() - 1)


def is_included(index: int, size: int, leaf: bytes, proof: Sequence[bytes], root: bytes) -> bool:
    """Whether the proof shows that the leaf hash is at that index of the tree (RFC 9162, 2.1.3.2)."""
    if not 0 <= index < size:
        return False
    at, last, found = index, size - 1, leaf
    for one in proof:
        if last == 0:
            return False
        if at & 1 or at == last:
            found = node_hash(one, found)
            while at and not at & 1:
                at, last = at >> 1, last >> 1
        else:
            found = node_hash(found, one)
        at, last = at >> 1, last >> 1
    return last == 0 and found == root


def is_consistent(old: int, size: int, proof: Sequence[bytes], old_root: bytes, root: bytes) -> bool:
    """Whether the proof shows that a tree only grew from `old` leaves to `size` (RFC 9162, 2.1.4.2)."""
    if not 0 < old <= size:
        return False
    if old == size:
        return not proof and old_root == root
    # Of a perfect subtree the verifier has the root already.
    path = [old_root, *proof] if old & (old - 1) == 0 else [*proof]
    if not path:
        return False
    at, last = old - 1, size - 1
    while at & 1:
        at, last = at >> 1, last >> 1
    before = after = path[0]
    for one in path[1:]:
        if last == 0:
            return False
        if at & 1 or at == last:
            before, after = node_hash(one, before), node_hash(one, after)
            while at and not at & 1:
                at, last = at >> 1, last >> 1
        else:
            after = node_hash(after, one)
        at, last = at >> 1, last >> 1
    return last == 0 and before == old_root and after == root
