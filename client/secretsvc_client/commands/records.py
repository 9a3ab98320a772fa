"""`audit` and `access`: what happened, and why somebody can or cannot."""

from __future__ import annotations

import argparse
import json
import time
from datetime import datetime

from secretsvc_client import output
from secretsvc_client.api import Json, Query, items_of, text
from secretsvc_client.cli import Call
from secretsvc_client.errors import Failure, Refused, WrongUse
from secretsvc_client.grammar import printable, segment

EXAMPLES = {
    "audit": [
        "secretsvc audit --limit 20",
        "secretsvc audit --outcome denied --since 2h",
        "secretsvc audit --project shop --environment prod --key API_KEY --json",
    ],
    "access": ["secretsvc access", "secretsvc access ann@example.com --project shop --environment prod"],
}
_FILTERS = ("actor", "action", "outcome", "key")
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def configure(name: str, parser: argparse.ArgumentParser) -> None:
    """Adds the command's own arguments."""
    if name == "access":
        parser.add_argument("subject", metavar="SUBJECT", nargs="?", help="default: yourself")
        return
    parser.add_argument("--actor", metavar="SUBJECT", help="who")
    parser.add_argument("--action", help="such as secret.reveal")
    parser.add_argument("--outcome", choices=("success", "denied"))
    parser.add_argument("--key", help="of the project and environment that are meant")
    parser.add_argument("--since", metavar="TIME", help="such as 2h, 7d, or 2026-11-21T10:00")
    parser.add_argument("--until", metavar="TIME", help="likewise")
    parser.add_argument(
        "--everywhere", action="store_true", help="of all projects, whatever this folder says"
    )
    parser.add_argument("--limit", type=int, default=50, help="so many at most (default 50)")


def audit(call: Call) -> int:
    """The records, newest first."""
    args, settings = call.args, call.settings
    if args.limit < 1:
        raise WrongUse("--limit takes 1 or more")
    query: dict[str, str | int | None] = {name: getattr(args, name) for name in _FILTERS}
    query["since"], query["until"] = _moment(args.since), _moment(args.until)
    query["limit"] = min(args.limit, 500)
    if not args.everywhere:
        query["project"], query["environment"] = settings.scope()
    asked: Query = query
    items = []
    with output.Progress("reading the log") as progress:
        for item in call.service.pages("/audit", asked, args.limit):
            items.append(item)
            progress.step(len(items))
    if settings.is_json:
        output.print_json({"items": items})
        return 0
    output.print_table(
        ("AT", "ACTION", "OUTCOME", "ACTOR", "REASON", "DETAIL"),
        [
            (
                output.moment(one.get("created_at")),
                one.get("action"),
                one.get("outcome"),
                (one.get("actor") or {}).get("subject"),
                one.get("reason"),
                json.dumps(one["detail"], separators=(",", ":"))[:80] if one.get("detail") else "",
            )
            for one in items
        ],
    )
    return 0


def _moment(given: str | None) -> int | None:
    """Epoch milliseconds of a time, or of so long ago; raises `WrongUse`."""
    if given is None:
        return None
    try:
        if given[-1:] in _UNITS:
            return int((time.time() - float(given[:-1]) * _UNITS[given[-1]]) * 1000)
        return int(datetime.fromisoformat(given).timestamp() * 1000)
    except (ValueError, OverflowError, OSError):
        raise WrongUse("a time is such as 2h, 7d, or 2026-11-21T10:00") from None


def access(call: Call) -> int:
    """What an identity may do at the scope that is meant, by which grants; or why it may not."""
    project, environment = call.settings.scope()
    identity = _identity(call)
    found = call.service.get(f"/identities/{segment(text(identity, 'id'))}/effective-permissions")
    entries = items_of(found)
    if call.settings.is_json:
        output.print_json(found)
        return 0
    subject = printable(text(identity, "subject"))
    if identity.get("disabled"):
        print(f"{subject} is disabled, and may do nothing whatever it was granted")
    if project:
        print(_answer(subject, entries, project, environment))
    output.print_table(
        ("SCOPE", "ROLE", "BY", "UNTIL", ""),
        [
            (_scope(entry), entry.get("role") or "none", _by(source), _until(source), _decisive(source))
            for entry in entries
            for source in items_of(entry, "sources")
        ],
    )
    return 0


def _identity(call: Call) -> Json:
    if call.args.subject is None:
        own = call.service.get("/whoami").get("identity")
        if not isinstance(own, dict):
            raise Failure("the answer lacks identity, which the client needs")
        return own
    wanted = call.args.subject
    for one in items_of(call.service.get("/identities")):
        if one.get("subject") in (wanted, wanted.lower()):
            return one
    unknown = items_of(call.service.get("/access/unknown-identities"))
    seen = any(one.get("subject") in (wanted, wanted.lower()) for one in unknown)
    told = "was denied and has no grant" if seen else "was never here"
    raise Refused(
        f"{printable(wanted)} {told}", "An administrator announces and grants on the page of access."
    )


def _answer(subject: str, entries: list[Json], project: str, environment: str | None) -> str:
    """Why it can or cannot, in one line: the narrowest entry that covers the scope decides."""
    scope = f"{project}/{environment}" if environment else project
    scopes = [("global", None, None), ("project", project, None), ("environment", project, environment)]
    covering = [
        entry
        for scope in (scopes if environment else scopes[:2])
        for entry in entries
        if (entry.get("scope_type"), entry.get("project"), entry.get("environment")) == scope
    ]
    role = covering[-1].get("role") if covering else None
    if not role:
        return printable(f"{subject} cannot read {scope}: no grant in force covers it")
    decisive = next((one for one in items_of(covering[-1], "sources") if one.get("decisive")), {})
    return printable(f"{subject} is {role} of {scope}, {_by(decisive)}")


def _scope(entry: Json) -> str:
    parts = [str(entry[name]) for name in ("project", "environment") if entry.get(name)]
    return "/".join(parts) or "everywhere"


def _by(source: Json) -> str:
    group = source.get("group")
    held = f"through the group {group.get('slug')}" if isinstance(group, dict) else "granted directly"
    if source.get("grant_id") is None:
        held = "listed in BOOTSTRAP_ADMINS"
    return f"{held} ({_scope(source)})"


def _until(source: Json) -> str:
    return output.moment(source.get("expires_at")) or "no end"


def _decisive(source: Json) -> str:
    return "decides" if source.get("decisive") else ""


RUN = {"audit": audit, "access": access}
