"""What readers of other languages make of an export in dotenv (contract 5.8, docs/use/formats.md).

They are installed by the toolchains that the machine has; the others say so.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from toolchains import built_by_cargo, built_by_go, installed_by_npm, node_of

from secretsvc.secrets.formats.exports import write_env

READERS = Path(__file__).parent.parent / "readers"
Read = Callable[[Path], dict[str, str]]

BOTH_QUOTES = ["x\"y'z", '{"a":"it\'s"}']
UNC = "\\\\server\\share"


def run(*command: str | Path) -> bytes:
    env = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    return subprocess.run(command, check=True, capture_output=True, env=env).stdout


def node_dotenv() -> Read:
    script = installed_by_npm(READERS / "node") / "read.js"
    node = node_of("18")
    return lambda file: json.loads(run(node, script, file))


def node_itself() -> Read:
    node = node_of("20.6")
    code = "process.stdout.write(JSON.stringify(process.env))"
    return lambda file: json.loads(run(node, f"--env-file={file}", "-e", code))


def godotenv() -> Read:
    reader = built_by_go(READERS / "go") / "reader"
    return lambda file: json.loads(run(reader, file))


def dotenvy() -> Read:
    reader = built_by_cargo(READERS / "rust") / "target" / "release" / "reader"

    def read(file: Path) -> dict[str, str]:
        words = run(reader, file).decode().split("\0")[:-1]
        return dict(zip(words[::2], words[1::2], strict=True))

    return read


@pytest.fixture(scope="module")
def realistic() -> dict[str, str]:
    """119 values as people keep them, by key."""
    values = json.loads((READERS.parent / "data" / "realistic-values.json").read_text())
    return {f"K{number:03}": value for number, value in enumerate(values)}


@pytest.mark.parametrize(
    ("reader", "wrong"),
    [
        (node_dotenv, [UNC, *BOTH_QUOTES]),
        (node_itself, [UNC, *BOTH_QUOTES]),
        (godotenv, []),
        (dotenvy, ["tail\\"]),
    ],
)
def test_a_reader_reads_the_realistic_values_but_these(
    reader: Callable[[], Read], wrong: list[str], realistic: dict[str, str], tmp_path: Path
) -> None:
    read = reader()
    (tmp_path / ".env").write_text(write_env(realistic))
    found = read(tmp_path / ".env")
    assert [value for key, value in realistic.items() if found.get(key) != value] == wrong


@pytest.mark.parametrize("reader", [godotenv, dotenvy])
def test_no_realistic_value_makes_a_reader_refuse_its_file(
    reader: Callable[[], Read], realistic: dict[str, str], tmp_path: Path
) -> None:
    read = reader()
    for key, value in realistic.items():
        (tmp_path / ".env").write_text(write_env({key: value}))
        assert [*read(tmp_path / ".env")] == [key]
