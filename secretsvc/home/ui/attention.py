"""What needs the caller's attention: only what it can act on, each with its one action."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import NamedTuple
from urllib.parse import urlencode

from secretsvc.access.rules.grants import SOON_MS
from secretsvc.home.domain.attention import KeyProblem, missing, unreadable
from secretsvc.home.domain.overview import ProjectOverview
from secretsvc.home.domain.pending_access import ExpiringGrant, expiring_grants, latest_denied_identity
from secretsvc.kernel.authorization import Role, ScopePath, admin_grants, decide
from secretsvc.kernel.errors import ServerMisconfigured
from secretsvc.kernel.use_case import UseCaseContext
from secretsvc.keyring.domain import KeyRingReport, key_ring
from secretsvc.tokens.domain import SOON_MS as TOKENS_SOON_MS
from secretsvc.tokens.domain import ending_tokens
from secretsvc.web.pages.html_helpers import count, enumeration
from secretsvc.web.pages.time_format import relative

#: Denials of the last days, in milliseconds, wait for somebody to grant something.
LATELY = 7 * 86_400_000
#: How many of a kind are counted, and how many are named.
COUNTED, NAMED = 20, 3


class Item(NamedTuple):
    """One thing: what is bold, what follows it, a second line, and where its button leads."""

    icon: str
    kind: str
    bold: str
    rest: str
    sub: str
    path: str
    action: str


class Attention(NamedTuple):
    """The items, and what is amiss with which environment: a word by the slugs of project and environment."""

    items: list[Item]
    unreadable: dict[tuple[str, str], int]
    missing: dict[tuple[str, str], int]


def attention(call: UseCaseContext, shown: Iterable[ProjectOverview]) -> Attention:
    """Everything that the caller can act on; those who may not write have their own ending grants at most.

    What is `shown` beside it says how people call the places of those.
    """
    held = call.snapshot.effective_grants
    is_admin = call.snapshot.global_role is Role.ADMIN
    lost, gaps = [], []
    if any(one.role.implies(Role.WRITER) for one in held):
        with suppress(ServerMisconfigured):
            lost = unreadable(call, call.ring.kids, COUNTED)
        gaps = missing(call, COUNTED)
    items = [*map(_unreadable, lost)]
    items += [*_grants(call)] if next(admin_grants(call.snapshot), None) is not None else []
    items += [*_own_grants(call, _names(shown)), *map(_missing, gaps)]
    items += [*_turned_away(call)] if next(admin_grants(call.snapshot), None) is not None else []
    items += [*_tokens(call), *_ring(call, bool(lost))] if is_admin else []
    return Attention(items, _counts(lost), _counts(gaps))


def _counts(found: Iterable[KeyProblem]) -> dict[tuple[str, str], int]:
    return {(one.project, one.environment): one.count for one in found}


def _unreadable(one: KeyProblem) -> Item:
    path = f"/projects/{one.project}/environments/{one.environment}"
    be = "was" if one.count == 1 else "were"
    return Item(
        "circle-alert", "bad", f"{count(one.count, 'value')} cannot be read",
        f"in {one.project_name} / {one.environment_name}",
        f"{enumeration(one.keys[:NAMED], one.count)} {be} sealed by a key that is not loaded",
        f"{path}/secrets/{one.keys[0]}" if one.count == 1 else path, "Look at it",
    )  # fmt: skip


def _missing(one: KeyProblem) -> Item:
    slug, name = one.beside or ("", "")
    be = "is" if one.count == 1 else "are"
    query = urlencode({"from": slug, "to": one.environment})
    return Item(
        "circle-dashed", "warn",
        f"{count(one.count, 'key')} {be} set in {name} but not in {one.environment_name}",
        f"of {one.project_name}", enumeration(one.keys[:NAMED], one.count),
        f"/projects/{one.project}/compare?{query}", "Compare",
    )  # fmt: skip


def _grants(call: UseCaseContext) -> Iterator[Item]:
    ending = expiring_grants(call, within=SOON_MS, limit=COUNTED + 1)
    if ending:
        told = [_ending(one, call.now) for one in ending]
        how_many = f"More than {COUNTED} grants" if len(ending) > COUNTED else count(len(ending), "grant")
        verb = "ends" if len(ending) == 1 else "end"
        yield Item(
            "hourglass", "warn", f"{how_many} {verb} this week", "", _several(told), "/grants", "Review"
        )


def _names(shown: Iterable[ProjectOverview]) -> dict[tuple[str | None, str | None], str]:
    found: dict[tuple[str | None, str | None], str] = {(None, None): "everything"}
    for one in shown:
        found[one.slug, None] = one.name
        found.update({(one.slug, each.slug): f"{one.name} / {each.name}" for each in one.environments})
    return found


def _own_grants(call: UseCaseContext, names: Mapping[tuple[str | None, str | None], str]) -> Iterator[Item]:
    for one in call.snapshot.effective_grants:
        at = ScopePath(one.project, one.environment)
        ends = one.expires_at is not None and one.expires_at <= call.now + SOON_MS
        if ends and decide(call.snapshot, at) is not Role.ADMIN:
            # Of very many projects some are on another page.
            slugs = " / ".join(filter(None, (one.project, one.environment)))
            where = names.get((one.project, one.environment), slugs)
            when = relative(one.expires_at or 0, call.now)
            yield Item(
                "hourglass", "warn", f"Your {one.role} role on {where} ends {when}", "",
                "Ask one of its admins to extend it", "/whoami", "What I may do",
            )  # fmt: skip


def _turned_away(call: UseCaseContext) -> Iterator[Item]:
    found = latest_denied_identity(call, call.now - LATELY)
    if found is not None:
        who = "1 identity was" if found.count == 1 else f"{found.count:,} identities were"
        last = f"Last: {found.subject}, {relative(found.at, call.now)}, {count(found.denials, 'attempt')}"
        path = "/access/unknown-identities"
        yield Item("user-plus", "", f"{who} turned away", "without any grant", last, path, "Decide")


def _tokens(call: UseCaseContext) -> Iterator[Item]:
    tokens = []
    with suppress(ServerMisconfigured):
        if call.settings.service_tokens:
            tokens = ending_tokens(call, within=TOKENS_SOON_MS, limit=COUNTED + 1)
    if tokens:
        told = [f"{one.name} of {one.subject} {relative(one.expires_at, call.now)}" for one in tokens]
        many = len(tokens) > COUNTED
        how_many = f"More than {COUNTED} service tokens" if many else count(len(tokens), "service token")
        verb = "ends" if len(tokens) == 1 else "end"
        bold = f"{how_many} {verb} within 14 days"
        yield Item("key-round", "warn", bold, "", _several(told), "/identities?show=services", "Exchange")


def _ring(call: UseCaseContext, is_told: bool) -> Iterator[Item]:
    path = "/admin/keyring"
    try:
        ring = key_ring(call)
    except ServerMisconfigured:
        sub = "No value can be read or written; the log of the service names the setting"
        yield Item("circle-alert", "bad", "The master key is not loaded", "", sub, path, "Look at it")
        return
    if ring.unreadable and not is_told:
        bold, sub = f"{ring.unreadable:,} envelopes cannot be opened", "Their master key is not loaded"
        yield Item("circle-alert", "bad", bold, "", sub, path, "See which key")
    moving = ring.remaining - ring.unreadable
    if moving > 0:
        bold = f"Key rotation is at {percent(ring)} %"
        sub = (
            f"{moving:,} of {sum(key.rows for key in ring.keys):,} envelopes are still sealed by the old key"
        )
        yield Item("refresh-cw", "", bold, "", sub, path, "Continue")
    elif ring.holds_old_key and ring.safe_to_remove_old_key:
        sub = "Look at the key ring before you remove it"
        yield Item("refresh-cw", "", "No envelope needs the old master key", "", sub, path, "Look at it")


def percent(ring: KeyRingReport) -> int:
    """How much of all envelopes the active key has sealed, rounded down."""
    total = sum(key.rows for key in ring.keys)
    return 100 * (total - ring.remaining) // total if total else 100


def _ending(one: ExpiringGrant, now: int) -> str:
    holder = f"the group {one.holder}" if one.is_group else one.holder
    scope = " / ".join(filter(None, (one.project, one.environment))) or "everything"
    return f"{holder}, {one.role} on {scope}, {relative(one.expires_at, now)}"


def _several(told: list[str]) -> str:
    left = len(told) - NAMED
    return "; ".join(told[:NAMED]) + (f"; and {left} more" if left > 0 else "")
