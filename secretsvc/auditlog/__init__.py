"""Reading what happened: the audit log, its filters, its histogram and its page."""

from pyramid.config import Configurator


def includeme(config: Configurator) -> None:
    config.add_api_views(".api")
    config.include(".ui.page")
    config.include(".ui.download")
    config.include(".ui.recent")
