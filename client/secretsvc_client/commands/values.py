"""`list` and `get`: the keys of an environment, and one value."""

from __future__ import annotations

import argparse
import sys

from secretsvc_client import output
from secretsvc_client.api import environment_path, items_of, text
from secretsvc_client.cli import Call
from secretsvc_client.grammar import checked_key, printable, segment

EXAMPLES = {
    "list": ["secretsvc list", "secretsvc list --rev 12 --json"],
    "get": ["secretsvc get DATABASE_URL", "secretsvc get TLS_KEY --version 3 > key.pem"],
}
#: Why a value is read, as the audit log has it.
REASONS = ("reveal", "copy", "export", "run")


def configure(name: str, parser: argparse.ArgumentParser) -> None:
    """Adds the command's own arguments."""
    if name == "list":
        parser.add_argument("--rev", type=int, help="as it was at this revision")
    if name == "get":
        parser.add_argument("key", metavar="KEY")
        parser.add_argument("--version", type=int, help="an older version")
        parser.add_argument("--reason", choices=REASONS, default="reveal", help="what the audit log says")


def list_keys(call: Call) -> int:
    """The keys, their versions and descriptions."""
    found = call.service.get(f"{environment_path(call.settings)}/secrets", {"rev": call.args.rev})
    items = items_of(found)
    if call.settings.is_json:
        output.print_json(found)
        return 0
    output.print_table(
        ("KEY", "VERSION", "UPDATED", "DESCRIPTION"),
        [
            (
                one.get("key"),
                one.get("version"),
                output.moment(one.get("updated_at")) + ("" if one.get("readable", True) else " UNREADABLE"),
                one.get("description"),
            )
            for one in items
        ],
    )
    return 0


def get(call: Call) -> int:
    """The value and nothing else, unchanged; on a terminal what that would obey is escaped."""
    key = checked_key(call.args.key)
    path = f"{environment_path(call.settings)}/secrets/{segment(key)}"
    found = call.service.get(path, {"reason": call.args.reason, "version": call.args.version})
    value = text(found, "value")
    if call.settings.is_json:
        output.print_json({"key": key, "value": value})
    elif sys.stdout.isatty():
        print(printable(value, lines=True))
    else:
        sys.stdout.flush()
        sys.stdout.buffer.write(value.encode("utf-8", "surrogatepass"))
    return 0


RUN = {"list": list_keys, "get": get}
