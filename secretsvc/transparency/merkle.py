"""Merkle trees of RFC 6962: hashes, and a frontier that only grows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import sha256

HASH_BYTES = 32
EMPTY_ROOT = sha256().digest()


def leaf_hash(data: bytes) -> bytes:
    """Of an entry's bytes."""
    return sha256(b"\x00" + data).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """Of two subtrees."""
    return sha256(b"\x01" + left + right).digest()


def tree_hash(roots: Sequence[bytes]) -> bytes:
    """The hash of a tree from those of its perfect subtrees, the largest first."""
    if not roots:
        return EMPTY_ROOT
    *others, found = roots
    for one in reversed(others):
        found = node_hash(one, found)
    return found


class Frontier:
    """What is needed of a tree to add leaves and to make its root: the roots of its perfect subtrees.

    There is one for each bit that is set in `size`, the largest first.
    """

    def __init__(self, size: int = 0, stored: bytes = b"") -> None:
        """`stored` are their hashes in a row, as `stored` gave them. Raises ValueError for another number."""
        if len(stored) != size.bit_count() * HASH_BYTES:
            raise ValueError("a frontier of another size")
        self.size = size
        self._roots = [stored[at : at + HASH_BYTES] for at in range(0, len(stored), HASH_BYTES)]

    @property
    def stored(self) -> bytes:
        """At most 64 hashes."""
        return b"".join(self._roots)

    def append(self, leaf: bytes) -> None:
        """Adds a leaf by its hash."""
        size = self.size
        while size & 1:
            leaf = node_hash(self._roots.pop(), leaf)
            size >>= 1
        self._roots.append(leaf)
        self.size += 1

    def root(self) -> bytes:
        """The hash of the whole tree."""
        return tree_hash(self._roots)


def root_of(leaves: Iterable[bytes]) -> bytes:
    """The hash of the tree of these leaf hashes."""
    frontier = Frontier()
    for leaf in leaves:
        frontier.append(leaf)
    return frontier.root()
