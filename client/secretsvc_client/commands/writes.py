"""`set`, `unset` and `rename`: single keys. No value comes by an argument."""

from __future__ import annotations

import argparse
import sys

from secretsvc_client import output
from secretsvc_client.api import Json, environment_path, items_of, number
from secretsvc_client.cli import Call
from secretsvc_client.errors import WrongUse
from secretsvc_client.grammar import checked_key, printable
from secretsvc_client.inputs import read_text, without_line_end

EXAMPLES = {
    "set": [
        "secretsvc set API_KEY                    # asks for the value",
        'printf %s "$value" | secretsvc set API_KEY',
        "secretsvc set TLS_KEY --file key.pem --description 'of the frontend'",
    ],
    "unset": ["secretsvc unset OLD_KEY OLDER_KEY --reason 'no longer used'"],
    "rename": ["secretsvc rename DB_URL DATABASE_URL"],
}


def configure(name: str, parser: argparse.ArgumentParser) -> None:
    """Adds the command's own arguments."""
    if name == "set":
        parser.add_argument("key", metavar="KEY")
        parser.add_argument(
            "--file", help="read the value from this file, - is stdin; keep its last line end"
        )
        parser.add_argument("--allow-empty", action="store_true", help="write a value that is empty")
        parser.add_argument("--description", help="what it is for")
    elif name == "unset":
        parser.add_argument("keys", metavar="KEY", nargs="+")
    else:
        parser.add_argument("key", metavar="FROM")
        parser.add_argument("to", metavar="TO")
    if name != "rename":
        parser.add_argument("--expected-rev", type=int, metavar="REV", help="write only at this revision")
    parser.add_argument("--reason", help="why, for the history")


def set_value(call: Call) -> int:
    """Writes one value."""
    args = call.args
    key = checked_key(args.key)
    value = read_value(args.file, may_be_empty=args.allow_empty)
    body: Json = {"mode": "merge", "set": {key: value}}
    if args.description is not None:
        body["descriptions"] = {key: args.description}
    return written(call, "secrets:batch", body)


def read_value(file: str | None, *, may_be_empty: bool) -> str:
    """Read the value from the prompt, stdin or a file.

    One final line end of stdin is left out, unless `--file -` asks for all of it.
    Raises `WrongUse` and `Invalid`.
    """
    if file is None and sys.stdin is not None and sys.stdin.isatty():
        from secretsvc_client.prompt import ask_twice

        return ask_twice()
    value = read_text(file or "-")
    if file is None:
        value = without_line_end(value)
    if not value and not may_be_empty:
        raise WrongUse(
            "the value is empty: nothing is written", "Give --allow-empty to write an empty value."
        )
    return value


def unset(call: Call) -> int:
    """Removes keys; one that is not there is no error."""
    keys = [checked_key(key) for key in call.args.keys]
    return written(call, "secrets:batch", {"mode": "merge", "delete": keys})


def rename(call: Call) -> int:
    """Renames a key; its description goes along."""
    return written(
        call, "secrets:rename", {"from": checked_key(call.args.key), "to": checked_key(call.args.to)}
    )


def written(call: Call, operation: str, body: Json) -> int:
    """Sends a write with the reason and the revision of the arguments, and shows what it did."""
    for name in ("reason", "expected_rev"):
        value = getattr(call.args, name, None)
        if value is not None:
            body[name] = value
    return show(call, call.service.write(f"{environment_path(call.settings)}/{operation}", body))


def show(call: Call, found: Json) -> int:
    """Show the result of a write or of its dry run."""
    changes, rev = items_of(found, "changes"), number(found, "rev")
    if call.settings.is_json:
        output.print_json(found)
        return 0
    for change in changes:
        version = change.get("version")
        print(
            printable(f"{change.get('kind')} {change.get('key')}{f' (version {version})' if version else ''}")
        )
    print(f"nothing is written, the revision is {rev}" if found.get("dry_run") else f"revision {rev}")
    expandable = found.get("expandable")
    if isinstance(expandable, list) and expandable:
        output.warn(
            "these hold a $ that other readers might expand, and are kept as they stand: "
            + ", ".join(printable(key) for key in expandable)
        )
    return 0


RUN = {"set": set_value, "unset": unset, "rename": rename}
