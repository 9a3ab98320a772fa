"""The service about itself: health and its description."""

from pyramid.config import Configurator


def includeme(config: Configurator) -> None:
    """Includes the modules of this package that configure the application."""
    config.add_api_views(".api")
