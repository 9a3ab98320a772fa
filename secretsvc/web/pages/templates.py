"""Chameleon templates as a Pyramid renderer for `.pt` files."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from chameleon import PageTemplateFile
from pyramid.config import Configurator
from pyramid.path import AssetResolver
from pyramid.renderers import RendererHelper
from pyramid.settings import asbool


class Template:
    """A template file that Pyramid renders and that other templates take macros from."""

    def __init__(self, file: PageTemplateFile) -> None:
        self._file = file

    def implementation(self) -> PageTemplateFile:
        """Return the Chameleon template (`pyramid.renderers.get_renderer`)."""
        return self._file

    def __call__(self, value: Mapping[str, object], system: Mapping[str, object]) -> str:
        """Render it; what the view returned takes precedence over Pyramid's own names."""
        rendered: str = self._file(**{**system, **value})
        return rendered


@cache
def _load(path: str, *, reload: bool) -> Template:
    return Template(PageTemplateFile(path, auto_reload=reload))


def template_renderer(info: RendererHelper) -> Template:
    """Return the template of an asset specification such as `package:folder/file.pt`, compiled once."""
    path = AssetResolver(info.package).resolve(info.name).abspath()
    return _load(path, reload=asbool(info.settings.get("reload_templates")))


def includeme(config: Configurator) -> None:
    config.add_renderer(".pt", template_renderer)
