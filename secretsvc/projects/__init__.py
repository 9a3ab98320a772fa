"""Projects and their environments."""

from pyramid.config import Configurator


def includeme(config: Configurator) -> None:
    """Includes the modules of this package that configure the application."""
    config.include(".api")
    config.include(".ui")
    config.add_audit_action(
        "project.create",
        "project.update",
        "project.delete",
        "environment.create",
        "environment.update",
        "environment.delete",
    )
