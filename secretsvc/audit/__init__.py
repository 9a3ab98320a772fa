"""Writing what happened: mutations, reads of values and denials, append-only."""

from pyramid.config import Configurator


def includeme(config: Configurator) -> None:
    config.include(".directives")
    config.add_models(".models")
    config.include(".tweens")
