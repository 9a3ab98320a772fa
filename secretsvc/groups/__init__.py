"""Groups of identities: records, members and grants."""

from pyramid.config import Configurator


def includeme(config: Configurator) -> None:
    """Includes the modules of this package that configure the application."""
    config.include(".api")
    config.include(".ui")
    config.add_audit_action(
        "group.create",
        "group.update",
        "group.delete",
        "group.member.add",
        "group.member.remove",
        "group.grant.create",
        "group.grant.update",
        "group.grant.delete",
    )
