"""Where the parts of a log lie as files, and how entries are bundled, as C2SP's tlog-tiles has it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from struct import Struct
from typing import NamedTuple

#: Hashes of a full tile, and entries of a full bundle.
WIDTH = 256
#: What the length of an entry can say, in bytes.
LONGEST_ENTRY = 65_535
_LENGTH = Struct(">H")


class Tile(NamedTuple):
    """A tile or a bundle: the `number`-th of its level, with so many hashes or entries."""

    number: int
    width: int

    def path(self, level: int | None) -> str:
        """Relative to the log; without a level it is that of the bundle of entries."""
        parts = [f"{self.number % 1000:03}"]
        number = self.number // 1000
        while number:
            parts.append(f"x{number % 1000:03}")
            number //= 1000
        kind = "entries" if level is None else str(level)
        partial = "" if self.width == WIDTH else f".p/{self.width}"
        return f"tile/{kind}/{'/'.join(reversed(parts))}{partial}"


def tiles_of(count: int, first: int = 0) -> Iterator[Tile]:
    """The tiles of so many hashes or entries, from that which holds the `first` on."""
    for number in range(first // WIDTH, -(-count // WIDTH)):
        yield Tile(number, min(WIDTH, count - number * WIDTH))


def bundled(entries: Iterable[bytes]) -> bytes:
    """Entries behind each other, each after its length. Raises `struct.error` for one that is too long."""
    return b"".join(_LENGTH.pack(len(one)) + one for one in entries)


def unbundled(bundle: bytes) -> Iterator[bytes]:
    """The entries again. Raises ValueError where the bundle ends within one."""
    at = 0
    while at < len(bundle):
        begin = at + _LENGTH.size
        if begin > len(bundle):
            raise ValueError("a bundle that ends within a length")
        at = begin + _LENGTH.unpack_from(bundle, at)[0]
        if at > len(bundle):
            raise ValueError("a bundle that ends within an entry")
        yield bundle[begin:at]
