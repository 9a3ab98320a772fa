"""`run`: a command with the secrets in its environment, or no command at all."""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import sys

from secretsvc_client import output
from secretsvc_client.cli import Call
from secretsvc_client.errors import WrongUse
from secretsvc_client.grammar import printable
from secretsvc_client.program_errors import not_executable, not_started
from secretsvc_client.selection import FORMATS, Selection

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
        raise not_executable(call.rest[0])
    return program


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


RUN = {"run": run}
