"""The ways to pages: entries of the sidebar, the tabs of a node, breadcrumbs, and links on errors."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from functools import partial
from typing import NamedTuple, TypeVar

from pyramid.config import Configurator
from pyramid.exceptions import ConfigurationError

from secretsvc.kernel.authorization import Role
from secretsvc.web.registration import check_function, declare
from secretsvc.web.request import ServiceRequest
from secretsvc.web.tree import N, node_class
from secretsvc.web.views import ANY_IDENTITY, check_role

#: The parts of the navigation, in the order in which they stand in the sidebar.
MAIN, ORGANISATION = SECTIONS = ("main", "organisation")


class Link(NamedTuple):
    """An entry of the navigation."""

    order: int
    label: str
    path: str
    role: Role | str
    icon: str
    section: str


class ErrorLink(NamedTuple):
    """A link on the page of an error; its path is made of the request and the id that it is logged under."""

    label: str
    path: Callable[[ServiceRequest, str], str]
    role: Role | str


class Tab(NamedTuple):
    """One of the pages of a node: a view of it, or a page elsewhere that is about it."""

    order: int
    label: str
    name: str
    role: Role | str
    elsewhere: Callable[..., str] | None
    icon: str


Entry = TypeVar("Entry", Link, Tab)


class Crumb(NamedTuple):
    """A step on the way to what is shown."""

    label: str
    path: str


def add_navigation(
    config: Configurator,
    label: str,
    path: str,
    *,
    role: Role | str = ANY_IDENTITY,
    order: int = 100,
    icon: str = "circle",
    section: str = ORGANISATION,
) -> None:
    """Directive: an entry of the shell's navigation, for those who hold the role at global scope.

    Entries of a section, `main` or `organisation`, stand in ascending `order`; the built-in ones are 10 to
    70. `icon` is a symbol of the sprite. Two of one path conflict.
    """
    if section not in SECTIONS:
        raise ConfigurationError(f"The navigation has no section {section!r}: name one of {SECTIONS}.")
    check_role(f"navigation {path}", role)
    link = Link(order, label, path, role, icon, section)
    declare(config, "navigation", path, partial(_insert, config.registry.navigation, link))


def add_tab(
    config: Configurator,
    label: str,
    *,
    context: type[N] | str,
    name: str = "",
    role: Role | str,
    elsewhere: Callable[[N], str] | None = None,
    order: int = 100,
    icon: str = "circle",
) -> None:
    """Directive: one of the pages of a node, shown as a tab to those who hold the role there.

    The tabs of a project stand in the sidebar, with a symbol of the sprite. A tab is a view of the node, by
    its name, or, with `elsewhere`, a path made of the node. Two of one label conflict.
    """
    node = node_class(config, context)
    check_role(f"tab {label}", role)
    tab = Tab(order, label, name, role, elsewhere, icon)
    declare(config, "tab", label, partial(_insert, config.registry.tabs[node], tab), within=node)


def _insert(entries: list[Entry], entry: Entry) -> None:
    """By `order`, then by label."""
    entries.append(entry)
    entries.sort(key=lambda one: (one.order, one.label))


def add_error_link(
    config: Configurator, label: str, path: Callable[[ServiceRequest, str], str], *, role: Role | str
) -> None:
    """Directive: a link on the page of an error, for those who hold the role at global scope.

    Its path is made of the request and the request's id. Two of one label conflict.
    """
    check_function(f"error link {label}", path)
    check_role(f"error link {label}", role)
    link = ErrorLink(label, path, role)
    declare(config, "error link", label, partial(config.registry.error_links.append, link))


def includeme(config: Configurator) -> None:
    config.registry.navigation = []
    config.registry.tabs = defaultdict(list)
    config.registry.error_links = []
    config.add_directive("add_navigation", add_navigation)
    config.add_directive("add_tab", add_tab)
    config.add_directive("add_error_link", add_error_link)
