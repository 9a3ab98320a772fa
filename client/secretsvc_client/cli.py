"""From the arguments to a command, and from what happened to an exit code."""

from __future__ import annotations

import argparse
import errno
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from secretsvc_client import VERSION, output
from secretsvc_client.api import Service
from secretsvc_client.errors import Failure, WrongUse
from secretsvc_client.settings import Settings, load

#: Each command: its module in `commands`, and what it does. Only the module of the one that runs is loaded.
COMMANDS = {
    "login": ("session", "say where the service is, and find out what stands in front of it"),
    "whoami": ("session", "show who you are to the service"),
    "use": ("session", "say which project and environment this folder is of"),
    "projects": ("scopes", "list the projects that you see, or make one"),
    "environments": ("scopes", "list a project's environments, or make one"),
    "search": ("scopes", "find projects, environments and keys by name"),
    "list": ("values", "list the keys, without their values"),
    "get": ("values", "show one value"),
    "set": ("writes", "write one value, from a prompt, stdin or a file"),
    "unset": ("writes", "remove keys"),
    "rename": ("writes", "rename a key"),
    "import": ("files", "write what a file holds"),
    "export": ("files", "give every value, in a format"),
    "edit": ("edit", "edit the values in $EDITOR"),
    "run": ("run", "start a command with the secrets in its environment"),
    "diff": ("states", "compare with another environment or revision"),
    "copy": ("states", "copy values from another environment or revision"),
    "history": ("states", "show what was written, or the versions of a key"),
    "restore": ("states", "go back to a revision, or to a version of a key"),
    "audit": ("records", "read the audit log"),
    "access": ("records", "say why somebody can or cannot"),
    "completion": ("completion", "print what completes commands in a shell"),
}
#: Flags of every command that take a value.
VALUED = {
    "--url": "where the service is, such as https://secrets.example.com",
    "--project": "the project's slug",
    "--environment": "the environment's slug",
    "--token-file": "a file that holds the token, read anew each time",
    "--github-audience": "ask GitHub Actions for a token with this audience",
    "--timeout": "seconds for a whole answer (default 8)",
}
PLAIN = {
    "--json": "JSON instead of tables, also of errors",
    "--debug": "say on stderr which requests are made; never a value or a credential",
}
#: Errors of a write to stdout: a full disk, a quota, a limit on a file, a broken device.
_UNWRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


class Call(NamedTuple):
    """What a command has: its arguments, what follows `--`, and the settings."""

    args: argparse.Namespace
    rest: Sequence[str]
    settings: Settings

    @property
    def service(self) -> Service:
        """The service of the settings; raises `WrongUse` where it is not known."""
        return Service(self.settings, os.environ, getattr(self.args, "wait", 0.0))


class Parser(argparse.ArgumentParser):
    """A parser whose errors repeat no argument: one of them may be a value."""

    def error(self, message: str) -> NoReturn:
        """Raises `WrongUse`."""
        hint = f"See `{self.prog} --help`."
        if message.startswith("the following arguments"):
            raise WrongUse(message, hint)
        from secretsvc_client import suggestions

        if message.startswith("argument "):
            raise WrongUse(suggestions.problem_of(message, self), hint)
        raise WrongUse("wrong arguments", suggestions.arguments_hint(message, self))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; return its exit code (contracts 9.1 and 16.8)."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if sys.stderr is None:
        # Without it a report would be a second failure, with an exit code of its own.
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115 - for the whole process
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        code = _run(given)
        if sys.stdout is not None:
            sys.stdout.flush()
        return code
    except SystemExit as ended:
        # The parser's own, after it has shown the help.
        return int(ended.code or 0)
    except Failure as failure:
        return _reported(failure, given)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # The reader of the output has enough.
        output.drop(sys.stdout)
        return Failure.run_code if _is_run(given) else Failure.exit_code
    except Exception as error:
        problem = _unexpected(error)
        if isinstance(error, OSError) and error.errno in _UNWRITABLE:
            problem = Failure(f"the output cannot be written: {error.strerror}")
            output.drop(sys.stdout)
        return _reported(problem, given)


