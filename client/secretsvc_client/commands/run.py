"""`run`: a command with the secrets in its environment, or no command at all."""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from secretsvc_client import inherited, output
from secretsvc_client.api import Service, as_object, environment_path, number, revision_of, secrets_of
from secretsvc_client.cli import Call
from secretsvc_client.errors import Failure, Invalid, NotFound, NotStarted, Refused, WrongUse
from secretsvc_client.grammar import checked_key, is_key, printable
from secretsvc_client.transport import Answer

EXAMPLES = {
    "run": [
        "secretsvc run -- ./server --port 8080",
        "secretsvc run --only DATABASE_URL,API_KEY -- npm start",
        "secretsvc run --prefix SHOP_ -- ./server",
        "secretsvc run --format /dev/shm/shop.json -- ./server",
        "secretsvc run --watch -- ./server",
        "secretsvc run --fallback /var/lib/shop/secrets.sealed -- ./server",
    ]
}
#: What `--format FILE` writes, by the ending of the file.
FORMATS = {".json": "json", ".env": "env", ".sh": "shell", ".docker": "docker", ".yaml": "kubernetes"}
#: What opens the service or a fallback is for the client, not for what it starts.
_PREFIX = "SECRETSVC_"
_OURS = ("SECRETSVC_TOKEN", "SECRETSVC_FALLBACK_KEY")


class State(NamedTuple):
    """The secrets of an environment at a revision; `content` is a file that the service made."""

    rev: int
    secrets: Mapping[str, str]
    content: bytes | None = None

    def __repr__(self) -> str:
        return f"State(rev={self.rev})"


def configure(_name: str, parser: argparse.ArgumentParser) -> None:
    """Adds the command's own arguments."""
    parser.add_argument("--only", metavar="KEY,…", action="append", help="these keys and no others")
    parser.add_argument("--prefix", metavar="TEXT", help="the keys that begin so and no others")
    parser.add_argument(
        "--format",
        metavar="FILE",
        help="into this file instead of the environment, as its ending says: " + ", ".join(FORMATS),
    )
    parser.add_argument(
        "--quiet", action="store_true", help="do not name the environment that .secretsvc.toml chose"
    )
    parser.add_argument("--watch", action="store_true", help="restart the command when the secrets change")
    parser.add_argument(
        "--interval", metavar="SECONDS", type=float, default=10.0, help="of --watch (default 10)"
    )
    parser.add_argument("--fallback", metavar="FILE", help="keep the last good state, encrypted, for outages")
    parser.add_argument(
        "--fallback-age", metavar="HOURS", type=float, default=24.0, help="how old it may be (default 24)"
    )
    parser.add_argument(
        "--wait",
        metavar="SECONDS",
        type=float,
        default=10.0,
        help="how long to ask again while the service is busy (503, 429) and says when (default 10)",
    )
    parser.add_argument(
        "--mode",
        metavar="OCTAL",
        help="permissions of the files of --format and --fallback"
        " (default: those of the file, 0600 for a new one)",
    )


def run(call: Call) -> int:
    """Replaces this process by the command; its own exit code where it cannot."""
    program = program_of(call)
    selection = Selection.of(call)
    settings = call.settings
    if settings.named_by and not call.args.quiet:
        scope = "/".join(map(str, settings.scope()))
        output.tell(f"secretsvc: {scope}, named by {printable(settings.named_by)}")
    fallback = None
    if call.args.fallback:
        from secretsvc_client.fallback import Fallback

        fallback = Fallback.of(call.settings, call.args.fallback, call.args.fallback_age, selection.media)
    if call.args.watch:
        from secretsvc_client.watching import watch

        return watch(call, program, selection, fallback)
    state = selection.fetch(call.service) if fallback is None else fallback.fetch(call.service, selection)
    return replaced(program, list(call.rest), selection.environment(state))


def program_of(call: Call) -> str:
    """The path of the program, found by this process's own `PATH`, which no secret can change."""
    if not call.rest:
        raise WrongUse("there is no command to start", "Write it after `--`: secretsvc run -- ./server")
    if not 0 < call.args.interval <= 86_400:
        raise WrongUse("--interval takes seconds, more than 0 and at most 86400")
    if not 0 <= call.args.wait <= 3600:
        raise WrongUse("--wait takes seconds, 0 to 3600")
    program = shutil.which(call.rest[0])
    if program is None:
        raise _not_executable(call.rest[0])
    return program


def _not_executable(name: str) -> Failure:
    """Return why a command is none: it is not there, or the system does not execute it."""
    if shutil.which(name, os.F_OK) or (os.path.dirname(name) and os.path.exists(name)):
        return NotStarted(
            f"{printable(name)} cannot be started: it is not executable",
            "Is it a program, and does its mode allow you to run it?",
        )
    return NotFound(f"command not found: {printable(name)}")


