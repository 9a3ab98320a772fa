"""The project that a page lies in, as the shell shows it beside each of the project's pages."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from pyramid.config import Configurator
from pyramid.interfaces import IViewDeriverInfo

from secretsvc.kernel.authorization import ScopePath, can_see
from secretsvc.kernel.sidebar_project import SidebarProject
from secretsvc.kernel.use_case import UseCaseContext
from secretsvc.web.registration import check_function, declare
from secretsvc.web.request import ServiceRequest, View
from secretsvc.web.tree import Node
from secretsvc.web.view_options import reads_option

#: Finds the project of a scope, None where it is gone.
Finder = Callable[[UseCaseContext, ScopePath], SidebarProject | None]


def set_sidebar_project(config: Configurator, find: Finder) -> None:
    """Directive: how the shell finds the project that a page lies in, in one statement."""
    check_function("find of set_sidebar_project", find)
    declare(config, "shell", "project", partial(setattr, config.registry, "find_sidebar_project", find))


@reads_option("page")
def sidebar_project_view(view: View, info: IViewDeriverInfo) -> View:
    """View deriver: beside what a page shows it reads the page's project, in the same transaction."""
    if info.options.get("page") is None or info.options["renderer"] is None:
        return view

    def wrapper(context: Node, request: ServiceRequest) -> object:
        result = view(context, request)
        at = context.address
        find: Finder | None = request.registry.find_sidebar_project
        if (
            isinstance(result, dict)
            and find is not None
            and at.project
            and can_see(request.call.snapshot, at)
        ):
            request.sidebar_project = find(request.call, at)
        return result

    return wrapper


def includeme(config: Configurator) -> None:
    config.registry.find_sidebar_project = None
    config.add_directive("set_sidebar_project", set_sidebar_project)
