"""What it takes to bring values of one state into an environment (contract 5.4 and 5.5)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from secretsvc.kernel.errors import Conflict
from secretsvc.kernel.use_case import UseCaseContext
from secretsvc.projects.rules import EnvironmentRow
from secretsvc.secrets.queries.comparison import Contents
from secretsvc.secrets.queries.contents import read_entries
from secretsvc.secrets.queries.decryption import open_differing
from secretsvc.secrets.queries.key_rows import KeyRow
from secretsvc.secrets.queries.plan import Plan
from secretsvc.secrets.write.limits import check_capacity, check_values

OVERWRITE, SKIP, REFUSE = "overwrite", "skip", "refuse"


def plan_copy(
    call: UseCaseContext,
    environment: EnvironmentRow,
    known: Mapping[str, KeyRow],
    taken: Contents,
    *,
    existing: str = OVERWRITE,
) -> Plan:
    """The plan that writes the values of `taken` wherever the environment lacks them or has another.

    All are opened, also those that turn out to be there already; what cannot be opened in the environment
    itself counts as differing. Raises `Conflict` where something that differs must stay, `PayloadTooLarge`,
    `DecryptFailed`, `UnknownKid`, `Unavailable`.
    """
    present = read_entries(call, environment).entries
    left_alone = present.keys() if existing == SKIP else same_versions(environment, known, taken)
    values, origins = open_differing(call, taken, environment.id, present, left_alone)
    overwritten = sorted(values.keys() & present.keys())
    if existing == REFUSE and overwritten:
        count = len(overwritten)
        raise Conflict(f"It would overwrite values that differ: that of {overwritten[0]}, one of {count}.")
    check_values(call, values)
    return Plan(values, descriptions=descriptions_of(environment, known, taken, values), origins=origins)


def replacing(call: UseCaseContext, plan: Plan, known: Mapping[str, KeyRow], taken: Contents) -> Plan:
    """The plan, which also removes whatever `taken` lacks. Raises `PayloadTooLarge`."""
    if plan.values:
        check_capacity(call, len(taken.entries))
    return replace(plan, removals=known.keys() - taken.entries.keys())


def same_versions(environment: EnvironmentRow, known: Mapping[str, KeyRow], taken: Contents) -> set[str]:
    """The keys that are there at the very version: equal, whether or not it can be opened."""
    if taken.id != environment.id:
        return set()
    return {
        key
        for key, one in taken.entries.items()
        if key in known and not known[key].deleted and known[key].version == one.version
    }


def descriptions_of(
    environment: EnvironmentRow,
    known: Mapping[str, KeyRow],
    taken: Contents,
    written: Collection[str],
) -> dict[str, str | None]:
    """The descriptions that go along with what is written.

    Within one environment a key has the one that it has, or had when it was deleted (contract 5.6).
    """
    if taken.id == environment.id:
        return {key: known[key].description for key in written}
    return {key: taken.entries[key].description for key in written}
