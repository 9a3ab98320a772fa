"""secretsvc: a self-hosted secrets manager. `main` puts the house together."""

from __future__ import annotations

from typing import Any

from pyramid.config import Configurator

WINGS = ("identity", "audit", "access", "projects", "secrets", "meta")


def main(global_config: dict[str, str], **settings: str) -> Any:
    """The WSGI application of an ini file's `[app:main]` section (PasteDeploy)."""
    settings = {"tm.annotate_user": "false", "tm.manager_hook": "pyramid_tm.explicit_manager", **settings}
    with Configurator(settings=settings) as config:
        config.include("pyramid_tm")
        config.include("secretsvc.service")
        config.include("secretsvc.web")
        for wing in WINGS:
            config.include(f"secretsvc.{wing}")
        config.include("secretsvc.web.tree.add_pages_mount")
    return config.make_wsgi_app()
