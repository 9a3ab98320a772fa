"""Keys of the ini and variables that look like settings and are none: the service ignores them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from difflib import get_close_matches

from secretsvc.deployment.checks.findings import Finding, fail, ok, warn
from secretsvc.kernel.errors import ServerMisconfigured
from secretsvc.kernel.release import docs_page
from secretsvc.kernel.settings import Settings, Sources
from secretsvc.kernel.workloads import workloads

NAME = "names"


def check_names(settings: Settings) -> Iterator[Finding]:
    """Unknown keys `secretsvc.…` fail; a variable one edit from a known one may belong to somebody else."""
    groups: list[Sources] = [settings]
    with suppress(ServerMisconfigured):
        groups += workloads(settings)
    keys = {one.ini or g.ini_prefix + name for g in groups for name, one in g.known().items()}
    variables = {g.variable_prefix + one.variable for g in groups for one in g.known().values()}
    amiss = [*_unknown_keys(settings, keys), *_mistyped_variables(settings, variables)]
    yield from amiss or [ok(NAME, "no unknown key, and no variable that looks like a mistyped one")]


def _unknown_keys(settings: Settings, keys: set[str]) -> Iterator[Finding]:
    for key in sorted(key for key in settings.ini if key.startswith("secretsvc.") and key not in keys):
        near = get_close_matches(key, keys, 1)
        look = f"take it out, or look at {docs_page('settings.md')}"
        advice = f"did you mean {near[0]}?" if near else look
        yield fail(NAME, f"the ini's {key} is no setting: {advice}")


def _mistyped_variables(settings: Settings, variables: set[str]) -> Iterator[Finding]:
    for variable in sorted({*settings.environ} - variables):
        near = [name for name in sorted(variables) if is_one_edit(variable, name)]
        if near:
            yield warn(NAME, f"the variable {variable} is no setting: if {near[0]} is meant, rename it")


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
