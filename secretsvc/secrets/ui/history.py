"""What became of an environment: its revisions, what differs between two, the way back, and deleted keys."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from urllib.parse import urlencode

from secretsvc.kernel.authorization import Role
from secretsvc.kernel.errors import DecryptFailed, PayloadTooLarge, PreconditionFailed, UnknownKid
from secretsvc.projects.resources import Environment
from secretsvc.secrets.domain import copies, revision_page
from secretsvc.secrets.domain.revision_page import Difference, RevisionEntry, RevisionPage
from secretsvc.secrets.queries.plan import ADDED, CHANGED, REMOVED, PlannedChange
from secretsvc.secrets.schemas import history as schemas
from secretsvc.secrets.ui.changes import KINDS, ChangeRow, change_rows
from secretsvc.secrets.write.write import WriteOutcome
from secretsvc.web.config import ServiceConfigurator
from secretsvc.web.pages import time_format
from secretsvc.web.pages.directives import PageOptions, redirect_after_form
from secretsvc.web.pages.html_helpers import count, enumeration
from secretsvc.web.query import parse_query
from secretsvc.web.request import ServiceRequest
from secretsvc.web.schema import Body, Values, validate
from secretsvc.web.tree import PAGES

TEMPLATES = "secretsvc.secrets:templates"
#: What a write did to so many keys, by its action; else by what happened to them.
DID = {"secret.import": "imported", "secret.copy": "copied"}
SIGNS = {ADDED: ("+", "add"), CHANGED: ("~", "mod"), REMOVED: ("\u2212", "del")}
WORDS = {ADDED: "added", CHANGED: "changed", REMOVED: "deleted"}
#: So many keys are named in one line.
NAMED = 5


def history(context: Environment, request: ServiceRequest) -> object:
    """Revisions, and what differs between one of them, `rev`, and another, `with`, without values."""
    asked = _query(schemas.HistoryQuery(), request)
    rev, other = asked.get("rev"), asked.get("with")
    found = revision_page.revision_page(
        request.call, context.address, before=asked.get("before"), since=rev, until=other
    )
    now = found.environment.rev
    # Unless another is asked for, that which the newest one followed: it can be gone back to.
    chosen = rev if rev is not None else found.since or now
    return {
        "found": found,
        "begun": month(found.environment.created_at, request.call.now),
        "chosen": chosen,
        "told": revision_summary,
        "tallies": tallies,
        "signs": SIGNS,
        "words": when_written,
        "counted": _signed(one.kind for one in found.differences or ()),
        "choices": _choices(chosen, found),
        "back": _back(found) if found.until == now and chosen != now else None,
        "restored": _restored(found, asked.get("restored")),
    }


def month(at: int, now: int) -> str:
    """The month of a time, with its year if that is not the present one: "June", "June 2024"."""
    then, year = time_format.moment(at), time_format.moment(now).year
    return f"{then:%B}" if then.year == year else f"{then:%B %Y}"


def _choices(chosen: int, found: RevisionPage) -> list[tuple[int, str, bool]]:
    """What the chosen revision can be compared with: number, label, and whether it is."""
    now = found.environment.rev
    other = found.since if found.until == chosen else found.until
    numbers = {now: f"now ({now})"}
    if chosen > 0:
        numbers.setdefault(chosen - 1, f"the one before ({chosen - 1})")
    numbers.update({one.rev: str(one.rev) for one in found.items if one.rev not in numbers})
    numbers.setdefault(other, str(other))
    return [(number, label, number == other) for number, label in numbers.items() if number != chosen]


def _back(found: RevisionPage) -> list[tuple[str, str, str, Sequence[str]]]:
    """What going back to the earlier revision would do, as far as versions tell: sign, class, words, keys."""
    keys = {kind: [one.key for one in found.differences or () if one.kind == kind] for kind in SIGNS}
    return [
        (*SIGNS[kind], _phrase(kind, len(keys[was])), _some(keys[was]) if kind != CHANGED else ())
        for kind, was in ((CHANGED, CHANGED), (ADDED, REMOVED), (REMOVED, ADDED))
        if keys[was]
    ]


def _phrase(kind: str, number: int) -> str:
    one = number == 1
    if kind == CHANGED:
        gets = "gets its old value" if one else "get their old value"
        return f"{count(number, 'changed key')} {gets} as a new version, where it is another"
    if kind == ADDED:
        return f"{count(number, 'deleted key')} {'comes' if one else 'come'} back:"
    return f"{count(number, 'key')} {'is' if one else 'are'} deleted:"


def _some(keys: Sequence[str]) -> list[str]:
    return [*keys[:NAMED], *([f"and {len(keys) - NAMED} more"] if len(keys) > NAMED else [])]


def _restored(found: RevisionPage, to_rev: int | None) -> str | None:
    """What a restore did, while its revision is the newest."""
    if to_rev is None or not found.items:
        return None
    newest, name = found.items[0], found.environment.name
    if newest.rev != found.environment.rev or newest.action != "secret.restore":
        return None
    return f"Restored {name} to revision {to_rev} (now revision {newest.rev})."


def revision_summary(one: RevisionEntry) -> tuple[str, str]:
    """What a revision did: a verb, and the one key that it names, if it names one."""
    kinds = Counter(change.kind for change in one.changes)
    removed = [change.key for change in one.changes if change.kind == REMOVED]
    if one.action == "secret.rollback" and len(one.changes) == 1:
        return "rolled back", one.changes[0].key
    if one.action == "secret.rename" and len(removed) == 1:
        return "renamed", removed[0]
    if one.action == "secret.restore":
        return f"went back to an older revision, {count(len(one.changes), 'key')}", ""
    if not one.changes:
        return "changed descriptions", ""
    if one.action in DID:
        return f"{DID[one.action]} {count(len(one.changes), 'key')}", ""
    parts: list[str] = []
    for kind in (ADDED, CHANGED, REMOVED):
        if kinds[kind]:
            number = f"{kinds[kind]:,}" if parts else count(kinds[kind], "key")
            parts.append(f"{WORDS[kind]} {number}")
    return ", ".join(parts), ""


def tallies(changes: Iterable[PlannedChange]) -> list[tuple[str, str]]:
    """How many of each kind, with its sign and its class."""
    kinds = Counter(change.kind for change in changes)
    return [(f"{sign}{kinds[kind]:,}", name) for kind, (sign, name) in SIGNS.items() if kinds[kind]]


def _signed(all_kinds: Iterable[str]) -> str:
    kinds = Counter(all_kinds)
    return " ".join(f"{sign}{kinds[kind]:,}" for kind, (sign, _) in SIGNS.items() if kinds[kind])


def when_written(one: Difference) -> str:
    """In which revisions a key became what it is: "changed in 39 and 41"."""
    revs = one.revs[-1:] if one.kind != CHANGED else one.revs
    texts = [f"{rev:,}" for rev in revs[-NAMED:]]
    many = f"{len(revs):,} revisions, last {texts[-1]}" if len(revs) > NAMED else ""
    return f"{WORDS[one.kind]} in {many or enumeration(texts)}"


def restore_review(context: Environment, request: ServiceRequest) -> object:
    """What going back to a revision would do: a dry run."""
    form = request.form
    known = {"rev": form["to_rev"]} if form.error else {}
    to_rev = _query(schemas.RestoreQuery(), request, **known).get("rev")
    if to_rev is None:
        return redirect_after_form(f"{context.path(PAGES)}/history")
    shown: dict[str, object] = {"to_rev": to_rev, "planned": None, "rows": (), "tally": "", "problem": None}
    try:
        planned = copies.restore_secrets(request.call, context.address, to_rev, dry_run=True)
    except (DecryptFailed, UnknownKid, PayloadTooLarge) as error:
        return shown | {"problem": error}
    if isinstance(form.error, PreconditionFailed) and not planned.changes:
        # It was sent twice, or somebody did the same.
        return redirect_after_form(f"{context.path(PAGES)}/history", "unchanged")
    rows = restored_rows(planned)
    return shown | {"planned": planned, "rows": rows, "tally": _signed(row.kind for row in rows)}


def restored_rows(planned: WriteOutcome) -> list[ChangeRow]:
    """What a restore would do, in the words of one."""
    words = {ADDED: "comes back", CHANGED: "gets its old value", REMOVED: KINDS[REMOVED][2]}
    return [ChangeRow(one.key, one.kind, one.version, words[one.kind]) for one in change_rows(planned)]


def restore(context: Environment, request: ServiceRequest) -> object:
    """Goes back to a revision, by one new one."""
    read = request.form.read(schemas.RestoreForm(), "to_rev", "rev", "reason")
    written = copies.restore_secrets(
        request.call,
        context.address,
        read["to_rev"],
        expected_rev=read["rev"],
        reason=read.get("reason"),
    )
    path = f"{context.path(PAGES)}/history"
    if not written.changes:
        return redirect_after_form(path, "unchanged")
    return redirect_after_form(f"{path}?{urlencode({'restored': read['to_rev']})}")


def deleted_keys(context: Environment, request: ServiceRequest) -> object:
    """The keys that were deleted, each with the way to bring it back."""
    asked = _query(schemas.DeletedQuery(), request)
    return {"found": revision_page.deleted_key_page(request.call, context.address, asked.get("cursor") or "")}


def _query(schema: Body, request: ServiceRequest, **more: str) -> Values:
    """The parameters of the URL that a page knows. Raises `ValidationFailed`."""
    known = {node.name for node in schema.children}
    given = {name: text for name, text in parse_query(request.environ).items() if name in known}
    return validate(schema, given | more)


def includeme(config: ServiceConfigurator) -> None:
    page: PageOptions[Environment] = {"context": Environment, "template": f"{TEMPLATES}/history.pt"}
    config.add_page(history, name="history", role=Role.READER, **page)
    config.add_tab("History", context=Environment, name="history", role=Role.READER, order=15)
    gone: PageOptions[Environment] = {"context": Environment, "template": f"{TEMPLATES}/deleted.pt"}
    config.add_page(deleted_keys, name="deleted", role=Role.READER, **gone)
    review: PageOptions[Environment] = {"context": Environment, "template": f"{TEMPLATES}/restore.pt"}
    config.add_page(restore_review, name="restore", role=Role.WRITER, **review)
    config.add_form(restore, name="restore", role=Role.WRITER, rerender=restore_review, **review)