def _reported(failure: Failure, given: list[str]) -> int:
    """Show a failure; return the exit code."""
    is_run = _is_run(given)
    try:
        output.report(failure, is_json="--json" in _own(given), is_run=is_run)
    except OSError:
        # Nobody can read it; the exit code must still be that of the failure.
        output.drop(sys.stderr)
    return failure.run_code if is_run else failure.exit_code


def _is_run(given: list[str]) -> bool:
    return _leading(given)[1][:1] == ["run"]


def parser_of(name: str) -> Parser:
    """The parser of one command."""
    module, summary = COMMANDS[name]
    commands: Any = import_module(f"secretsvc_client.commands.{module}")
    parser = Parser(
        prog=f"secretsvc {name}",
        description=summary[0].upper() + summary[1:] + ".",
        epilog="examples:\n" + "\n".join(f"  {line}" for line in commands.EXAMPLES[name]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    commands.configure(name, parser)
    shared = parser.add_argument_group("of every command")
    for flag, what in VALUED.items():
        shared.add_argument(flag, help=what, metavar=flag.strip("-").partition("-")[0].upper())
    for flag, what in PLAIN.items():
        shared.add_argument(flag, help=what, action="store_true")
    return parser


def _run(given: list[str]) -> int:
    leading, remaining = _leading(given)
    if len(remaining) == 2 and remaining[0] == "help" and remaining[1] in COMMANDS:
        remaining = [remaining[1], "--help"]
    if not remaining or remaining[0] in ("-h", "--help", "help"):
        print(_overview())
        return 0 if remaining else 2
    if remaining[0] == "--version":
        print(f"secretsvc {VERSION}")
        return 0
    name = remaining[0]
    if name not in COMMANDS:
        from secretsvc_client.suggestions import command_hint

        raise WrongUse("there is no such command", command_hint(name, COMMANDS))
    if sys.stdout is None and name != "run":
        raise Failure("the output cannot be written: stdout is closed")
    own, rest = leading + remaining[1:], []
    if name == "run" and "--" in own:
        cut = own.index("--")
        own, rest = own[:cut], own[cut + 1 :]
    args = parser_of(name).parse_args(own)
    settings = load(vars(args), os.environ, Path(os.curdir))
    commands: Any = import_module(f"secretsvc_client.commands.{COMMANDS[name][0]}")
    code: int = commands.RUN[name](Call(args, rest, settings))
    return code


def _leading(given: list[str]) -> tuple[list[str], list[str]]:
    """The flags of every command that stand before it, and the rest."""
    index = 0
    while index < len(given):
        flag, equals, _ = given[index].partition("=")
        if flag in VALUED:
            index += 1 if equals else 2
        elif given[index] in PLAIN:
            index += 1
        else:
            break
    return given[:index], given[index:]


def _own(given: list[str]) -> list[str]:
    """The arguments before `--`, which are the client's own."""
    return given[: given.index("--")] if "--" in given else given


def _overview() -> str:
    width = max(map(len, COMMANDS))
    return "\n".join(
        [
            "usage: secretsvc [flags] command …",
            "",
            *(f"  {name.ljust(width)}  {summary}" for name, (_, summary) in COMMANDS.items()),
            "",
            "examples:",
            "  secretsvc login https://secrets.example.com",
            "  secretsvc use shop prod",
            "  secretsvc run -- ./server",
            "",
            "`secretsvc COMMAND --help` tells more, with examples.",
            "Exit codes: 2 wrong use, 3 not reached, 4 refused, 5 conflict, 6 invalid, 1 anything else;",
            "after `run`, the command's own; 125 failure of secretsvc, 126 not executable, 127 not found.",
        ]
    )


def _unexpected(error: Exception) -> Failure:
    """What nobody thought of: its kind and location, never its message, which may hold a value."""
    trace, location = error.__traceback__, "?"
    while trace is not None:
        location = f"{os.path.basename(trace.tb_frame.f_code.co_filename)}:{trace.tb_lineno}"
        trace = trace.tb_next
    return Failure(
        f"an unexpected {type(error).__name__} at {location}", "This is a fault of the client: report it."
    )
