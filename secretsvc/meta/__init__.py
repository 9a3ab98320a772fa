"""The service about itself: health and its description."""

from pyramid.config import Configurator


def includeme(config: Configurator) -> None:
    config.add_api_views(".api")
