"""The security policy: Pyramid asks what a view requires, the rules of access answer."""

from __future__ import annotations

from typing import Any

from pyramid.security import Allowed

from secretsvc.access.rules import assert_admin_somewhere, assert_can, assert_sees
from secretsvc.kernel.authorization import Role
from secretsvc.web.views import ADMIN_SOMEWHERE, ANY_IDENTITY, VISIBLE


class GrantPolicy:
    """Decides by the request's grant snapshot and the node's address.

    A refusal is raised, not returned: the rules know whether it is a 403 or a 404, and note the denial.
    """

    def identity(self, request: Any) -> Any:
        """The actor of the request's call."""
        return request.call.actor

    def authenticated_userid(self, request: Any) -> str:
        """The actor's subject."""
        subject: str = request.call.actor.subject
        return subject

    def permits(self, request: Any, context: Any, permission: str) -> Any:
        """Allowed, or an error of the table."""
        if permission == ADMIN_SOMEWHERE:
            assert_admin_somewhere(request.call)
        elif permission == VISIBLE:
            assert_sees(request.call, context.address)
        elif permission != ANY_IDENTITY:
            assert_can(request.call, Role(permission), context.address)
        return Allowed(permission)

    def remember(self, request: Any, userid: str, **options: Any) -> list[tuple[str, str]]:
        """Nothing to remember: each request carries its own assertion."""
        return []

    def forget(self, request: Any, **options: Any) -> list[tuple[str, str]]:
        """Nothing to forget."""
        return []


def includeme(config: Any) -> None:
    """Sets the policy."""
    config.set_security_policy(GrantPolicy())
