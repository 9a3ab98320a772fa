"""The resource tree: nodes are addresses and do no I/O, whatever their names name.

One traverser serves every mount. A segment is a child's name, with a verb behind a colon where a view
of that name is registered for the child (`secrets:batch`, `KEY:reveal`); a last segment that is no
child is a view name. Whatever else is left over is not found: there are no subpaths.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import partial
from typing import ClassVar, NamedTuple, TypeVar
from uuid import UUID

import colander
from pyramid.config import Configurator
from pyramid.exceptions import ConfigurationError
from pyramid.interfaces import ITraverser
from pyramid.request import Request
from pyramid.traversal import ResourceTreeTraverser
from zope.interface import implementer

from secretsvc.kernel.authorization import GLOBAL, ScopePath, ScopeType
from secretsvc.kernel.errors import Issue, NotFound
from secretsvc.web.registration import declare
from secretsvc.web.types import Anything, Identifier, Type, json_schema_of

API = "api"
PAGES = "pages"
MOUNTS = {API: "/api/v1/", PAGES: "/"}
# Pyramid's own `*traverse` matches no path with a newline in it.
_REST = "{traverse:(?s:.*)}"


class Tree:
    """What the configuration adds to the tree: fixed children and verbs, by node class."""

    def __init__(self) -> None:
        self.children: dict[type[Node], dict[str, type[Node]]] = defaultdict(dict)
        self.verbs: dict[type[Node], set[str]] = defaultdict(set)


class Node:
    """A node of the tree. Subclasses with a `parameter` are named by the client."""

    parameter: ClassVar[str | None] = None
    grammar_type: ClassVar[Type] = Anything()
    member: ClassVar[type[Node] | None] = None
    #: Of a node whose own address is a scope.
    scope: ClassVar[ScopeType | None] = None
    __parent__: Node | None
    __name__: str

    def __init__(self, parent: Node | None, name: str, tree: Tree) -> None:
        self.__parent__, self.__name__, self.tree = parent, name, tree

    @property
    def address(self) -> ScopePath:
        """The scope that the node lies in."""
        return self.__parent__.address if self.__parent__ is not None else GLOBAL

    def problem(self) -> str | None:
        """What is wrong with the client's name for this node, None if nothing."""
        try:
            self.grammar_type.deserialize(None, self.__name__)
        except colander.Invalid as error:
            return str(error.msg)
        return None

    def child(self, name: str) -> Node | None:
        """The node of that name, whether or not such a thing exists."""
        fixed = self.tree.children[type(self)].get(name)
        if fixed is not None:
            return fixed(self, name, self.tree)
        return self.member(self, name, self.tree) if self.member is not None else None

    def lineage(self) -> Iterator[Node]:
        """This node, its parent, and so on to the root."""
        node: Node | None = self
        while node is not None:
            yield node
            node = node.__parent__

    def issues(self) -> tuple[Issue, ...]:
        """Path parameters outside their grammar, outermost first (contract 2)."""
        found = [
            Issue(node.parameter, problem)
            for node in self.lineage()
            if node.parameter and (problem := node.problem())
        ]
        return tuple(reversed(found))

    def path(self, mount: str = API) -> str:
        """The canonical path under a mount, whatever spelling the request used."""
        names = [node.__name__ for node in self.lineage()][:-1]
        return MOUNTS[mount] + "/".join(reversed(names))

    def template(self, view_name: str = "") -> str:
        """The path of a view of such nodes, with what clients name in braces: `/projects/{project}`."""
        nodes = [*self.lineage()][-2::-1]
        path = "".join(f"/{{{node.parameter}}}" if node.parameter else f"/{node.__name__}" for node in nodes)
        below = view_name if view_name.startswith(":") or not view_name else f"/{view_name}"
        return path + below or "/"


N = TypeVar("N", bound=Node)


