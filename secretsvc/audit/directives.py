"""The directive for actions: what records may be looked for on the page of the audit log."""

from __future__ import annotations

import re
from functools import partial

from pyramid.config import Configurator
from pyramid.exceptions import ConfigurationError

from secretsvc.kernel.authorization import Role, ScopeType
from secretsvc.web.declaring import declare

# As long as the column that holds it, contract 3.13.
_ACTION = re.compile(r"(?!.{65})[a-z][a-z0-9_]*(?:\.[a-z][a-z0-9_]*)+")


def add_audit_action(config: Configurator, *names: str) -> None:
    """Directive: actions that a package records, which the page of the audit log offers to look for.

    Two of one name conflict. Raises `ConfigurationError` for a name of another form than `note.create`.
    """
    actions: list[str] = config.registry.audit_actions
    for name in names:
        if not _ACTION.fullmatch(name):
            raise ConfigurationError(
                f"audit action {name!r}: take a thing and a verb, such as acme_note.create"
            )
        declare(config, "audit action", name, partial(actions.append, name))


def includeme(config: Configurator) -> None:
    """Registers the directive, and the actions of denials by it."""
    config.registry.audit_actions = []
    config.add_directive("add_audit_action", add_audit_action)
    config.add_audit_action(
        "access.denied", *(f"authz.{scope}.{role}" for scope in ScopeType for role in Role)
    )
