"""The layout of every page: navigation, tabs, breadcrumbs, and paths. It does no I/O."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from urllib.parse import urlencode

from pyramid.renderers import get_renderer

from secretsvc.kernel.authorization import GLOBAL, ScopePath, ScopeType
from secretsvc.kernel.sidebar_project import SidebarProject
from secretsvc.web.pages.formatting import Formatting
from secretsvc.web.pages.navigation import Crumb, ErrorLink, Link, Tab
from secretsvc.web.pages.page_form import PageForm
from secretsvc.web.query import parse_query, with_query
from secretsvc.web.request import ServiceRequest, call_of
from secretsvc.web.tree import PAGES, Node
from secretsvc.web.views import ADMIN_SOMEWHERE, ANY_IDENTITY, permits


def macros(name: str) -> object:
    """The macros of one of the shell's templates: `shell`, `forms` or `parts`."""
    return get_renderer(f"secretsvc.web:templates/{name}.pt").implementation().macros


class PageLayout(Formatting, PageForm):
    """What templates know as `ui`: the layout of a page, with formatting and its form."""

    def __init__(self, request: ServiceRequest, context: object) -> None:
        self.request = request
        self.context = context if isinstance(context, Node) else None
        #: None on the error page of a request that nobody was proven to have sent.
        self.call = request.call
        self._admitted = call_of(request) is not None

    @property
    def view_name(self) -> str:
        """The name of the page's view below its node, "" for the node's own."""
        name: str = self.request.view_name if self.context is not None else ""
        return name

    @property
    def sidebar_project(self) -> SidebarProject | None:
        """The project that the page lies in; the page of an error tells of none."""
        return self.request.sidebar_project if self.context is not None else None

    @property
    def environment_slug(self) -> str | None:
        """The environment that the page lies in."""
        return self.context.address.environment if self.context is not None else None

    def navigation(self, section: str) -> list[Link]:
        """The entries of a section that the caller may follow; on a public page, those that anybody may."""
        links = [link for link in self.request.registry.navigation if link.section == section]
        if not self._admitted:
            # The page of an error tells of nothing.
            return [link for link in links if self.context is not None and link.role == ANY_IDENTITY]
        return [link for link in links if self._holds(link.role, GLOBAL)]

    def is_current(self, link: Link) -> bool:
        """Whether the page shown lies under an entry; what lies in a project is marked there."""
        if self.context is None or self.sidebar_project is not None:
            return False
        here = self.path(*filter(None, [self.view_name]))
        return here == link.path or (link.path != "/" and here.startswith(f"{link.path}/"))

    @property
    def project_tabs(self) -> list[Tab]:
        """The pages of the project that the page lies in."""
        return self._tabs_of(self._project)

    @property
    def tabs(self) -> list[Tab]:
        """The pages of the node shown, or of the nearest above it that has tabs, where that is no project."""
        return self._tabs_of(self._tabbed) if self._tabbed is not self._project else []

    def tab_path(self, tab: Tab, *, project: bool = False) -> str:
        """Where a tab of the node shown, or of its project, leads."""
        node = self._project if project else self._tabbed
        if tab.elsewhere is not None:
            return tab.elsewhere(node)
        base: str = node.path(PAGES) if node is not None else "/"
        return f"{base}/{tab.name}" if tab.name else base

    def is_shown(self, tab: Tab, *, project: bool = False) -> bool:
        """Whether a tab is the page shown."""
        node = self._project if project else self._tabbed
        return node is self.context and not tab.elsewhere and tab.name == self.view_name

    def _tabs_of(self, node: Node | None) -> list[Tab]:
        if node is None:
            return []
        tabs: list[Tab] = self.request.registry.tabs[type(node)]
        return [tab for tab in tabs if self._holds(tab.role, node.address)]

    @cached_property
    def _tabbed(self) -> Node | None:
        return next((node for node in self._lineage if type(node) in self.request.registry.tabs), None)

    @cached_property
    def _project(self) -> Node | None:
        return next((node for node in self._lineage if node.scope is ScopeType.PROJECT), None)

    @cached_property
    def _lineage(self) -> list[Node]:
        return [*self.context.lineage()] if self.context is not None else []

    def crumbs(self, *, deep: bool) -> list[Crumb]:
        """The way to what is deeper than a tab; `deep` where that is no node of its own, as a review."""
        if self.context is None or (self.context is self._tabbed and not deep):
            return []
        above = self._lineage if deep else self._lineage[1:]
        return [*filter(None, map(self._crumb, reversed(above)))]

    @property
    def done(self) -> str | None:
        """The flash message of the form that led here."""
        if self.context is None:
            return None
        word, *details = self.query.get("done", "").split(".")
        text = self.request.registry.done.get(word)
        message: str | None = text(self, details) if callable(text) else text
        return message

    @cached_property
    def query(self) -> dict[str, str]:
        """The parameters of the URL."""
        return parse_query(self.request.environ)

    def with_query(self, path: str, **changes: object) -> str:
        """A URL of a path with the present parameters and some changes; None takes one away."""
        return with_query(path, self.query, **changes)

    @staticmethod
    def link(path: str, **parameters: str) -> str:
        """A URL of a path with parameters of its own."""
        return f"{path}?{urlencode(parameters)}"

    def path(self, *names: object) -> str:
        """The path of the page's node, and of what hangs below it."""
        base = self.context.path(PAGES) if self.context is not None else "/"
        return "/".join([base.rstrip("/"), *map(str, names)]) or "/"

    def may(self, role: str) -> bool:
        """Whether the caller holds the role at the page's scope, or is what the word says."""
        return self._holds(role, self.context.address if self.context is not None else GLOBAL)

    @property
    def administers(self) -> bool:
        """Whether the caller is an admin at any scope."""
        return self._admitted and self.may(ADMIN_SOMEWHERE)

    @property
    def error_links(self) -> Iterator[ErrorLink]:
        """What leads on from an error, for those who may follow it."""
        if not self._admitted:
            return iter(())
        return (link for link in self.request.registry.error_links if self._holds(link.role, GLOBAL))

    def _holds(self, role: str, at: ScopePath) -> bool:
        return role == ANY_IDENTITY or permits(self.call.snapshot, role, at)

    def _crumb(self, node: Node) -> Crumb | None:
        """None for what has no page, or only leads into a project."""
        if node.__parent__ is None or type(node) not in self.request.registry.pages:
            return None
        if node.scope is not None and self.sidebar_project is not None:
            environment = self.sidebar_project.environment(node.address.environment)
            return Crumb(environment.name if environment else self.sidebar_project.name, node.path(PAGES))
        label = next(
            (link.label for link in self.request.registry.navigation if link.path == node.path(PAGES)), None
        )
        return Crumb(label, node.path(PAGES)) if label and self.sidebar_project is None else None
