"""Who may do what: the snapshot of grants that a request is judged by, and the decision."""

from pyramid.config import Configurator


def includeme(config: Configurator) -> None:
    config.include(".tweens")
    config.include(".policy")
    config.add_audit_action("identity.create", sentence="{arrived}", icon="user")
    config.add_audit_action(
        "grant.bootstrap", sentence="gave {holder} the admin role everywhere", icon="shield-check"
    )
