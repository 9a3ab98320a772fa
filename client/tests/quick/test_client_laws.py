"""What the client may import, and the syntax that its oldest Python reads."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from secretsvc_client import cli
from secretsvc_client.commands.completion import flags_of

PACKAGE = Path(cli.__file__).parent
FILES = sorted(PACKAGE.rglob("*.py"))
#: What only `--fallback` and older Pythons load.
EXTRAS = {"cryptography", "keyring", "tomli", "typing_extensions"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_module_imports_the_standard_library_and_the_client_alone(path):
    tree = ast.parse(path.read_text("utf-8"), feature_version=(3, 9))
    names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    names |= {
        node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and not node.level
    }
    tops = {name.partition(".")[0] for name in names}
    assert tops <= {*sys.stdlib_module_names, *EXTRAS, "secretsvc_client"}


def test_run_loads_no_module_that_it_does_not_need():
    code = (
        "import sys; from secretsvc_client.cli import main; main(['run', '--', 'true']); print(*sys.modules)"
    )
    found = subprocess.run(
        [sys.executable, "-S", "-c", code], cwd=PACKAGE.parent, capture_output=True, text=True, check=True
    )
    needless = {"cryptography", "tempfile", "subprocess", "dataclasses", "inspect", "asyncio", "secretsvc"}
    assert needless & set(found.stdout.split()) == set()


@pytest.mark.parametrize("name", sorted(cli.COMMANDS))
def test_every_command_has_help_with_an_example(ask, name):
    done = ask(name, "--help")
    assert done.code == 0
    assert f"secretsvc {name}" in done.out.partition("examples:")[2]
    assert "--json" in done.out


def test_the_overview_names_every_command_and_exit_code(ask):
    out = ask("--help").out
    assert all(re.search(rf"(?m)^  {name} ", out) for name in cli.COMMANDS)
    assert ask().code == 2
    assert ask("--version").out.startswith("secretsvc ")


@pytest.mark.parametrize(
    "arguments", [("nonsense",), ("list", "--nonsense"), ("get",), ("run", "--onl", "A")], ids="-".join
)
def test_wrong_arguments_are_wrong_use(ask, arguments):
    done = ask(*arguments, SECRETSVC_URL="http://127.0.0.1:1")
    assert (done.code, done.reason) in ((2, None), (125, 2))
    assert (done.code == 125) is (arguments[0] == "run")
    assert done.err.count("\n") == 1


def test_a_malformed_argument_is_named_and_its_text_is_not(ask):
    done = ask("list", "--rev", "canary", SECRETSVC_URL="http://127.0.0.1:1")
    assert "argument --rev is malformed" in done.err
    assert "canary" not in done.err


@pytest.mark.parametrize(
    ("words", "expected"),
    [("secretsvc who", {"whoami"}), ("secretsvc run --wat", {"--watch"}), ("secretsvc --json cop", {"copy"})],
)
def test_bash_completes_commands_and_flags(ask, tmp_path, words, expected):
    script = tmp_path / "completion"
    script.write_text(ask("completion", "bash").out)
    typed = f"COMP_WORDS=({words}); COMP_CWORD=$(({len(words.split())} - 1))"
    code = f'. "{script}"; {typed}; _secretsvc; echo "${{COMPREPLY[@]}}"'
    done = subprocess.run(["bash", "-c", code], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) == expected


def test_completion_knows_every_flag(ask):
    for shell, sign in (("bash", "--{}"), ("zsh", "--{}:"), ("fish", "-l {} ")):
        out = ask("completion", shell).out
        for name in cli.COMMANDS:
            assert all(sign.format(flag[2:]) in out for flag in flags_of(name)), (shell, name)
