"""The server of `[server:main]`: what `pserve` asks for before it has the application."""

from __future__ import annotations

import gc
import os
import signal
import threading
from collections.abc import Callable
from wsgiref.types import WSGIApplication

from secretsvc.kernel.ini_values import accept_percent_signs
from secretsvc.server.server import make_configured_server, registry_behind


def make_server(_global_config: dict[str, str], **options: str) -> Callable[[WSGIApplication], None]:
    """`use = egg:secretsvc#server` (PasteDeploy). `options` are waitress's; `listen` may be `unix:/path`.

    The function that it returns raises NotStartedError (`registry_behind`, `make_configured_server`). Until
    it serves, an interrupt ends the process with one line.
    """
    _end_by_interrupts()
    # `pserve` reads the section of the application after this one.
    accept_percent_signs()

    def serve(application: WSGIApplication) -> None:
        server = make_configured_server(application, registry_behind(application), **options)
        # A full collection that examined the application's objects would stop all threads for 0.1 s.
        gc.freeze()
        server.run()

    return serve


def _end_by_interrupts() -> None:
    # As long as no one has set a handler: `pserve` would show a traceback.
    is_default = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if is_default and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, _end)


def _end(number: int, _frame: object) -> None:
    os.write(2, b"interrupted: the server had not started\n")
    # By the signal itself, so that a shell and make learn the cause.
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
