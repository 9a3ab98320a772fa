"""secretsvc: a self-hosted secrets manager. `main` puts the packages together."""

from __future__ import annotations

from typing import Any

from pyramid.config import Configurator
from pyramid.settings import aslist

from secretsvc.registry import report

#: In the order in which they may import each other; no package imports a later one.
PACKAGES = (
    "audit",
    "authorization",
    "projects",
    "identity",
    "access",
    "groups",
    "secrets",
    "keyring",
    "auditlog",
    "home",
    "meta",
)


def main(_global_config: dict[str, str], **settings: str) -> Any:
    """The WSGI application of an ini file's `[app:main]` section (PasteDeploy)."""
    return configure(settings).make_wsgi_app()


def configure(settings: dict[str, str]) -> Configurator:
    """The whole configuration, committed; commands use its registry without serving anything."""
    defaults = {"tm.annotate_user": "false", "tm.manager_hook": "pyramid_tm.explicit_manager"}
    settings = {**defaults, **settings}
    # Pyramid would include these first, before there are directives for them to use.
    others = aslist(settings.pop("pyramid.includes", ""))
    config = Configurator(settings=settings)
    config.include("pyramid_tm")
    config.include("secretsvc.registry")
    config.include("secretsvc.web")
    for package in PACKAGES:
        config.include(f"secretsvc.{package}")
    for other in others:
        config.include(other)
    config.include("secretsvc.web.tree.add_pages_mount")
    config.include("secretsvc.web.views.finalize_request_class")
    config.commit()
    report(config.registry)
    return config
