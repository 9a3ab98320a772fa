"""Addresses of secrets."""

from __future__ import annotations

from secretsvc.projects.resources import Environment
from secretsvc.secrets.schemas.secrets import SecretKey
from secretsvc.web.config import ServiceConfigurator
from secretsvc.web.tree import Node


class Secret(Node):
    """`…/secrets/{key}`."""

    parameter = "key"
    grammar_type = SecretKey()


class Revisions(Node):
    """`…/revisions`."""


class Secrets(Node):
    """`…/secrets`."""

    member = Secret


def includeme(config: ServiceConfigurator) -> None:
    config.add_tree_child(Environment, "secrets", Secrets)
    config.add_tree_child(Environment, "revisions", Revisions)
