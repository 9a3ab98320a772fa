"""Sealed records as lines of JSON, for whoever collects logs."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from typing import BinaryIO

import orjson
from sqlalchemy import Connection

from secretsvc.sealedlog.rules.leaves import Leaf
from secretsvc.sealedlog.rules.pruning import pruned_of
from secretsvc.sealedlog.rules.stored import head_of, sealed_from

_BLOCK = 65_536


def lines_from(connection: Connection, first: int | None) -> Iterator[tuple[int, bytes]]:
    """An index and its line for each place from `first` on; of a lost record there is no more than that.

    None is the first that is not pruned. Raises ValueError for one that is.
    """
    head, pruned = head_of(connection), pruned_of(connection).position
    if first is None:
        first = pruned
    if first < pruned:
        raise ValueError(f"index {first} to {pruned - 1} are pruned: they are in the export")
    for place in sealed_from(connection, first, 0 if head is None else head.size):
        found = {} if place.leaf is None else _whole(place.leaf)
        yield place.position, orjson.dumps({"index": place.position, **found}) + b"\n"


def last_index(file: BinaryIO) -> int | None:
    """That of the last whole line of a file that is open for appending; what was cut off behind it goes.

    None where there is no line. Raises ValueError for a file of other lines.
    """
    end = file.seek(0, os.SEEK_END)
    tail = b""
    while end and tail.count(b"\n") < 2:
        begin = max(0, end - _BLOCK)
        file.seek(begin)
        tail = file.read(end - begin) + tail
        end = begin
    whole = tail.rfind(b"\n") + 1
    file.truncate(end + whole)
    file.seek(0, io.SEEK_END)
    if not whole:
        return None
    index = orjson.loads(tail[:whole].splitlines()[-1])["index"]
    return int(index)


def _whole(leaf: Leaf) -> dict[str, object]:
    fields: dict[str, object] = orjson.loads(leaf.data)
    if leaf.beside is not None:
        try:
            fields["detail"] = orjson.loads(leaf.beside)
        except orjson.JSONDecodeError:
            fields["detail"] = leaf.beside.decode()
    return fields
