"""Addresses of projects and environments, in their canonical and their short spelling."""

from __future__ import annotations

from secretsvc.kernel.authorization import ScopePath, ScopeType
from secretsvc.web.config import ServiceConfigurator
from secretsvc.web.schema import Slug
from secretsvc.web.tree import Node, Root


class SlugNode(Node):
    """A node that a slug names."""

    grammar_type = Slug()


class Environment(SlugNode):
    """`…/environments/{env}`."""

    parameter = "env"
    scope = ScopeType.ENVIRONMENT

    @property
    def address(self) -> ScopePath:
        """The environment's own scope."""
        parent = super().address
        return ScopePath(parent.project, self.__name__)


class Environments(Node):
    """`…/environments`."""

    member = Environment


class Project(SlugNode):
    """`/projects/{project}`."""

    parameter = "project"
    scope = ScopeType.PROJECT

    @property
    def address(self) -> ScopePath:
        """The project's own scope."""
        return ScopePath(self.__name__)


class Projects(Node):
    """`/projects`."""

    member = Project


class ShortEnvironments(Node):
    """`/p/{project}/e`: its members are the canonical nodes, so that no answer depends on the spelling."""

    def child(self, name: str) -> Node:
        """The environment at its canonical address."""
        root = next(node for node in self.lineage() if isinstance(node, Root))
        project = self.__parent__.__name__ if self.__parent__ else ""
        projects = Projects(root, "projects", self.tree)
        environments = Environments(Project(projects, project, self.tree), "environments", self.tree)
        return Environment(environments, name, self.tree)


class ShortProject(Node):
    """`/p/{project}`: nothing in itself (contract 3.1)."""


class ShortProjects(Node):
    """`/p`: nothing in itself."""

    member = ShortProject


def includeme(config: ServiceConfigurator) -> None:
    config.add_tree_child(Root, "projects", Projects)
    config.add_tree_child(Project, "environments", Environments)
    config.add_tree_child(Root, "p", ShortProjects)
    config.add_tree_child(ShortProject, "e", ShortEnvironments)
