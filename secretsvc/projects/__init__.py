"""Projects and their environments."""

from pyramid.config import Configurator


def includeme(config: Configurator) -> None:
    config.include(".resources")
    config.add_api_views(".api")
    config.include(".ui")
    for thing in ("project", "environment"):
        config.add_audit_action(f"{thing}.create", sentence="created {scope}", icon="plus")
        config.add_audit_action(
            f"{thing}.update", sentence="changed the settings of {scope}", icon="settings"
        )
        config.add_audit_action(f"{thing}.delete", sentence="deleted {scope}", icon="trash-2")
