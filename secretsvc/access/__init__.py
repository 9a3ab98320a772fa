"""Grants of identities and groups, and what they amount to."""

from pyramid.config import Configurator


def includeme(config: Configurator) -> None:
    """Includes the modules of this package that configure the application."""
    config.include(".api")
    config.include(".ui.grants")
    config.include(".ui.grant")
    config.include(".ui.identity")
    config.include(".ui.scope")
    config.add_assets("secretsvc.access")
    config.add_audit_action("grant.create", "grant.update", "grant.delete")
