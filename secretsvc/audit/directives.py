"""The directive for actions: what records may be looked for on the pages, and how they are told."""

from __future__ import annotations

import re
from functools import partial
from typing import NamedTuple

from pyramid.config import Configurator
from pyramid.exceptions import ConfigurationError

from secretsvc.kernel.authorization import Role, ScopeType
from secretsvc.web.registration import declare

# As long as the column that holds it, contract 3.13.
_ACTION = re.compile(r"(?!.{65})[a-z][a-z0-9_]*(?:\.[a-z][a-z0-9_]*)+")
#: How the last word of an action is told where no sentence says it.
_VERBS = {"create": "created", "update": "changed", "delete": "deleted", "add": "added", "remove": "removed"}
_ASKED = {
    Role.READER: "asked for {scope}",
    Role.WRITER: "tried to change {scope}",
    Role.ADMIN: "tried to administer {scope}",
}


class AuditAction(NamedTuple):
    """How a record of an action is told: what follows its actor, and a symbol of the sprite."""

    sentence: str
    icon: str


def add_audit_action(
    config: Configurator, *names: str, sentence: str | None = None, icon: str = "circle"
) -> None:
    """Directive: actions that a package records, which the page of the audit log offers to look for.

    `sentence` is what the pages say after the actor's name. In it `{scope}` is the project or environment of
    the record, and any other word in braces the member of its detail; docs/plugins.md lists those with a
    meaning of their own. Two of one name conflict. Raises `ConfigurationError` for a name of another form
    than `note.create`.
    """
    actions: dict[str, AuditAction] = config.registry.audit_actions
    for name in names:
        if not _ACTION.fullmatch(name):
            raise ConfigurationError(
                f"audit action {name!r}: take a thing and a verb, such as acme_note.create"
            )
        told = AuditAction(sentence or usual_sentence(name), icon)
        declare(config, "audit action", name, partial(actions.__setitem__, name, told))


def usual_sentence(name: str) -> str:
    """How an action is told that nobody gave a sentence: "created acme note"."""
    *thing, verb = name.replace("_", " ").split(".")
    return f"{_VERBS.get(verb, verb)} {' '.join(thing)}"


def includeme(config: Configurator) -> None:
    """Registers the directive, and the actions of denials by it."""
    config.registry.audit_actions = {}
    config.add_directive("add_audit_action", add_audit_action)
    config.add_audit_action("access.denied", sentence="asked for {scope}", icon="ban")
    for scope in ScopeType:
        for role in Role:
            config.add_audit_action(f"authz.{scope}.{role}", sentence=_ASKED[role], icon="ban")
