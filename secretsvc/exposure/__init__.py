"""Exposure: which values an identity was given or wrote, and which of them are in force."""

from pyramid.config import Configurator


def includeme(config: Configurator) -> None:
    config.add_api_views(".api")
    config.include(".ui")
