"""WSGI filters as operators put them around the application, for `paste.filter_factory`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import sentry_sdk
from sentry_sdk.integrations.wsgi import SentryWsgiMiddleware

Filter = Callable[[Any], Any]


def make_sentry(_global_config: dict[str, str]) -> Filter:
    # Nothing listens there: what it would report goes nowhere.
    sentry_sdk.init(dsn="http://public@127.0.0.1:1/1", traces_sample_rate=1.0)
    return SentryWsgiMiddleware


def make_opaque(_global_config: dict[str, str]) -> Filter:
    """A filter that shows nothing of what it surrounds."""
    return lambda application: lambda environ, start_response: application(environ, start_response)


def make_both(loader: Any, global_config: dict[str, str]) -> Any:
    """Two applications of secretsvc behind one filter, by `paste.composite_factory`."""
    one, two = (loader.get_app(name, global_conf=global_config) for name in ("one", "two"))
    return lambda environ, start_response: (one if environ["PATH_INFO"] == "/" else two)(
        environ, start_response
    )
