"""What no write may exceed or contradict, whatever is there already but for the count."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from itertools import chain
from uuid import UUID

from secretsvc.kernel.errors import Issue, PayloadTooLarge, refuse
from secretsvc.kernel.use_case import UseCaseContext
from secretsvc.secrets.queries.key_rows import count_undeleted
from secretsvc.secrets.queries.plan import PlannedChange, growth_of

TOO_MUCH_WRITTEN = "You wrote too many bytes of values to this environment."


def check_values(call: UseCaseContext, values: Mapping[str, str]) -> None:
    """Refuses what no environment may hold. Raises `PayloadTooLarge`."""
    limit = call.settings.secret_max_bytes
    for key, value in values.items():
        # A character is one to four bytes: most values need no encoding to be judged.
        if len(value) * 4 > limit and len(value.encode("utf-8")) > limit:
            raise PayloadTooLarge(f"The value of {key} is over {limit} bytes.", about=f"set.{key}")
    check_capacity(call, len(values))


def check_edits(
    values: Mapping[str, str], descriptions: Mapping[str, str | None], removals: Collection[str]
) -> None:
    """Refuses a key that is both set and deleted, and a description of one that is not set.

    Raises `ValidationFailed` (specification, "Secrets" 4).
    """
    both = sorted(values.keys() & {*removals})
    stray = sorted(descriptions.keys() - values.keys())
    of_both = (Issue(f"set.{key}", "Is also in `delete`.") for key in both)
    refuse(chain(of_both, (Issue(f"descriptions.{key}", "Is not in `set`.") for key in stray)))


def check_growth(call: UseCaseContext, environment_id: UUID, changes: Iterable[PlannedChange]) -> None:
    """Refuses more secrets than the environment has room for; one statement, where there would be more.

    It is for what writes nothing: a write asks in the statement that takes its revision.
    Raises `PayloadTooLarge`.
    """
    growth = growth_of(changes)
    if growth > 0:
        check_capacity(call, count_undeleted(call, environment_id) + growth)


def check_volume(
    call: UseCaseContext, environment_id: UUID, values: Mapping[str, str], *, dry_run: bool
) -> None:
    """Counts the bytes of values against `WRITE_LIMIT` (contract 17.2); a dry run counts nothing.

    To be called under the lock of the environment: its writes take turns, so no two of them can exceed the
    limit together. Raises `RateLimited`, and `PayloadTooLarge` for more than the whole limit.
    """
    limit = call.settings.write_limit
    size = sum(len(one) if one.isascii() else len(one.encode("utf-8")) for one in values.values())
    if limit is None or not size:
        return
    if size > limit.amount:
        raise PayloadTooLarge(
            f"The values have {size} bytes. WRITE_LIMIT allows {limit.amount} at most.",
            hint="Write fewer values at once, or ask the operator to raise WRITE_LIMIT.",
        )
    if not dry_run:
        names = ("write", str(call.actor.identity_id), str(environment_id))
        call.count(limit, size, names, setting="WRITE_LIMIT", message=TOO_MUCH_WRITTEN)


def check_capacity(call: UseCaseContext, count: int) -> None:
    """Refuses more secrets than an environment may hold. Raises `PayloadTooLarge`."""
    limit = call.settings.env_max_secrets
    if count > limit:
        raise PayloadTooLarge(f"An environment holds at most {limit} secrets.")
