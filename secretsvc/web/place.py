"""The project that a page lies in, as the shell shows it beside each of the project's pages."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from pyramid.config import Configurator
from pyramid.interfaces import IViewDeriverInfo

from secretsvc.kernel.authorization import Address, sees
from secretsvc.kernel.call import Call
from secretsvc.kernel.place import Place
from secretsvc.web.declaring import declare
from secretsvc.web.derivers import reads_option
from secretsvc.web.request import ServiceRequest, View
from secretsvc.web.tree import Node

#: Finds the place of a scope, None where it is gone.
Finder = Callable[[Call, Address], Place | None]


def set_place(config: Configurator, find: Finder) -> None:
    """Directive: how the shell finds the project that a page lies in, in one statement."""
    declare(config, "place", "project", partial(setattr, config.registry, "find_place", find))


@reads_option("page")
def place_view(view: View, info: IViewDeriverInfo) -> View:
    """View deriver: beside what a page shows it reads the page's place, in the same transaction."""
    if info.options.get("page") is None or info.options["renderer"] is None:
        return view

    def wrapper(context: Node, request: ServiceRequest) -> object:
        result = view(context, request)
        at, find = context.address, request.registry.find_place
        if isinstance(result, dict) and find is not None and at.project and sees(request.call.snapshot, at):
            request.place = find(request.call, at)
        return result

    return wrapper


def includeme(config: Configurator) -> None:
    """Registers the directive."""
    config.registry.find_place = None
    config.add_directive("set_place", set_place)