class Selection(NamedTuple):
    """Which secrets the command gets, and whether by its environment or by a file."""

    path: str
    only: tuple[str, ...]
    prefix: str
    file: Path | None
    media: str
    #: Keys that stderr named already.
    reported: set[str]
    mode: int | None = None

    @classmethod
    def of(cls, call: Call) -> Selection:
        """What the arguments say; raises `WrongUse`."""
        args = call.args
        only = tuple(checked_key(key) for given in args.only or () for key in given.split(","))
        file = Path(args.format) if args.format else None
        media = "json"
        if file is not None:
            media = FORMATS.get(file.suffix or file.name, "")
            if not media:
                raise WrongUse("the ending of the file of --format is none of " + ", ".join(FORMATS))
            if media != "json" and (only or args.prefix):
                raise WrongUse("--only and --prefix go with a file that ends in .json, or without --format")
        mode = None
        if args.mode is not None:
            from secretsvc_client.destination import checked_mode

            if not args.format and not args.fallback:
                raise WrongUse("--mode goes with --format or --fallback")
            mode = checked_mode(args.mode)
        return cls(environment_path(call.settings), only, args.prefix or "", file, media, set(), mode)

    def fetch(self, service: Service) -> State:
        """The secrets that were asked for; raises the `Failure` of whatever is not whole."""
        return self.narrowed(self.fetch_all(service))

    def fetch_all(self, service: Service) -> State:
        """The present state, with what was not asked for too."""
        state = self.fetch_unless(service, None)
        if state is None:
            raise Failure("the service answered that nothing changed, which it was not asked")
        return state

    def fetch_unless(self, service: Service, rev: int | None) -> State | None:
        """As `fetch_all`, or None where that is the revision known already."""
        known = {"If-None-Match": f'"{rev}"'} if rev is not None else {}
        query = {"reason": "run", "format": self.media}
        answer = service.answer("GET", f"{self.path}/secrets:export", query, headers=known)
        return None if answer.status == 304 else self._state_of(answer)

    def _state_of(self, answer: Answer) -> State:
        if self.media != "json":
            return State(revision_of(answer), {}, answer.body)
        found = as_object(answer)
        return State(number(found, "rev"), secrets_of(found))

    def narrowed(self, state: State) -> State:
        """Those that were asked for; raises where one is missing, or cannot be carried."""
        secrets = state.secrets
        missing = [key for key in self.only if key not in secrets]
        if missing:
            raise Refused(f"there is no {', '.join(missing)}", "`secretsvc list` shows what there is.")
        chosen = {
            key: value
            for key, value in secrets.items()
            if (not self.only or key in self.only) and key.startswith(self.prefix)
        }
        if self.prefix and not chosen:
            raise Refused("no key begins with what --prefix says", "`secretsvc list` shows what there is.")
        chosen = _without_ours(chosen, self.reported)
        for key, value in chosen.items():
            _check(key, value, is_file=self.file is not None)
        return State(state.rev, chosen, state.content)

    def environment(self, state: State) -> dict[bytes, bytes]:
        """The environment of the command; writes the file where the secrets go into one."""
        given = {name: value for name, value in inherited.environment().items() if name not in _OURS}
        made = {os.fsencode(name): os.fsencode(value) for name, value in given.items()}
        if self.file is None:
            made.update({key.encode(): value.encode() for key, value in state.secrets.items()})
            return made
        content = state.content
        if content is None:
            import json

            content = json.dumps(dict(state.secrets), ensure_ascii=False, indent=1).encode() + b"\n"
        from secretsvc_client.destination import write_to

        write_to(self.file, content, self.mode)
        return made


def _without_ours(secrets: Mapping[str, str], reported: set[str]) -> dict[str, str]:
    """Leave out settings of the client, which the command can run: a writer could redirect it.

    Report each once: those that are not in `reported`, to which they are added.
    """
    # Names of variables have no case on Windows.
    is_windows = sys.platform == "win32"
    ours = sorted(key for key in secrets if (key.upper() if is_windows else key).startswith(_PREFIX))
    new = [key for key in ours if key not in reported]
    if new:
        reported.update(new)
        shown = ", ".join(printable(key)[:300] for key in new)
        output.warn(f"the command does not get {shown}: names that begin with {_PREFIX} are the client's own")
    return {key: value for key, value in secrets.items() if key not in ours}


def _check(key: str, value: object, *, is_file: bool) -> None:
    if not is_key(key):
        raise Invalid(f"the key {printable(key)[:300]} is no name of an environment variable")
    if not isinstance(value, str):
        raise Failure(f"the value of {key} is no text")
    if "\0" in value and not is_file:
        raise Invalid(
            f"{key} holds a NUL, which no environment can", "Take --format FILE for it, or --only without it."
        )
    try:
        value.encode()
    except UnicodeEncodeError:
        raise Invalid(f"{key} holds what is no character") from None


def replaced(program: str, arguments: list[str], environment: dict[bytes, bytes]) -> int:
    """Becomes the command; where the system has no such thing, waits for it."""
    for stream in (sys.stdout, sys.stderr):
        # None if the descriptor is closed; the command gets it closed too.
        if stream is not None:
            stream.flush()
    try:
        if sys.platform == "win32":
            import subprocess

            texts = {name.decode(): value.decode() for name, value in environment.items()}
            return subprocess.run([program, *arguments[1:]], env=texts, check=False).returncode
        # Python ignores these, and what is ignored stays so in the program that follows.
        for ignored in (signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(ignored, signal.SIG_DFL)
        os.execve(program, arguments, environment)
    except OSError as error:
        raise not_started(program, error) from None


def not_started(program: str, error: OSError) -> Failure:
    """Return why a program cannot be started, with what to do."""
    import errno

    if error.errno == errno.ENOENT and not os.path.exists(program):
        return NotFound(f"command not found: {printable(program)}")
    if error.errno == errno.E2BIG:
        return NotStarted(
            "the secrets are more than an environment holds", "Take --only, --prefix or --format FILE."
        )
    hint = None
    if error.errno == errno.ENOEXEC:
        hint = "A script begins with a line such as #!/bin/sh."
    if error.errno == errno.ENOENT:
        hint = "Is the interpreter of its first line there?"
    return NotStarted(f"{printable(program)} cannot be started: {error.strerror}", hint)


RUN = {"run": run}
