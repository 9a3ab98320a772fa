"""The security policy: Pyramid asks what a view requires, the snapshot of grants answers.

Answering and refusing are two things. `permits` only answers, so that whoever asks
`request.has_permission` can act on it. What refuses is the deriver around Pyramid's own check of a view.
"""

from __future__ import annotations

from pyramid.httpexceptions import HTTPForbidden
from pyramid.interfaces import IViewDeriverInfo
from pyramid.security import Allowed, Denied

from secretsvc.authorization.rules.checks import assert_admin_somewhere, assert_can, assert_sees
from secretsvc.kernel.actors import Actor
from secretsvc.kernel.authorization import Role, ScopePath
from secretsvc.kernel.errors import Forbidden
from secretsvc.kernel.use_case import UseCaseContext
from secretsvc.web.config import ServiceConfigurator
from secretsvc.web.request import ServiceRequest, View, call_of
from secretsvc.web.tree import Node
from secretsvc.web.view_options import reads_option
from secretsvc.web.views import ADMIN_SOMEWHERE, PERMISSIONS, VISIBLE, permits

ROLES = frozenset(Role)


class GrantPolicy:
    """Decides by the request's grant snapshot and the node's address."""

    def identity(self, request: ServiceRequest) -> Actor | None:
        """The actor of the request's call, None where nobody was asked for."""
        call = call_of(request)
        return None if call is None else call.actor

    def authenticated_userid(self, request: ServiceRequest) -> str | None:
        """The actor's subject, None where nobody was asked for."""
        actor = self.identity(request)
        return None if actor is None else actor.subject

    def permits(self, request: ServiceRequest, context: object, permission: str) -> Allowed | Denied:
        """Allowed or Denied: it raises nothing and records nothing.

        Denied is also the answer to a permission that nobody knows, and where there is no caller or no node.
        """
        call, at = call_of(request), getattr(context, "address", None)
        if call is None or at is None or permission not in PERMISSIONS:
            return Denied(permission)
        return Allowed(permission) if permits(call.snapshot, permission, at) else Denied(permission)

    def remember(self, request: ServiceRequest, userid: str, **options: object) -> list[tuple[str, str]]:
        """Nothing to remember: each request carries its own assertion."""
        return []

    def forget(self, request: ServiceRequest, **options: object) -> list[tuple[str, str]]:
        """Nothing to forget."""
        return []


def _refuse(call: UseCaseContext, permission: str, at: ScopePath) -> None:
    """Raises as the rules do, where a view is not permitted: they know 403 from 404, and note the denial."""
    if permission == ADMIN_SOMEWHERE:
        assert_admin_somewhere(call)
    elif permission == VISIBLE:
        assert_sees(call, at)
    elif permission in ROLES:
        assert_can(call, Role(permission), at)
    raise Forbidden()


@reads_option("permission")
def refusing_view(view: View, info: IViewDeriverInfo) -> View:
    """Around Pyramid's check of a view's permission: says in our errors that it failed."""
    permission = info.options.get("permission")

    def wrapper(context: Node, request: ServiceRequest) -> object:
        try:
            return view(context, request)
        except HTTPForbidden as error:
            if isinstance(error.result, Denied):
                _refuse(request.call, permission, context.address)
            raise

    return wrapper


def includeme(config: ServiceConfigurator) -> None:
    """Sets the policy, and what refuses."""
    config.set_security_policy(GrantPolicy())
    config.add_view_deriver(refusing_view, under="declared_view", over="secured_view")
