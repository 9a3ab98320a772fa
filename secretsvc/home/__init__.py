"""The home page: projects, what waits for the caller, and the search."""

from pyramid.config import Configurator


def includeme(config: Configurator) -> None:
    config.add_api_views(".api")
    config.include(".ui.home")
    config.include(".ui.search")
