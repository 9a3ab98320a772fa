"""The server of `[server:main]`: what `pserve` asks for before it has the application."""

from __future__ import annotations

import gc
import os
import signal
import threading
from collections.abc import Callable
from wsgiref.types import WSGIApplication

from secretsvc import collector_paused
from secretsvc.kernel.ini_values import accept_percent_signs

#: At so many new objects they are looked through for garbage, as Python 3.13 has it by itself: at the 700 of
#: older ones it was done in nearly each list of 500, which makes 1,000 and leaves none.
YOUNG = 2000


def make_server(_global_config: dict[str, str], **options: str) -> Callable[[WSGIApplication], None]:
    """`use = egg:secretsvc#server` (PasteDeploy). `options` are waitress's; `listen` may be `unix:/path`.

    What that returns raises NotStartedError as `registry_behind` and `server_of` do. From here on until it
    serves, an interrupt ends the process with one line.
    """
    _end_by_interrupts()
    # `pserve` reads the section of the application after this one.
    accept_percent_signs()

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
