"""The hashes of folders of an export whose log has more than one tile of the second level."""

from __future__ import annotations

from hashlib import sha256

import pytest

from secretsvc.sealedlog.retention.boundaries import CLOSED, Boundary, sign_boundary
from secretsvc.sealedlog.retention.export import write_levels
from secretsvc.sealedlog.retention.files import Files
from secretsvc.sealedlog.retention.folders import begin_folder
from secretsvc.transparency.key_succession import Signers
from secretsvc.transparency.merkle import Frontier
from secretsvc.transparency.signed_note import Checkpoint, Verifier, public_key_of, sign
from secretsvc.transparency.tiles import WIDTH, tiles_of

KEY = bytes(range(32))
SIGNERS = Signers(Verifier("log", public_key_of(KEY)))
#: Full files of entries where a folder is closed, and the entries behind them.
CUTS = [(3, 7), (255, 100), (256, 0), (257, 255)]
#: How many entries a folder gets after it was begun.
MORE = WIDTH + 50


def roots_of(leaves):
    """The roots of the trees of the first leaves, by their number."""
    frontier, found = Frontier(), {}
    for leaf in leaves:
        frontier.append(leaf)
        found[frontier.size] = frontier.root()
    return found


def export(files, leaves, root, done, first=0):
    """Write the hashes of an export, and entries that are empty, from `done` on."""
    for tile in tiles_of(len(leaves), done):
        start = tile.number * WIDTH
        hashes = b"".join(leaves[start : start + tile.width])
        for level, content in ((0, hashes), (None, b"")):
            path = files.folder / tile.path(level)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
    write_levels(files, len(leaves), done, first)
    files.write("checkpoint", sign("log", KEY, Checkpoint("log", len(leaves), root).body).encode())


@pytest.mark.slow
def test_roots_are_those_of_the_whole_log_wherever_a_folder_begins(tmp_path):
    every = [sha256(bytes([index % 251])).digest() for index in range(WIDTH * 258 + MORE)]
    whole, done, roots = Files(tmp_path / "whole"), 0, roots_of(every)
    for tiles, behind in CUTS:
        size, total = tiles * WIDTH, tiles * WIDTH + behind
        export(whole, every[:total], roots[total], done)
        boundary = Boundary(size, roots[size], bytes(32))
        whole.write(CLOSED, sign_boundary("log", KEY, boundary).encode())
        files = Files(tmp_path / str(total))
        begin_folder(files, whole, SIGNERS, 0)
        done, grown = total, total + MORE
        assert files.root(total, total) == roots[total]
        export(files, every[:grown], roots[grown], done, size)
        for end in (size, total, size + 1, total + WIDTH, grown):
            assert files.root(end, grown) == roots[end], (size, end)
        assert not (files.folder / "tile" / "0" / "000").exists()
