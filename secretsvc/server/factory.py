"""The server of `[server:main]`: what `pserve` asks for before it has the application."""

from __future__ import annotations

import gc
from collections.abc import Callable
from wsgiref.types import WSGIApplication

from secretsvc import collector_paused


def make_server(_global_config: dict[str, str], **options: str) -> Callable[[WSGIApplication], None]:
    """`use = egg:secretsvc#server` (PasteDeploy). `options` are waitress's; `listen` may be `unix:/path`.

    What that returns raises NotStartedError as `server_of` does.
    """

    def serve(application: WSGIApplication) -> None:
        with collector_paused():
            # Here, because the application, which has most of it, is made later, with the collector paused.
            from secretsvc.server.serving import server_of

            server = server_of(application, **options)
        # What is there by now stays: to look at it again takes each full collection 0.1 s, for all threads,
        # and so would a last one here, to find next to nothing.
        gc.freeze()
        server.run()

    return serve
