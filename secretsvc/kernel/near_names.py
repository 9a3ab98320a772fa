"""Environment variables that look like misspelt settings: the service ignores them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from secretsvc.kernel.errors import ServerMisconfigured
from secretsvc.kernel.settings import Settings, Sources
from secretsvc.kernel.workloads import workloads

#: A typing error of more edits than this is another name.
EDITS = 2
#: Single words of ours that no common program uses. Other first words, such as DATABASE, are too common.
_WORDS = {
    "ADMINS": "BOOTSTRAP_ADMINS",
    "BOOTSTRAP": "BOOTSTRAP_ADMINS",
    "DENIAL": "DENIAL_LIMIT",
    "DRAIN": "DRAIN_SECONDS",
    "OPERATIONS": "OPERATIONS_LISTEN",
    "PLAINTEXT": "PLAINTEXT_MAX_BYTES",
    "TRUSTED": "TRUSTED_PROXIES",
}


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
        meant = nearest(variable, known)
        if meant is not None:
            yield variable, meant


def nearest(variable: str, known: set[str]) -> str | None:
    """Return the setting that a variable was probably meant to be, None for a name of another program."""
    if variable in _WORDS:
        return _WORDS[variable]
    found = [(_distance(variable, name), name) for name in known]
    return min((pair for pair in found if pair[0] <= EDITS), default=(0, None))[1]


def _distance(variable: str, name: str) -> int:
    """Return the number of edits, counting a beginning and a singular as one; 3 stands for any more."""
    begins = "_" in variable and name.startswith(f"{variable}_")
    if begins or (variable.endswith("Y") and f"{variable[:-1]}IES" == name):
        return 1
    if abs(len(variable) - len(name)) > EDITS:
        return EDITS + 1
    count = edits(variable, name)
    words, names = variable.split("_"), name.split("_")
    if count == EDITS and len(words) == len(names):
        # MASTER_PEM is no misspelt MASTER_KEY: more than half of a word is another.
        pairs = zip(words, names, strict=True)
        return EDITS + any(edits(word, other) * 2 > len(other) for word, other in pairs)
    return count


def edits(one: str, other: str) -> int:
    """Return how many letters more, less, other, or swapped with their neighbour make one the other."""
    before: list[int] = []
    row: list[int] = [*range(len(other) + 1)]
    for i, letter in enumerate(one, 1):
        earlier, before = before, row
        row = [i]
        for j, its in enumerate(other, 1):
            best = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != its))
            if i > 1 and j > 1 and letter == other[j - 2] and its == one[i - 2]:
                best = min(best, earlier[j - 2] + 1)
            row.append(best)
    return row[-1]
