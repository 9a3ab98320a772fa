"""`projects`, `environments` and `search`: what there is, as far as one may see it."""

from __future__ import annotations

import argparse

from secretsvc_client import output
from secretsvc_client.api import Json, items_of, text
from secretsvc_client.cli import Call
from secretsvc_client.errors import WrongUse
from secretsvc_client.grammar import checked_slug, printable, segment

EXAMPLES = {
    "projects": ["secretsvc projects", "secretsvc projects --create shop --name 'Web shop'"],
    "environments": [
        "secretsvc environments --project shop",
        "secretsvc environments --project shop --create prod --name Production",
    ],
    "search": ["secretsvc search database", "secretsvc search API_ --json"],
}


def configure(name: str, parser: argparse.ArgumentParser) -> None:
    """Adds the command's own arguments."""
    if name == "search":
        parser.add_argument("text", metavar="TEXT", help="2 to 64 characters of a slug, a name or a key")
        parser.add_argument("--limit", type=int, help="so many at most (1 to 100, default 20)")
        return
    parser.add_argument("--create", metavar="SLUG", help="make one")
    parser.add_argument("--name", help="its name for people (default: the slug)")
    parser.add_argument("--description", help="what it is for")


def projects(call: Call) -> int:
    """Lists the projects, or makes one."""
    return _list_or_make(call, "/projects", "project")


def environments(call: Call) -> int:
    """Lists the environments of the project, or makes one."""
    path = f"/projects/{segment(call.settings.need_project())}/environments"
    return _list_or_make(call, path, "environment")


def _list_or_make(call: Call, path: str, kind: str) -> int:
    args = call.args
    if args.create is None and (args.name or args.description):
        raise WrongUse("--name and --description go with --create")
    if args.create is not None:
        body: Json = {"slug": checked_slug(args.create, kind), "name": args.name or args.create}
        if args.description:
            body["description"] = args.description
        made = call.service.send("POST", path, body)
        slug = text(made, "slug")
        if call.settings.is_json:
            output.print_json(made)
        else:
            print(f"the {kind} {printable(slug)} is made")
        return 0
    found = call.service.get(path)
    rows = items_of(found)
    if call.settings.is_json:
        output.print_json(found)
        return 0
    if kind == "project":
        columns = [(one.get("slug"), one.get("name"), one.get("description")) for one in rows]
        output.print_table(("PROJECT", "NAME", "DESCRIPTION"), columns)
    else:
        output.print_table(
            ("ENVIRONMENT", "NAME", "REVISION", "PROTECTED"),
            [
                (one.get("slug"), one.get("name"), one.get("rev"), "yes" if one.get("protected") else "")
                for one in rows
            ],
        )
    return 0


def search(call: Call) -> int:
    """What has the text in its name."""
    found = call.service.get("/search", {"q": call.args.text, "limit": call.args.limit})
    rows = items_of(found)
    if call.settings.is_json:
        output.print_json(found)
        return 0
    output.print_table(
        ("KIND", "PROJECT", "ENVIRONMENT", "KEY", "NAME"),
        [[one.get(name) for name in ("kind", "project", "environment", "key", "name")] for one in rows],
    )
    return 0


RUN = {"projects": projects, "environments": environments, "search": search}
