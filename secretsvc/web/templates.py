"""What every template is given beside what its view returns, by a directive of its own.

Pyramid has an event for that. But it tells of four more in each request, those of the API included, as soon
as anybody listens to any, which takes a thirtieth of reading a value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from pyramid.config import Configurator
from pyramid.events import BeforeRender
from pyramid.renderers import RendererHelper
from pyramid_chameleon.zpt import renderer_factory

from secretsvc.web.declaring import check_function, declare

#: Puts names into what a template is about to be drawn with.
Give = Callable[[BeforeRender], None]


def add_template_names(config: Configurator, name: str, give: Give) -> None:
    """Directive: a function that gives every template more names. Two of one name conflict."""
    check_function(f"template names {name}", give)
    fill = partial(config.registry.template_names.__setitem__, name, give)
    declare(config, "template names", name, fill)


class _Template:
    """Pyramid's renderer of a template, which is given the names first."""

    def __init__(self, info: RendererHelper) -> None:
        self._template = renderer_factory(info)
        self._given: Mapping[str, Give] = info.registry.template_names

    def implementation(self) -> object:
        """The template itself (`pyramid.renderers.get_renderer`)."""
        return self._template.implementation()

    def __call__(self, value: object, system: BeforeRender) -> object:
        for give in self._given.values():
            give(system)
        return self._template(value, system)


def includeme(config: Configurator) -> None:
    config.registry.template_names = {}
    config.include("pyramid_chameleon")
    config.add_renderer(".pt", _Template)
    config.add_directive("add_template_names", add_template_names)
