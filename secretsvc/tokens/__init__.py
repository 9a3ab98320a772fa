"""Service tokens: what machines bring that no issuer makes tokens for (contract 6.4)."""

from pyramid.config import Configurator


def includeme(config: Configurator) -> None:
    config.include(".api")
    config.include(".ui")
    config.add_audit_action("token.create", sentence="created the token {name} of {holder}", icon="key-round")
    config.add_audit_action("token.delete", sentence="removed the token {name} of {holder}", icon="trash-2")
