"""Reading the migrations of packages. Alembic takes an eighth of a second to import."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from types import ModuleType

from alembic.script import ScriptDirectory
from alembic.util import coerce_resource_to_filename, load_python_file, to_tuple
from sqlalchemy import Connection

from secretsvc.db.model_registry import MigrationBranch
from secretsvc.db.schema import SchemaRelease, is_ours, recorded, schema_release


def read_migrations(location: str) -> MigrationBranch:
    """The branch in a folder, `package:folder`. Raises `ValueError` for what is no branch of its own."""
    modules = [*_modules(Path(coerce_resource_to_filename(location)))]
    first = [one for one in modules if one.down_revision is None]
    if len(first) != 1:
        raise ValueError(
            f"{location} has {len(first)} first migrations: give one of them down_revision = None, and let"
            " depends_on name what it needs of others"
        )
    label = to_tuple(getattr(first[0], "branch_labels", None), ())
    if len(label) != 1:
        raise ValueError(
            f"{location}: migration {first[0].revision} has no branch label of its own: give it"
            f' branch_labels = ("{location.partition(":")[0]}",)'
        )
    revisions = frozenset(str(one.revision) for one in modules)
    before = {str(one) for module in modules for one in to_tuple(module.down_revision, ())}
    _check(location, revisions, before)
    needs = frozenset(one for module in modules for one in to_tuple(getattr(module, "depends_on", None), ()))
    return MigrationBranch(location, label[0], min(revisions - before), revisions, needs)


def add_branches(script: ScriptDirectory, branches: Iterable[MigrationBranch]) -> None:
    """Has Alembic find the branches of packages, which lie in their own folders, beside ours.

    It must not have read a script before.
    """
    ours = script.version_locations or [str(Path(script.dir, "versions"))]
    script.version_locations = [*ours, *(branch.location for branch in branches)]


def oldest_release(script: ScriptDirectory, revision: str) -> str | None:
    """The oldest release that may serve the schema after a migration of ours; None before any said so.

    One that only adds names none, and so can raise none.
    """
    for one in script.iterate_revisions(revision, "base"):
        named: str | None = getattr(one.module, "oldest_release", None)
        if named is not None and is_ours(one.revision):
            return named
    return None


def record_release(connection: Connection, script: ScriptDirectory, heads: Collection[str]) -> None:
    """Writes down which releases may serve the schema that has been migrated to `heads`."""
    passed = {one.revision for head in heads for one in script.iterate_revisions(head, "base")}
    newest = max((one for one in passed if is_ours(one)), default="")
    oldest = oldest_release(script, newest) if newest else None
    if oldest is None or recorded(connection) == SchemaRelease(newest, oldest):
        return
    connection.execute(schema_release.delete())
    connection.execute(schema_release.insert(), {"revision": newest, "oldest_release": oldest})


def _check(location: str, revisions: frozenset[str], before: set[str]) -> None:
    strange, heads = before - revisions, revisions - before
    if strange:
        raise ValueError(f"{location}: nothing there is {min(strange)}, which a down_revision names")
    if len(heads) != 1:
        raise ValueError(f"{location} ends in {', '.join(sorted(heads))}: make them one by `alembic merge`")
    ours = sorted(one for one in revisions if is_ours(one))
    if ours:
        raise ValueError(f"{location}: revision {ours[0]} is of secretsvc's own kind: give it another name")


def _modules(folder: Path) -> Iterator[ModuleType]:
    for path in sorted(folder.glob("*.py")):
        module = load_python_file(folder, path.name)
        if hasattr(module, "revision"):
            yield module
