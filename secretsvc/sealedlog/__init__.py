"""The log that proves itself: audit records sealed in an order, their tree, and its signed head."""

from pyramid.config import Configurator


def includeme(config: Configurator) -> None:
    config.add_models(".models")
    config.add_audit_action(
        "audit.adopt", sentence="adopted what the tables hold as the beginning of a replay", icon="shield"
    )
    config.include(".worker")
    config.include(".api")
    config.add_audit_action(
        "audit.replace_key", sentence="replaced the signing key of the audit log", icon="key-round"
    )
    config.add_audit_action("audit.prune", sentence="pruned {count} records of the audit log", icon="trash-2")
