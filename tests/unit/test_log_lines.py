"""The file of a tail: where it goes on, and which files it leaves alone."""

from __future__ import annotations

import io
import json

import pytest

from secretsvc.sealedlog.retention.jsonl import last_index

LINES = [json.dumps({"index": index, "id": "x" * 9}, separators=(",", ":")) for index in range(8, 12)]
WHOLE = "".join(f"{line}\n" for line in LINES).encode()


def test_it_goes_on_behind_the_last_whole_line_wherever_it_was_cut_off():
    for cut in range(len(WHOLE) + 1):
        file = io.BytesIO(WHOLE[:cut])
        lines = WHOLE[:cut].count(b"\n")
        assert last_index(file) == (7 + lines if lines else None)
        assert file.getvalue() == b"".join(WHOLE.splitlines(keepends=True)[:lines])
        assert file.tell() == len(file.getvalue())


def test_a_line_may_be_longer_than_what_is_read_at_once():
    long = b'{"index":5,"detail":"' + b"x" * 200_000 + b'"}\n'
    file = io.BytesIO(WHOLE + long + long[:100_000])
    assert last_index(file) == 5
    assert file.getvalue() == WHOLE + long


OTHERS = [
    b"a password",
    b"a password\n",
    b'{"index":3}\na password',
    b'{"user":"x"}\n',
    b'{"index":"x"}\n',
    b'{"index":null}\n',
    b'{"index":-1}\n',
    b'{"index":true}\n',
    b"[3]\n",
    b"3\n",
    b"\n",
    b"\xff\xfe\n",
    b'{"index":3}\n{"user":"x"',
]


@pytest.mark.parametrize("content", OTHERS, ids=range(len(OTHERS)))
def test_a_file_of_other_lines_is_refused_and_left_as_it_is(content):
    file = io.BytesIO(content)
    with pytest.raises(ValueError, match="other lines"):
        last_index(file)
    assert file.getvalue() == content
