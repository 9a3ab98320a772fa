"""What exports hold in each format (contract 5.8)."""

from __future__ import annotations

import base64
import json
import os
import random
import shutil
import subprocess
from collections.abc import Callable, Mapping
from io import StringIO
from pathlib import Path

import dotenv
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from programs import need

from secretsvc.kernel.errors import ValidationFailed
from secretsvc.secrets.formats.exports import (
    UNSETTABLE,
    encode_docker,
    encode_kubernetes,
    encode_shell,
    write_env,
)

SHELLS = {
    "bash": ["bash", "--norc"],
    "bash as sh": ["bash", "--posix", "--norc"],
    "dash": ["dash"],
    "busybox": ["busybox", "ash"],
    "mksh": ["mksh"],
    "ksh": ["ksh"],
}
#: Those that a plain machine has not; they have names of their own that nobody may set.
RARE = ("mksh", "ksh")
HOSTILE = "'\"\\$`(){}[]<>|&;!*?~#%= \t\n\r\v\f\a\b\x1b\x7f\x80é\u2028😀abcZ09"
COUNT, FILES = 10_000, 20

keys = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,6}", fullmatch=True)
values = st.text(st.characters(exclude_categories=["Cs"])) | st.text(HOSTILE, max_size=12)


def refused(write: Callable[[Mapping[str, str]], bytes], values: Mapping[str, str]) -> list[str]:
    with pytest.raises(ValidationFailed) as caught:
        write(values)
    return [issue.path for issue in caught.value.issues]


def sourced(shell: list[str], directory: Path, content: bytes) -> tuple[dict[str, str], bytes]:
    """The environment of a program that a shell starts after it sourced the lines; what it said beside."""
    (directory / "lines").write_bytes(content)
    env = need("env")
    done = subprocess.run(
        [need(shell[0]), *shell[1:], "-c", f". ./lines; exec {env} -0"],
        cwd=directory,
        env={"PATH": str(directory), "LC_ALL": "C.UTF-8"},
        capture_output=True,
        check=False,
    )
    pairs = (one.split(b"=", 1) for one in done.stdout.split(b"\0") if one)
    return {name.decode(): value.decode() for name, value in pairs}, done.stderr


def available(shell: str) -> list[str]:
    if shell in RARE and shutil.which(shell) is None:
        pytest.skip(f"{shell} is not on this machine")
    return SHELLS[shell]


@pytest.mark.parametrize("shell", SHELLS)
def test_sourcing_gives_each_value_byte_for_byte_and_runs_nothing(shell: str, tmp_path: Path) -> None:
    command = available(shell)
    dice = random.Random(20261122)  # noqa: S311 - no secret comes of it
    traps = ["$(>ran)", "`>ran`", "'; >ran; '", "\n>ran\n", "';>ran #", "\\'; >ran; \\'", "${X:=$(>ran)}"]
    for _ in range(FILES):
        made = {
            f"K{n}": "".join(dice.choices([*HOSTILE, *traps], k=dice.randrange(12)))
            for n in range(COUNT // FILES)
        }
        found, said = sourced(command, tmp_path, encode_shell(made))
        assert {key: found.get(key) for key in made} == made
        assert said == b""
    assert os.listdir(tmp_path) == ["lines"]


def names_of_shells() -> list[str]:
    """Names that a shell here knows, and some that shells elsewhere do."""
    known = (
        "HISTCMD LINENO OPTIND PPID RANDOM SECONDS UID EUID IFS PATH PS1 PWD HOME USER SHELL TERM HOSTNAME"
    )
    told = subprocess.run(["bash", "-c", "compgen -v"], capture_output=True, text=True, check=True)
    return sorted({*known.split(), *told.stdout.split()})


@pytest.mark.parametrize("shell", SHELLS)
def test_a_name_that_a_shell_does_not_give_any_text_is_refused(shell: str, tmp_path: Path) -> None:
    command = available(shell)
    trap = "x[$(>ran)0]"
    for name in names_of_shells():
        if UNSETTABLE.fullmatch(name):
            assert refused(encode_shell, {name: "x"}) == [f"secrets.{name}"]
            continue
        found, _ = sourced(command, tmp_path, encode_shell({name: trap, "Z": "last"}))
        assert (found.get(name), found.get("Z")) == (trap, "last"), name
    assert os.listdir(tmp_path) == ["lines"]


def test_a_shell_is_refused_nul_and_names_that_are_read_only_each_by_its_key() -> None:
    values = {"UID": "1", "OK": "x", "A": "a\0b", "PPID": "2", "BASH_MONOSECONDS": "3"}
    assert refused(encode_shell, values) == [
        "secrets.A",
        "secrets.BASH_MONOSECONDS",
        "secrets.PPID",
        "secrets.UID",
    ]


def test_docker_is_given_lines_as_they_are() -> None:
    values = {"B": "'a' \"b\" #c $D \\n \r x ", "A": ""}
    assert encode_docker(values) == b"A=\nB='a' \"b\" #c $D \\n \r x \n"


@pytest.mark.parametrize("value", ["a\nb", "\n", "a\0", "a\r", "\r"])
def test_docker_is_refused_what_a_line_cannot_hold(value: str) -> None:
    assert refused(encode_docker, {"OK": "x", "BAD": value}) == ["secrets.BAD"]


@given(st.dictionaries(keys, values, max_size=5))
def test_a_kubernetes_secret_holds_every_value(values: dict[str, str]) -> None:
    found = yaml.safe_load(encode_kubernetes(values, "shop"))
    assert {key: base64.b64decode(value).decode() for key, value in found.pop("data").items()} == values
    assert found == {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "shop"},
        "type": "Opaque",
    }


def test_a_name_that_yaml_would_take_for_something_else_stays_a_name() -> None:
    found = yaml.safe_load(encode_kubernetes({"NO": "a", "null": "b"}, "123"))
    assert found["metadata"]["name"] == "123"
    assert [*found["data"]] == ["NO", "null"]


def test_a_key_that_is_too_long_for_a_secret_is_refused() -> None:
    assert refused(lambda values: encode_kubernetes(values, "x"), {"K" * 254: "", "K" * 253: ""}) == [
        f"secrets.{'K' * 254}"
    ]


@pytest.fixture(scope="module")
def realistic() -> dict[str, str]:
    """119 values as people keep them, by key."""
    found = json.loads((Path(__file__).parent.parent / "data" / "realistic-values.json").read_text())
    assert len(found) == len({*found}) == 119
    return {f"K{number:03}": value for number, value in enumerate(found)}


def wrong(read: Mapping[str, str | None], expected: Mapping[str, str]) -> list[str]:
    return [value for key, value in expected.items() if read.get(key) != value]


def test_python_dotenv_reads_every_realistic_value(realistic: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / ".env").write_text(write_env(realistic))
    assert wrong(dotenv.dotenv_values(tmp_path / ".env", interpolate=False), realistic) == []
    # There is no way to write it so that it is not expanded.
    assert wrong(dotenv.dotenv_values(stream=StringIO(write_env(realistic))), realistic) == [
        "${NOT_A_VARIABLE}"
    ]


def test_bash_reads_every_realistic_value_of_a_dotenv_but_one(
    realistic: dict[str, str], tmp_path: Path
) -> None:
    found, _ = sourced(["bash", "--norc", "-a"], tmp_path, write_env(realistic).encode())
    assert wrong(found, realistic) == ["tail\\"]
