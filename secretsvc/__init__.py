"""secretsvc: a self-hosted secrets manager. `main` puts the packages together."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyramid.router import Router

    from secretsvc.web.config import ServiceConfigurator

#: The oldest Python that runs it. pip refuses an older one, but any can import the source.
OLDEST = (3, 11)

if sys.version_info < OLDEST:
    sys.exit("secretsvc needs Python 3.11 or later")

#: In the order in which they may import each other; no package imports a later one.
PACKAGES = (
    "tables",
    "audit",
    "authorization",
    "projects",
    "identity",
    "tokens",
    "access",
    "groups",
    "secrets",
    "sealedlog",
    "keyring",
    "auditlog",
    "exposure",
    "home",
    "meta",
)


def main(_global_config: dict[str, str], **settings: str) -> Router:
    """The WSGI application of an ini file's `[app:main]` section (PasteDeploy)."""
    return configure(settings).make_wsgi_app()


def configure(settings: dict[str, str]) -> ServiceConfigurator:
    """The whole configuration, committed and reported on; commands use its registry without serving.

    Raises `ConfigurationError` with one line that says what to do where a package declares what cannot be.
    """
    from secretsvc.registry import report

    config = assemble(settings)
    report(config.registry)
    return config


def assemble(settings: dict[str, str]) -> ServiceConfigurator:
    """As `configure`, with nothing told of the settings: of them migrations need the database's alone."""
    from pyramid.settings import aslist

    from secretsvc.web.config import ServiceConfigurator
    from secretsvc.web.openapi.document import check_operations
    from secretsvc.web.registration import commit

    defaults = {"tm.annotate_user": "false", "tm.manager_hook": "pyramid_tm.explicit_manager"}
    settings = {**defaults, **settings}
    # Pyramid would include these first, before there are directives for them to use.
    others = aslist(settings.pop("pyramid.includes", ""))
    config = ServiceConfigurator(settings=settings)
    config.include("pyramid_tm")
    config.include("secretsvc.registry")
    config.include("secretsvc.web")
    for package in PACKAGES:
        config.include(f"secretsvc.{package}")
    for other in others:
        config.include(other)
    config.include("secretsvc.web.tree.add_pages_mount")
    commit(config)
    check_operations(config.registry)
    return config
