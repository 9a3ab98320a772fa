"""The hashes of folders of an export that hold more than one tile of the second level."""

from __future__ import annotations

import base64
from hashlib import sha256

import pytest

from secretsvc.kernel.merkle import Frontier, root_of
from secretsvc.kernel.notes import Checkpoint, Verifier, public_key_of, sign
from secretsvc.kernel.succession import Signers
from secretsvc.kernel.tiles import WIDTH, tiles_of
from secretsvc.sealedlog.rules.boundaries import CLOSED, Boundary, sign_boundary
from secretsvc.sealedlog.rules.exporting import write_levels
from secretsvc.sealedlog.rules.files import Files
from secretsvc.sealedlog.rules.folders import begin_folder

KEY = bytes(range(32))
SIGNERS = Signers(Verifier("log", public_key_of(KEY)))
#: Full tiles of the lowest level before the cut, and entries behind it, also beyond a tile of the next level.
CUTS = [(1, 0), (3, 7), (255, 100), (256, 0), (256, 1), (257, 255), (300, 30)]
LATER = 66_000 + 30_000


def leaves(size):
    return [sha256(str(index).encode()).digest() for index in range(size)]


def write_hashes(files, found, done, first):
    """What an export writes of these leaf hashes, but for their entries."""
    for tile in tiles_of(len(found), done):
        start = tile.number * WIDTH
        files.write(tile.path(0), b"".join(found[start : start + tile.width]))
        files.write(tile.path(None), b"")
    write_levels(files, len(found), done, first)
    head = Checkpoint("log", len(found), root_of(found))
    files.write("checkpoint", sign("log", KEY, head.body).encode())


@pytest.fixture(scope="module")
def all_leaves():
    return leaves(LATER)
