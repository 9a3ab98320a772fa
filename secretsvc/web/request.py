"""The request and the registry: Pyramid's own, with what is put on them and of which type it is."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Protocol, cast

from pyramid.request import Request
from pyramid.response import Response

from secretsvc.kernel.authorization import Role
from secretsvc.kernel.budget import PlaintextBudget
from secretsvc.kernel.crypto import KeyRing
from secretsvc.kernel.errors import SecretsvcError
from secretsvc.kernel.rejections import Refusals
from secretsvc.kernel.settings import Settings
from secretsvc.kernel.sidebar_project import SidebarProject
from secretsvc.kernel.transaction_mode import Mode
from secretsvc.kernel.use_case import UseCaseContext
from secretsvc.web.error_logging import Failure
from secretsvc.web.forms import Form
from secretsvc.web.schema import Values
from secretsvc.web.tree import Node, Tree

#: Of any node, as view derivers wrap them.
View = Callable[[Node, "ServiceRequest"], object]
#: What a tween is made of, and what it makes.
Handler = Callable[["ServiceRequest"], Response]
#: A mode, or a function that chooses it by the input of a request.
ModeChoice = Mode | Callable[["ServiceRequest"], Mode]


class Declared(Protocol):
    """What the view of a request declares of itself, be it an operation or a page."""

    @property
    def role(self) -> Role | str:
        """What the node's scope must grant, or a name of web/views.py."""


class ServiceRegistry(Protocol):
    """Pyramid's registry, with what it holds for everybody."""

    service_settings: Settings
    refusals: Refusals
    plaintext_budget: PlaintextBudget
    load_ring: Callable[[], KeyRing]
    #: The error of the table for one of the database, None where it has none.
    database_failure: Callable[[BaseException], SecretsvcError | None]
    tree: Tree
    revealing: set[tuple[type[Node], str]]
    #: The document of meta/api.py, once it was asked for.
    openapi: bytes
    authenticator: Any

    def __getattr__(self, name: str) -> Any:
        """What one package alone asks for."""


class ServiceRequest(Request):  # type: ignore[misc]  # it has no types of its own
    """A request with what tweens and derivers put there for those inside of them.

    Declared, or WebOb would look for it everywhere else first.
    """

    registry: ServiceRegistry
    # WebOb writes a larger body to disk, with the values in it.
    request_body_tempfile_limit = sys.maxsize
    request_id: str = ""
    #: Where it came from, if the proxies that say so are trusted.
    client_address: str | None = None
    #: Why it was not carried out, if it was not.
    failure: Failure | None = None
    #: Every view has one. Before the caller is admitted there is none: `call_of`.
    call: UseCaseContext = cast(UseCaseContext, None)
    #: The declaration of its view; before that is found there is none: `operation_of`.
    operation: Declared = cast(Declared, None)
    query_values: Values = cast(Values, None)
    body_values: Values = cast(Values, None)
    #: What a page's form holds.
    form: Form = cast(Form, None)
    #: The project that a page lies in.
    sidebar_project: SidebarProject | None = None


def declare_mode(request: ServiceRequest, mode: ModeChoice) -> None:
    """Set the mode of a request's transaction, once its input is valid; a public view has no call."""
    call = call_of(request)
    if call is not None:
        call.mode = mode(request) if callable(mode) else mode


def call_of(request: ServiceRequest) -> UseCaseContext | None:
    """The call of a request, None where nobody was admitted."""
    return request.call


def operation_of(request: ServiceRequest) -> Declared | None:
    """What the view of a request declares, None where none was found yet."""
    return request.operation
