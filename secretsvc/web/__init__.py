"""The Pyramid machinery: mounts, tree, views, input, errors. It knows no other package but `kernel`."""

from pyramid.config import Configurator


def includeme(config: Configurator) -> None:
    """Directives first, so that every package can use them."""
    config.set_request_factory("secretsvc.web.request.ServiceRequest")
    modules = ("tree", "errors", "views", "pages.directives", "assets", "plaintext_budget", "tweens")
    for module in (*modules, "access_log", "metrics"):
        config.include(f".{module}")
