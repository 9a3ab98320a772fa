"""`import` and `export`: an environment as a file."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from secretsvc_client import output
from secretsvc_client.api import Json, as_object, environment_path, revision_of, secrets_of
from secretsvc_client.cli import Call
from secretsvc_client.commands.values import REASONS
from secretsvc_client.commands.writes import written
from secretsvc_client.destination import checked_mode, write_to
from secretsvc_client.errors import WrongUse
from secretsvc_client.grammar import printable
from secretsvc_client.inputs import has_key, read_text

EXAMPLES = {
    "import": [
        "secretsvc import .env --dry-run",
        "secretsvc import .env --reason 'from the old host'",
        "secretsvc import - --format json --replace < secrets.json",
    ],
    "export": [
        "secretsvc export --format env --output .env",
        'secrets=$(secretsvc export --format shell) && eval "$secrets"',
        "secretsvc export --format kubernetes --name shop | kubectl apply --server-side -f -",
    ],
}
FORMATS = ("json", "env", "shell", "docker", "kubernetes")


def configure(name: str, parser: argparse.ArgumentParser) -> None:
    """Adds the command's own arguments."""
    if name == "export":
        parser.add_argument("--format", choices=FORMATS, default="json")
        parser.add_argument("--output", metavar="FILE", help="write this file, pipe or device")
        parser.add_argument(
            "--mode", metavar="OCTAL", help="permissions of it (default: as they are, 0600 for a new file)"
        )
        parser.add_argument("--rev", type=int, help="as it was at this revision")
        parser.add_argument("--name", help="of the Secret, with --format kubernetes")
        parser.add_argument("--reason", choices=REASONS, default="export", help="what the audit log says")
        return
    parser.add_argument("file", metavar="FILE", help="- is stdin")
    parser.add_argument("--format", choices=("env", "json"), help="default: json for *.json, else env")
    parser.add_argument("--replace", action="store_true", help="remove the keys that the file lacks")
    parser.add_argument("--allow-empty", action="store_true", help="let --replace remove every key")
    parser.add_argument("--dry-run", action="store_true", help="only show what would change")
    parser.add_argument("--expected-rev", type=int, metavar="REV", help="write only at this revision")
    parser.add_argument("--reason", help="why, for the history")


def import_file(call: Call) -> int:
    """Write the secrets of a file."""
    args = call.args
    media = args.format or ("json" if args.file.endswith(".json") else "env")
    content = read_text(args.file)
    if args.replace and not args.allow_empty and not has_key(content, media):
        raise WrongUse(
            "the input has no key, and --replace would remove every key: nothing is written",
            "Give --allow-empty to remove every key.",
        )
    body: Json = {
        "format": media,
        "content": content,
        "mode": "replace" if args.replace else "merge",
        "dry_run": args.dry_run,
    }
    return written(call, "secrets:import", body)


def export(call: Call) -> int:
    """Gives every value; with `--format json` the keys and values alone, with `--json` the whole answer."""
    args, is_json = call.args, call.settings.is_json
    if is_json and args.format != "json":
        raise WrongUse("--json goes with --format json")
    if args.mode is not None and not args.output:
        raise WrongUse("--mode goes with --output")
    mode = checked_mode(args.mode)
    query = {"format": args.format, "reason": args.reason, "rev": args.rev, "name": args.name}
    answer = call.service.answer("GET", f"{environment_path(call.settings)}/secrets:export", query)
    content = answer.body
    if args.format == "json":
        import json

        found = as_object(answer)
        secrets = secrets_of(found)
        content = json.dumps(found if is_json else secrets, indent=1).encode() + b"\n"
    else:
        revision_of(answer)
    if args.output:
        message = write_to(Path(args.output), content, mode)
        if message:
            output.tell(message)
    elif sys.stdout.isatty():
        print(printable(content.decode("utf-8", "replace"), lines=True), end="")
    else:
        sys.stdout.buffer.write(content)
    return 0


RUN = {"import": import_file, "export": export}