class IdNode(Node):
    """A node that an id names."""

    grammar_type = Identifier()

    @property
    def id(self) -> UUID:
        """The id. Raises ValueError for a name outside the grammar, which no view gets to see."""
        return UUID(self.__name__)


class Root(Node):
    """The root of every mount."""


class Resolved(NamedTuple):
    """Where a path leads: a node and the name of a view, `""` for the node's own."""

    node: Node
    view_name: str


def resolve(root: Node, path: str) -> Resolved:
    """Walks a decoded path below a mount. Raises `NotFound` for what no URL of ours holds."""
    node = root
    segments = path.split("/") if path else []
    for index, segment in enumerate(segments):
        if segment in ("", ".", "..") or segment.startswith("@@"):
            raise NotFound()
        child, verb = _step(node, segment)
        if child is not None and not verb:
            node = child
            continue
        if index + 1 < len(segments):
            raise NotFound()
        return Resolved(node, segment) if child is None else Resolved(child, f":{verb}")
    return Resolved(node, "")


def _step(node: Node, segment: str) -> tuple[Node | None, str]:
    name, colon, verb = segment.rpartition(":")
    if colon:
        child = node.child(name)
        if child is not None and verb in child.tree.verbs[type(child)]:
            return child, verb
    return node.child(segment), ""


@implementer(ITraverser)
class Traverser:
    """Pyramid's way into `resolve`."""

    def __init__(self, root: Node) -> None:
        self.root = root

    def __call__(self, request: Request) -> dict[str, object]:
        # A target need not be a path at all: `OPTIONS *`, `CONNECT host:port`.
        if request.matched_route is None:
            raise NotFound()
        if request.matched_route.name not in MOUNTS:
            # Static files have routes of their own, and no node in the tree.
            own_route: dict[str, object] = ResourceTreeTraverser(self.root)(request)
            return own_route
        resolved = resolve(self.root, request.matchdict["traverse"])
        return {
            "context": resolved.node,
            "view_name": resolved.view_name,
            "subpath": (),
            "traversed": (),
            "virtual_root": self.root,
            "virtual_root_path": (),
            "root": self.root,
        }


def add_tree_child(
    config: Configurator, parent: type[Node] | str, name: str, child: type[Node] | str
) -> None:
    """Directive: adds a node class below another's, by a fixed name. Two of one name conflict.

    Raises `ConfigurationError` where a name below it is of a type that cannot be described.
    """
    above, below = node_class(config, parent), node_class(config, child)
    tree: Tree = config.registry.tree
    _check_described(below)
    declare(config, "tree child", name, partial(tree.children[above].__setitem__, name, below), within=above)


def node_class(config: Configurator, given: type[Node] | str) -> type[Node]:
    """A node class, be it given by its dotted name. Raises `ConfigurationError` for anything else."""
    found = config.maybe_dotted(given)
    if not (isinstance(found, type) and issubclass(found, Node)):
        raise ConfigurationError(f"{found!r} is no address: derive it from secretsvc.web.tree.Node")
    return found


def _check_described(node: type[Node] | None) -> None:
    while node is not None:
        try:
            json_schema_of(node.grammar_type)
        except ConfigurationError as error:
            raise ConfigurationError(f"{{{node.parameter}}} in a path: {error}") from None
        node = node.member


def root_factory(tree: Tree) -> Callable[[Request], Root]:
    """A Pyramid root factory."""
    return lambda _request: Root(None, "", tree)


def includeme(config: Configurator) -> None:
    """Sets up the tree, its two mounts and the directive."""
    config.registry.tree = Tree()
    config.set_root_factory(root_factory(config.registry.tree))
    config.add_traverser(Traverser, Root)
    config.add_directive("add_tree_child", add_tree_child)
    config.add_route(API, MOUNTS[API] + _REST)


def add_pages_mount(config: Configurator) -> None:
    """Mounts the pages; last, because it matches every path."""
    config.add_route(PAGES, MOUNTS[PAGES] + _REST)
