"""Grants of identities and groups, and what they amount to."""

from pyramid.config import Configurator


def includeme(config: Configurator) -> None:
    config.include(".directives")
    config.include(".resources")
    config.add_api_views(".api")
    config.include(".denial_page")
    config.include(".ui.grants")
    config.include(".ui.grant")
    config.include(".ui.identity")
    config.include(".ui.scope")
    config.add_assets("secretsvc.access")
    config.add_audit_action(
        "grant.create", sentence="gave {holder} the {role} role on {scope}", icon="user-plus"
    )
    config.add_audit_action(
        "grant.update", sentence="changed the grant of {holder} on {scope}", icon="shield-check"
    )
    config.add_audit_action(
        "grant.delete", sentence="took the {role} role on {scope} from {holder}", icon="shield"
    )
