"""The configurator that packages declare their views with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyramid.config import Configurator

from secretsvc.web import access_log, assets, error_codes, tree, views
from secretsvc.web.pages import denial_page, directives, flash_messages, navigation, sidebar_project


class ServiceConfigurator(Configurator):  # type: ignore[misc]  # it has no types of its own
    """Pyramid's, to which our directives are added as a plugin adds its own; here are only their types."""

    if TYPE_CHECKING:
        add_api_view = views.add_api_view
        add_api_views = views.add_api_views
        add_assets = assets.add_assets
        add_flash_message = flash_messages.add_flash_message
        add_error = error_codes.add_error
        add_error_link = navigation.add_error_link
        add_form = directives.add_form
        add_navigation = navigation.add_navigation
        add_page = directives.add_page
        add_request_observer = access_log.add_request_observer
        add_tab = navigation.add_tab
        add_tree_child = tree.add_tree_child
        set_sidebar_project = sidebar_project.set_sidebar_project
        set_denial_explainer = denial_page.set_denial_explainer
