"""Values with whatever an environment can hold arrive unchanged in the command."""

from __future__ import annotations

import os
import random
import subprocess
import sys

from built import single_file
from hostile import Hostile, secrets

COUNT, AT_ONCE = 10_000, 500
#: Of each plane some, and all that shells, terminals and parsers stumble over.
ALPHABETS = (
    "".join(map(chr, range(1, 128))),
    "".join(map(chr, range(1, 0x800))),
    "'\"\\$`!#=%&;|<>(){}[]*?~ \t\r\n\x1b\x7f",
    "".join(map(chr, (*range(0x800, 0xD800, 97), *range(0xE000, 0x110000, 997)))),
    "\x80\xff\u0100\u2028\u2029\ufeff\ufffe\uffff\ud7ff\ue000\U0001f511\U0010ffff",
)
DUMP = (
    "import os, sys; sys.stdout.buffer.write(b''.join(k + b'=' + v + b'\\0' for k, v in os.environb.items()))"
)


def generated(seed: int) -> list[str]:
    draw = random.Random(seed)  # noqa: S311 - values of a test
    values = ["", " ", "\n", "\r\n", "a" * 65_536]
    while len(values) < COUNT:
        alphabet = draw.choice(ALPHABETS)
        values.append("".join(draw.choices(alphabet, k=draw.choice((1, 2, 7, 40)))))
    return values


def test_ten_thousand_values_arrive_unchanged(home, at, tmp_path):
    file = single_file(tmp_path)
    values = generated(20)
    # Each byte that UTF-8 has, 0 left out, is in some value.
    assert len(set("".join(values).encode())) == 255 - 13
    for start in range(0, COUNT, AT_ONCE):
        some = {f"K_{index}": value for index, value in enumerate(values[start : start + AT_ONCE], start)}
        with Hostile(secrets(some)) as server:
            done = subprocess.run(
                [sys.executable, str(file), "run", "--", sys.executable, "-c", DUMP],
                env={**os.environ, **at(server), "LC_ALL": ("C", "C.UTF-8", "POSIX")[start // AT_ONCE % 3]},
                capture_output=True,
                check=True,
                timeout=60,
            )
        pairs = [one.partition(b"=") for one in done.stdout.split(b"\0")]
        arrived = {key.decode(): value for key, _, value in pairs if key.startswith(b"K_")}
        assert arrived == {key: value.encode() for key, value in some.items()}


def test_more_than_an_environment_holds_starts_nothing_and_says_why(home, at, tmp_path):
    file = single_file(tmp_path)
    with Hostile(secrets({f"K_{index}": "x" * 65_536 for index in range(200)})) as server:
        done = subprocess.run(
            [sys.executable, str(file), "run", "--", "touch", "started"],
            env={**os.environ, **at(server)},
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
    assert (done.returncode, os.listdir()) == (126, [])
    assert "more than an environment holds" in done.stderr
