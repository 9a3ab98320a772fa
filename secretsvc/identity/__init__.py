"""Identities: everyone who ever came with a valid assertion, or was announced."""

from pyramid.config import Configurator


def includeme(config: Configurator) -> None:
    config.include(".resources")
    config.add_api_views(".api")
    config.include(".ui")
    config.add_audit_action("identity.update", sentence="{changed} {holder}", icon="user")
    config.add_audit_action("identity.delete", sentence="removed {holder}", icon="trash-2")
