"""The shell around every page: navigation, breadcrumbs, and what templates may ask. It does no I/O."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import cached_property
from typing import NamedTuple
from urllib.parse import urlencode

from pyramid.config import Configurator
from pyramid.renderers import get_renderer

from secretsvc.kernel.authorization import GLOBAL, Address, Role, administered, decide, sees
from secretsvc.web.declaring import declare
from secretsvc.web.forms import CSRF_FIELD, Form, form_token, shown
from secretsvc.web.query import parse_query
from secretsvc.web.request import ServiceRequest, call_of
from secretsvc.web.tree import PAGES, Node
from secretsvc.web.views import ADMIN_SOMEWHERE, ANY_IDENTITY, VISIBLE

#: What is done by forms of any package, by the word in the URL that they lead on to.
DONE = {
    "created": "Created.",
    "saved": "Saved.",
    "deleted": "Deleted.",
    "removed": "Removed.",
    "added": "Added.",
    "unchanged": "Nothing had to be changed.",
}
#: A mask tells nothing of the length of what it hides.
MASK = "••••••••"


class Link(NamedTuple):
    """An entry of the navigation."""

    order: int
    label: str
    path: str
    role: Role | str


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


class Crumb(NamedTuple):
    """A step on the way from the root; a node without a page of its own has no path."""

    label: str
    path: str | None


def macros(name: str) -> object:
    """The macros of one of the shell's templates: `shell`, or `forms`."""
    return get_renderer(f"secretsvc.web:templates/{name}.pt").implementation().macros


class Shell:
    """What a template may ask, as `ui`."""

    token_field = CSRF_FIELD
    mask = MASK
    shown = staticmethod(shown)

    def __init__(self, request: ServiceRequest, context: object) -> None:
        self.request = request
        self.context = context if isinstance(context, Node) else None
        #: None on the error page of a request that nobody was proven to have sent.
        self.call = request.call
        self._admitted = call_of(request) is not None

    @property
    def form(self) -> Form:
        """What was typed into the page's form, and what was wrong with it."""
        return self.request.form

    @cached_property
    def token(self) -> str:
        """The token of the caller's forms."""
        return form_token(self.call.ring, self.call.actor, self.call.now)

    @property
    def navigation(self) -> Iterator[Link]:
        """The entries that the caller may follow."""
        if not self._admitted:
            return iter(())
        return (link for link in self.request.registry.navigation if self._holds(link.role, GLOBAL))

    def is_current(self, link: Link) -> bool:
        """Whether the page shown lies under an entry."""
        here = self.path(*filter(None, [self.request.view_name])) if self.context is not None else ""
        return here == link.path or (link.path != "/" and here.startswith(f"{link.path}/"))

    @property
    def tabs(self) -> list[Tab]:
        """The pages of the node shown, or of the nearest above it that has tabs, that the caller may open."""
        if self._tabbed_node is None:
            return []
        at = self._tabbed_node.address
        return [
            tab for tab in self.request.registry.tabs[type(self._tabbed_node)] if self._holds(tab.role, at)
        ]

    def tab_path(self, tab: Tab) -> str:
        """Where a tab leads."""
        if tab.elsewhere is not None:
            return tab.elsewhere(self._tabbed_node)
        base: str = self._tabbed_node.path(PAGES) if self._tabbed_node is not None else "/"
        return f"{base}/{tab.name}" if tab.name else base

    @cached_property
    def _tabbed_node(self) -> Node | None:
        lineage = self.context.lineage() if self.context is not None else ()
        return next((node for node in lineage if type(node) in self.request.registry.tabs), None)

    @property
    def crumbs(self) -> list[Crumb]:
        """The way from the root to the page's node, the root left out."""
        if self.context is None:
            return []
        return [self._crumb(node) for node in reversed([*self.context.lineage()][:-1])]

    @property
    def done(self) -> str | None:
        """What the form did that led here."""
        if self.context is None:
            return None
        told: str | None = self.request.registry.done.get(self.query.get("done", ""))
        return told

    @cached_property
    def query(self) -> dict[str, str]:
        """The parameters of the URL."""
        return parse_query(self.request.environ)

    def with_query(self, path: str, **changes: object) -> str:
        """A URL of a path with the present parameters and some changes; None takes one away."""
        kept = {name: value for name, value in self.query.items() if name != "done"}
        merged = {name: value for name, value in (kept | changes).items() if value is not None}
        return f"{path}?{urlencode(merged)}" if merged else path

    def path(self, *names: object) -> str:
        """The path of the page's node, and of what hangs below it."""
        base = self.context.path(PAGES) if self.context is not None else "/"
        return "/".join([base.rstrip("/"), *map(str, names)]) or "/"

    def may(self, role: str) -> bool:
        """Whether the caller holds the role at the page's scope, or is what the word says."""
        return self._holds(role, self.context.address if self.context is not None else GLOBAL)

    def asset(self, spec: str) -> str:
        """The path of a static file, `package:path`."""
        path: str = self.request.static_path(spec)
        return path

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

    @staticmethod
    def time(moment: int) -> str:
        """Epoch milliseconds as people read them, in UTC."""
        return _moment(moment).strftime("%Y-%m-%d %H:%M UTC")

    @staticmethod
    def iso(moment: int) -> str:
        """Epoch milliseconds as machines read them, in UTC."""
        return _moment(moment).isoformat(timespec="milliseconds")

    @staticmethod
    def typed(text: str) -> str:
        """Text as the content of a text area, whose first line break a browser would swallow."""
        return f"\n{text}"

    def _holds(self, role: str, at: Address) -> bool:
        if role == ANY_IDENTITY:
            return True
        if role == VISIBLE:
            return sees(self.call.snapshot, at)
        if role == ADMIN_SOMEWHERE:
            return next(administered(self.call.snapshot), None) is not None
        held = decide(self.call.snapshot, at)
        return held is not None and held.implies(Role(role))

    def _crumb(self, node: Node) -> Crumb:
        label = node.__name__ if node.parameter else node.__name__.replace("-", " ").capitalize()
        has_page = type(node) in self.request.registry.pages
        return Crumb(label, node.path(PAGES) if has_page else None)


def _moment(milliseconds: int) -> datetime:
    """The last moment that a calendar has, where a time lies beyond it."""
    try:
        return datetime.fromtimestamp(milliseconds / 1000, UTC)
    except (ValueError, OverflowError, OSError):
        return datetime.max.replace(tzinfo=UTC)


def add_done(config: Configurator, word: str, text: str) -> None:
    """Directive: what a page says where a form led on to it with `?done=word`. Two of one word conflict."""

    def register() -> None:
        config.registry.done[word] = text

    declare(config, "done", word, register)


def add_error_link(
    config: Configurator, label: str, path: Callable[[ServiceRequest, str], str], *, role: Role | str
) -> None:
    """Directive: a link on the page of an error, for those who hold the role at global scope.

    Its path is made of the request and the request's id. Two of one label conflict.
    """
    links = config.registry.error_links

    def register() -> None:
        links.append(ErrorLink(label, path, role))

    declare(config, "error link", label, register)


def includeme(config: Configurator) -> None:
    """Registers the directives, and the words of every package."""
    config.registry.done = {}
    config.registry.error_links = []
    config.add_directive("add_done", add_done)
    config.add_directive("add_error_link", add_error_link)
    for word, text in DONE.items():
        config.add_done(word, text)
