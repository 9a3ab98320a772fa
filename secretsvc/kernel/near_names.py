"""Environment variables that look like misspelt settings: the service ignores them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from secretsvc.kernel.errors import ServerMisconfigured
from secretsvc.kernel.settings import Settings, Sources
from secretsvc.kernel.workloads import workloads


def setting_groups(settings: Settings) -> list[Sources]:
    """Return the settings and those of each workload issuer that is named."""
    groups: list[Sources] = [settings]
    with suppress(ServerMisconfigured):
        groups += workloads(settings)
    return groups


def near_variables(settings: Settings) -> Iterator[tuple[str, str]]:
    """Return each variable that is no setting but close to one, with the name of that setting."""
    groups = setting_groups(settings)
    known = {group.variable_prefix + one.variable for group in groups for one in group.known().values()}
    for variable in sorted({*settings.environ} - known):
        near = [name for name in sorted(known) if is_one_edit(variable, name)]
        if near:
            yield variable, near[0]


def is_one_edit(one: str, other: str) -> bool:
    """Whether a letter more, less, other, or two neighbours in each other's places, make one the other."""
    if len(one) > len(other):
        one, other = other, one
    same = next((at for at, letter in enumerate(one) if letter != other[at]), len(one))
    rest, others = one[same:], other[same:]
    if len(one) < len(other):
        return rest == others[1:]
    swapped = others[1::-1] + others[2:]
    return bool(rest) and (rest[1:] == others[1:] or rest == swapped)
