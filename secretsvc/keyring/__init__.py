"""The key ring: where its keys come from, which rows they seal, and moving rows to the active one."""

from pyramid.config import Configurator


def includeme(config: Configurator) -> None:
    config.include(".providers")
    config.include(".verdict")
    config.include(".resources")
    config.add_api_views(".api")
    config.include(".ui")
    config.add_audit_action(
        "keyring.rekey", sentence="moved {rekeyed} envelopes to the active key", icon="refresh-cw"
    )
