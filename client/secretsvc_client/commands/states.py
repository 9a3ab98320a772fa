"""`diff`, `copy`, `history` and `restore`: environments and revisions beside each other."""

from __future__ import annotations

import argparse

from secretsvc_client import output
from secretsvc_client.api import Json, environment_path, items_of
from secretsvc_client.cli import Call
from secretsvc_client.commands.writes import written
from secretsvc_client.errors import WrongUse
from secretsvc_client.grammar import checked_key, checked_slug, printable, segment

EXAMPLES = {
    "diff": [
        "secretsvc diff staging",
        "secretsvc diff other-shop/prod",
        "secretsvc diff --rev 12 --with-rev 14",
    ],
    "copy": [
        "secretsvc copy staging --dry-run",
        "secretsvc copy staging API_URL API_KEY --expected-rev 4 --reason 'release 7'",
        "secretsvc copy prod --from-rev 12 DATABASE_URL",
    ],
    "history": ["secretsvc history", "secretsvc history API_KEY", "secretsvc history --deleted"],
    "restore": [
        "secretsvc restore 12 --dry-run",
        "secretsvc restore 3 --key API_KEY --reason 'the new one fails'",
    ],
}


def configure(name: str, parser: argparse.ArgumentParser) -> None:
    """Adds the command's own arguments."""
    if name == "diff":
        parser.add_argument("other", metavar="[PROJECT/]ENVIRONMENT", nargs="?", help="default: this one")
        parser.add_argument("--rev", type=int, help="of this environment (default: the present one)")
        parser.add_argument("--with-rev", type=int, help="of the other (default: the present one)")
        parser.add_argument("--all", action="store_true", help="also the keys that are the same")
    elif name == "history":
        parser.add_argument("key", metavar="KEY", nargs="?", help="the versions of this key")
        parser.add_argument("--deleted", action="store_true", help="the keys that were deleted")
        parser.add_argument("--limit", type=int, default=50, help="so many at most (default 50)")
    else:
        if name == "copy":
            _configure_copy(parser)
        else:
            parser.add_argument(
                "rev", metavar="REV", type=int, help="the revision, or the version with --key"
            )
            parser.add_argument("--key", help="restore only this key, to its version REV")
        parser.add_argument("--dry-run", action="store_true", help="only show what would change")
        parser.add_argument("--expected-rev", type=int, metavar="REV", help="write only at this revision")
        parser.add_argument("--reason", help="why, for the history")


def _configure_copy(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("source", metavar="[PROJECT/]ENVIRONMENT", help="where from; to is --environment")
    parser.add_argument("keys", metavar="KEY", nargs="*", help="default: all")
    parser.add_argument("--replace", action="store_true", help="remove the keys that the source lacks")
    parser.add_argument("--existing", choices=("overwrite", "skip", "refuse"), help="default: overwrite")
    parser.add_argument("--from-rev", type=int, metavar="REV", help="as the source was at this revision")


def _scope(call: Call, given: str) -> tuple[str, str]:
    """Project and environment of `[PROJECT/]ENVIRONMENT`."""
    project, slash, environment = given.rpartition("/")
    return (
        checked_slug(project, "project") if slash else call.settings.need_project(),
        checked_slug(environment, "environment"),
    )


def diff(call: Call) -> int:
    """The keys that differ; values are compared by the service and never leave it."""
    args = call.args
    query: dict[str, str | int | None] = {"rev": args.rev, "with_rev": args.with_rev}
    if args.other:
        query["project"], query["environment"] = _scope(call, args.other)
    found = call.service.get(f"{environment_path(call.settings)}/secrets:compare", query)
    items = items_of(found)
    if call.settings.is_json:
        output.print_json(found)
        return 0
    output.print_table(
        ("KEY", "IS", "VERSION HERE", "VERSION THERE"),
        [
            [one.get(name) for name in ("key", "kind", "version", "with_version")]
            for one in items
            if args.all or one.get("kind") != "same"
        ],
    )
    return 0


def copy(call: Call) -> int:
    """Writes what the source holds; no value passes through this machine."""
    args = call.args
    project, environment = _scope(call, args.source)
    body: Json = {"from": {"project": project, "environment": environment}, "dry_run": args.dry_run}
    if args.keys:
        body["keys"] = [checked_key(key) for key in args.keys]
    if args.replace:
        body["mode"] = "replace"
    for name in ("existing", "from_rev"):
        if getattr(args, name) is not None:
            body[name] = getattr(args, name)
    return written(call, "secrets:copy", body)


def restore(call: Call) -> int:
    """Writes an older state, or an older version of one key, as a new revision."""
    args = call.args
    if args.key is None:
        return written(call, "secrets:restore", {"to_rev": args.rev, "dry_run": args.dry_run})
    if args.dry_run or args.expected_rev is not None:
        raise WrongUse("--dry-run and --expected-rev do not go with --key")
    return written(call, "secrets:rollback", {"key": checked_key(args.key), "to_version": args.rev})


def history(call: Call) -> int:
    """What was written, newest first; or the versions of a key, or what was deleted."""
    args = call.args
    if args.limit < 1:
        raise WrongUse("--limit takes 1 or more")
    path = environment_path(call.settings)
    if args.key is not None:
        found = call.service.get(f"{path}/secrets/{segment(checked_key(args.key))}/versions")
        items = items_of(found)[: args.limit]
        heads, rows = _versions(items)
    else:
        kind = "secrets:deleted" if args.deleted else "revisions"
        with output.Progress("reading the history") as progress:
            items = []
            for item in call.service.pages(f"{path}/{kind}", {"limit": min(args.limit, 500)}, args.limit):
                items.append(item)
                progress.step(len(items))
        heads, rows = _deleted(items) if args.deleted else _revisions(items)
    if call.settings.is_json:
        output.print_json({"items": items})
    else:
        output.print_table(heads, rows)
    return 0


_Table = tuple[tuple[str, ...], list[tuple[object, ...]]]


def _versions(items: list[Json]) -> _Table:
    return ("VERSION", "AT", "BY", ""), [
        (
            one.get("version"),
            output.moment(one.get("created_at")),
            one.get("created_by"),
            "deleted" if one.get("deleted") else "",
        )
        for one in items
    ]


def _deleted(items: list[Json]) -> _Table:
    return ("KEY", "LAST VERSION", "DELETED AT", "BY"), [
        (one.get("key"), one.get("version"), output.moment(one.get("deleted_at")), one.get("deleted_by"))
        for one in items
    ]


def _revisions(items: list[Json]) -> _Table:
    return ("REVISION", "AT", "ACTION", "CHANGES", "REASON"), [
        (
            one.get("rev"),
            output.moment(one.get("created_at")),
            one.get("action"),
            _changes(one),
            one.get("reason"),
        )
        for one in items
    ]


def _changes(revision: Json) -> str:
    changes = items_of(revision, "changes")
    signs = {"added": "+", "changed": "~", "removed": "-"}
    shown = [f"{signs.get(str(one.get('kind')), '?')}{one.get('key')}" for one in changes[:5]]
    return printable(" ".join(shown) + (f" and {len(changes) - 5} more" if len(changes) > 5 else ""))


RUN = {"diff": diff, "copy": copy, "history": history, "restore": restore}
