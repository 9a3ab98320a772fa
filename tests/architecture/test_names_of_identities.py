"""Pages get the names of identities from one module, which never leaves the subject out (contract 17.1)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "secretsvc"
MODULE = PACKAGE / "kernel" / "display_names.py"
#: A name that stands in for the subject, in Python, SQL or a template.
INSTEAD = re.compile(r"display_name\b[\w.\[\]\"']* or\b(?! '')|coalesce\([^)]*display_name")
#: What templates do with a display name themselves: the field that changes it.
FIELD = re.compile(r"name 'display_name'|initial identity\.display_name or ''")


def offences(path: Path) -> list[str]:
    """The lines of a file that make a name of a display name."""
    text = path.read_text(encoding="utf-8")
    found = [one.group() for one in INSTEAD.finditer(text)]
    if path.suffix == ".pt":
        found += [line for line in text.splitlines() if "display_name" in FIELD.sub("", line)]
    return found


@pytest.mark.parametrize(
    "line",
    [
        "name = row.display_name or row.subject",
        'row["display_name"] or subject',
        "func.coalesce(identity.c.display_name, identity.c.subject)",
    ],
)
def test_what_puts_a_name_instead_of_a_subject_is_seen(tmp_path, line):
    path = tmp_path / "one.py"
    path.write_text(line)
    assert offences(path)


def test_no_module_or_template_puts_a_display_name_instead_of_a_subject():
    files = [*PACKAGE.rglob("*.py"), *PACKAGE.rglob("*.pt")]
    found = {str(path.relative_to(PACKAGE)): offences(path) for path in files if path != MODULE}
    assert {name: lines for name, lines in found.items() if lines} == {}
