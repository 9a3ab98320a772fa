"""Static files: each package's own, under one prefix, kept by browsers until their content changes."""

from __future__ import annotations

import hashlib
from pathlib import Path

from pyramid.config import Configurator
from pyramid.static import QueryStringConstantCacheBuster
from pyramid.util import DottedNameResolver

PREFIX = "static"
YEAR_SECONDS = 31_536_000


def add_assets(config: Configurator, package: str) -> None:
    """Directive: serves the folder `static` of a package under `/static/<package's last name>/`."""
    folder = Path(DottedNameResolver().resolve(package).__file__).parent / "static"
    spec = f"{package}:static"
    config.add_static_view(f"{PREFIX}/{package.rpartition('.')[2]}", spec, cache_max_age=YEAR_SECONDS)
    config.add_cache_buster(spec, QueryStringConstantCacheBuster(_digest(folder)))


def _digest(folder: Path) -> str:
    digest = hashlib.sha256()
    for file in sorted(folder.rglob("*")):
        if file.is_file():
            digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def includeme(config: Configurator) -> None:
    """Registers the directive, and serves the shell's own files."""
    config.add_directive("add_assets", add_assets)
    config.add_assets("secretsvc.web")
