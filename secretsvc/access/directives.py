"""The directive by which a package above this one tells what an identity did, on its page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from pyramid.config import Configurator

from secretsvc.identity.rules import IdentityRow
from secretsvc.web.registration import check_function, declare
from secretsvc.web.request import ServiceRequest

#: What an identity did that the caller may audit, the newest first, as the macro `feed` draws it.
Finder = Callable[[ServiceRequest, IdentityRow], Sequence[object]]


def set_recent_activity(config: Configurator, find: Finder) -> None:
    """Directive: how the page of an identity finds what that did lately."""
    check_function("find of set_recent_activity", find)
    declare(config, "activity", "identity", partial(setattr, config.registry, "find_activity", find))


def includeme(config: Configurator) -> None:
    config.registry.find_activity = None
    config.add_directive("set_recent_activity", set_recent_activity)
