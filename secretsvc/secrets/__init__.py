"""Secrets: sealed values, their history, and the writes that change an environment."""

from pyramid.config import Configurator


def includeme(config: Configurator) -> None:
    """Includes the modules of this package that configure the application."""
    config.include(".directives")
    config.add_models(".models")
    config.include(".api.secrets")
    config.include(".api.history")
    config.include(".api.copying")
    config.include(".ui.changes")
    config.include(".ui.matrix")
    config.include(".ui.comparing")
    config.include(".ui.copying")
    config.include(".ui.editor")
    config.include(".ui.secret")
    config.include(".ui.history")
    config.include(".ui.editing")
    config.add_audit_action(
        "secret.batch",
        "secret.import",
        "secret.rename",
        "secret.rollback",
        "secret.reveal",
        "secret.export",
        "secret.copy",
        "secret.restore",
        "keyring.adopt",
    )
