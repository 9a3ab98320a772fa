"""Keys of the ini and variables that look like settings and are none: the service ignores them."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches

from secretsvc.deployment.checks.findings import Finding, fail, ok
from secretsvc.kernel.near_names import near_variables, setting_groups
from secretsvc.kernel.release import docs_page
from secretsvc.kernel.settings import Settings

NAME = "names"


def check_names(settings: Settings) -> Iterator[Finding]:
    """Fail for each key `secretsvc.…` and each variable that is probably a misspelt setting."""
    groups = setting_groups(settings)
    keys = {one.ini or g.ini_prefix + name for g in groups for name, one in g.known().items()}
    amiss = [*_unknown_keys(settings, keys), *_near_variables(settings)]
    yield from amiss or [ok(NAME, "no unknown key, and no variable that looks like a misspelt one")]


def _unknown_keys(settings: Settings, keys: set[str]) -> Iterator[Finding]:
    for key in sorted(key for key in settings.ini if key.startswith("secretsvc.") and key not in keys):
        near = get_close_matches(key, keys, 1)
        look = f"take it out, or look at {docs_page('settings.md')}"
        advice = f"did you mean {near[0]}?" if near else look
        yield fail(NAME, f"the ini's {key} is no setting: {advice}")


def _near_variables(settings: Settings) -> Iterator[Finding]:
    for variable, meant in near_variables(settings):
        advice = f"rename it if {meant} is meant, else keep it out of the service's environment"
        yield fail(NAME, f"the variable {variable} is no setting: {advice}")
