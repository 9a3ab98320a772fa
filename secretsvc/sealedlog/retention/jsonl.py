"""Sealed records as lines of JSON, for whoever collects logs."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from typing import BinaryIO

import orjson
from sqlalchemy import Connection

from secretsvc.sealedlog.retention.prune import pruned_of
from secretsvc.sealedlog.rules.leaves import record_fields
from secretsvc.sealedlog.rules.log_reader import Sealed, head_of, sealed_from

_BLOCK = 65_536
#: Of each line.
_BEGIN = b'{"index":'
_OTHER = "the file holds other lines than a tail of the log writes; it is left as it is"


def indexes_from(connection: Connection, first: int | None) -> range:
    """Return the indexes of the sealed records from `first` on; None is the first that is not pruned.

    Raises ValueError if `first` is pruned.
    """
    head, pruned = head_of(connection), pruned_of(connection).position
    if first is None:
        first = pruned
    if first < pruned:
        raise ValueError(f"index {first} to {pruned - 1} are pruned: they are in the export")
    return range(first, 0 if head is None else head.size)


def lines_of(connection: Connection, indexes: range) -> Iterator[tuple[int, bytes]]:
    """Yield each index and its line; the line of a lost record has its index alone."""
    for entry in sealed_from(connection, indexes.start, indexes.stop):
        yield entry.position, _line(entry) + b"\n"


def _line(entry: Sealed) -> bytes:
    if entry.leaf is None:
        return orjson.dumps({"index": entry.position})
    found = {"index": entry.position, **record_fields(entry.leaf)}
    try:
        return orjson.dumps(found)
    except orjson.JSONEncodeError:
        # It reads a detail that is nested deeper than what it writes.
        beside = entry.leaf.beside or b""
        return orjson.dumps(found | {"detail": beside.decode(errors="replace")})


def last_index(file: BinaryIO) -> int | None:
    """That of the last whole line of a file that is open for appending; what was cut off behind it goes.

    None where there is no line. Raises ValueError for a file of other lines, and leaves it as it is.
    """
    file.seek(0)
    # Whatever else it is, it is not looked through for the end of a line.
    _check_begin(file.read(len(_BEGIN)))
    end = file.seek(0, os.SEEK_END)
    tail = b""
    while end and tail.count(b"\n") < 2:
        begin = max(0, end - _BLOCK)
        file.seek(begin)
        tail = file.read(end - begin) + tail
        end = begin
    whole = tail.rfind(b"\n") + 1
    index, rest = _index(tail[:whole].splitlines()[-1]) if whole else None, tail[whole:]
    _check_begin(rest[: len(_BEGIN)])
    file.truncate(end + whole)
    file.seek(0, io.SEEK_END)
    return index


def _check_begin(line: bytes) -> None:
    if line != _BEGIN[: len(line)]:
        raise ValueError(_OTHER)


def _index(line: bytes) -> int:
    try:
        found = orjson.loads(line)
    except orjson.JSONDecodeError:
        raise ValueError(_OTHER) from None
    index = found.get("index") if isinstance(found, dict) else None
    if not isinstance(index, int) or isinstance(index, bool) or index < 0:
        raise ValueError(_OTHER)
    return index
