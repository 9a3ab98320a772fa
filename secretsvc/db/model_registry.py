"""The tables and migrations that packages bring to the one database: what Alembic compares and applies."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from types import ModuleType
from typing import NamedTuple

from sqlalchemy import Table

from secretsvc.db.base import Base
from secretsvc.db.schema import REVISION, SchemaRelease, newer_served


class MigrationBranch(NamedTuple):
    """The branch of one package: its folder, as Alembic takes it, its label and its newest revision."""

    location: str
    label: str
    head: str
    revisions: frozenset[str]
    #: What its revisions name by `depends_on`.
    needs: frozenset[str]


@dataclass
class ModelRegistry:
    """What the packages of one application registered."""

    tables: set[Table] = field(default_factory=set)
    branches: list[MigrationBranch] = field(default_factory=list)
    #: The names of the tables that our own migrations make.
    own: set[str] = field(default_factory=set)

    @property
    def names(self) -> set[str]:
        """The names of the tables."""
        return {table.name for table in self.tables}

    def add(self, tables: Collection[Table], branch: MigrationBranch | None) -> None:
        """Add the tables of one package, with its `branch` unless it is ours.

        Raises `ValueError` for a revision or a label that another has.
        """
        self.tables.update(tables)
        if branch is None:
            self.own.update(table.name for table in tables)
        else:
            for other in self.branches:
                taken = branch.revisions & other.revisions or {branch.label} & {other.label}
                if taken:
                    raise ValueError(
                        f"{branch.location} and {other.location} both name {min(taken)}: rename it in one"
                    )
            self.branches.append(branch)

    def is_served(self, found: Collection[str], recorded: SchemaRelease | None) -> bool:
        """Whether revisions that a database names are those that this application was written for.

        Of ours there may be newer ones, as far as what is recorded with them allows it. Alembic keeps no row
        of a revision that one with a row depends on.
        """
        newer = newer_served(found, recorded)
        present = {*found} - newer | ({REVISION} if newer else set())
        heads = {branch.label: branch.head for branch in self.branches}
        needed = {need.partition("@")[0] for branch in self.branches for need in branch.needs}
        implied = {heads.get(need, need) for need in needed}
        due = {REVISION, *heads.values()}
        return due - implied <= present <= due


def tables_of(module: ModuleType) -> set[Table]:
    """The tables over the shared metadata that a module names, be it by their models.

    Raises `ValueError` where there is none.
    """
    named = [getattr(one, "__table__", one) for one in vars(module).values()]
    found = {one for one in named if isinstance(one, Table) and one.metadata is Base.metadata}
    if not found:
        raise ValueError(f"{module.__name__} has no table: derive its models from secretsvc.db.base.Base")
    return found
