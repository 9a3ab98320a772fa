"""docs/operations/upgrade.md: every version and every migration has its notes, and they are so."""

from __future__ import annotations

import re
from pathlib import Path

from alembic.config import Config
from alembic.script import ScriptDirectory

from secretsvc.db.migrations import oldest_release
from secretsvc.db.schema import REVISION

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "operations" / "upgrade.md").read_text("utf-8")
CHANGELOG = (ROOT / "CHANGELOG.md").read_text("utf-8")
#: What the notes of a version have at least.
PARTS = ("Must be done", "Migration", "Oldest release that may serve after it")


def without_notes(changelog: str, page: str) -> list[str]:
    """The versions of the one that the other has no notes of, or only part of them."""
    notes = page.partition("\n## Notes by version\n")[2].partition("\n## ")[0]
    told = dict(re.findall(r"(?ms)^### (\S+)[^\n]*\n(.*?)(?=^### |\Z)", notes))
    versions = re.findall(r"(?m)^## \[?([^\s\]]+)", changelog)
    assert versions
    return [one for one in versions if any(part not in told.get(one, "") for part in PARTS)]


def test_every_version_of_the_changelog_has_its_notes() -> None:
    assert without_notes(CHANGELOG, PAGE) == []


def test_every_migration_is_told_with_the_oldest_release_that_may_serve_after_it() -> None:
    scripts = ScriptDirectory.from_config(Config(ROOT / "production.ini"))
    migrations = [one.revision for one in scripts.walk_revisions() if len(one.revision) == len(REVISION)]
    code = {one: oldest_release(scripts, one) or "not told" for one in migrations}
    told = re.findall(r"(?m)^\| `(\d{4})` \|.*\| ([^|]+) \|$", PAGE)
    assert dict(told) == code
    assert len(told) == len(code)


def test_the_rule_of_notes_can_fail() -> None:
    notes = f"### 1.0.0\n\n{', '.join(PARTS)}\n\n### 1.1.0\n\nMust be done\n\n## Another\n"
    changelog = "## Unreleased\n\n## 1.1.0\n\n## [1.0.0] of today\n"
    assert without_notes(changelog, f"\n## Notes by version\n\n{notes}") == ["Unreleased", "1.1.0"]
