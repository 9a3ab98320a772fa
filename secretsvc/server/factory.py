"""The server of `[server:main]`: what `pserve` asks for before it has the application."""

from __future__ import annotations

import gc
from collections.abc import Callable
from wsgiref.types import WSGIApplication

from secretsvc import collector_paused

#: At so many new objects they are looked through for garbage, as Python 3.13 has it by itself: at the 700 of
#: older ones it was done in nearly each list of 500, which makes 1,000 and leaves none.
YOUNG = 2000


def make_server(_global_config: dict[str, str], **options: str) -> Callable[[WSGIApplication], None]:
    """`use = egg:secretsvc#server` (PasteDeploy). `options` are waitress's; `listen` may be `unix:/path`.

    What that returns raises NotStartedError as `registry_behind` and `server_of` do.
    """

    def serve(application: WSGIApplication) -> None:
        with collector_paused():
            # Here, because the application, which has most of it, is made later, with the collector paused.
            from secretsvc.server.serving import registry_behind, server_of

            server = server_of(application, registry_behind(application), **options)
        # What is there by now stays: to look at it again takes each full collection 0.1 s, for all threads,
        # and so would a last one here, to find next to nothing.
        gc.freeze()
        gc.set_threshold(YOUNG)
        server.run()

    return serve
