"""Waitress with bounds on every connection and a graceful stop."""

from __future__ import annotations

import logging
import resource
import signal
import threading
import time
from contextlib import suppress
from typing import Any
from wsgiref.types import WSGIApplication

from pyramid.config import global_registries
from sqlalchemy.exc import SQLAlchemyError
from waitress import wasyncore
from waitress.adjustments import Adjustments
from waitress.task import ThreadedTaskDispatcher

from secretsvc.db.supported import UnsupportedDatabaseError
from secretsvc.kernel.errors import ServerMisconfigured
from secretsvc.kernel.settings import Settings
from secretsvc.server.connections import ConnectionTracker
from secretsvc.server.limits import CONNECTIONS, IDLE_SECONDS, KIB, MIB, ConnectionLimits
from secretsvc.server.listener import UNIX, listeners, sd_notify
from secretsvc.server.monitoring import Monitor
from secretsvc.server.tasks import FRAMES
from secretsvc.web.request import ServiceRegistry

log = logging.getLogger(__name__)
# waitress warns of each request that waits for a thread; the figure `requests_waiting` counts them.
logging.getLogger("waitress.queue").setLevel(logging.ERROR)

#: So much over `BODY_MAX_BYTES` still reaches the application, which answers as to any other caller.
BODY_MARGIN = 64 * KIB
LOOP_SECONDS = 1.0
#: Seconds for idle threads to end.
THREADS_SECONDS = 1.0
#: File descriptors in addition to those of connections: files, the database's, pipes.
OTHER_DESCRIPTORS = 256
THREADS = 8
#: Seconds for the database to answer while the server starts.
CONNECT_SECONDS = 1.0


class NotStartedError(Exception):
    """Why there is no server; no SystemExit, for which `pserve -q` says nothing and exits 0."""


class Server:
    """Serves one application until it is told to stop.

    `effective_port` is that of the first listener, a path for a Unix socket.
    """

    def __init__(self, application: WSGIApplication, limits: ConnectionLimits, **options: object) -> None:
        """`options` are waitress's adjustments. Raises OSError where nothing can be bound."""
        self.traffic = ConnectionTracker(limits)
        self.adj = _adjusted(limits, options)
        self.task_dispatcher = ThreadedTaskDispatcher()
        self.map: dict[int, object] = {}
        self.listeners = list(listeners(application, self.traffic, self.task_dispatcher, self.adj, self.map))
        self.task_dispatcher.set_thread_count(self.adj.threads)
        self.effective_port = self.listeners[0].effective_port
        self._told_to_stop = threading.Event()
        self._has_ended = False
        # A loop whose descriptors are closed must not be woken; reentrant, for a signal arrives at any point.
        self._ending = threading.RLock()
        self._drain, self._ends_at = limits.drain_seconds, 0.0
        #: The threads next to those that serve; None without an application of ours.
        self.watch: Monitor | None = None
        #: When the event loop last ran, by the monotonic clock.
        self.alive_at = time.monotonic()

    @property
    def is_stopping(self) -> bool:
        """Whether it was told to stop."""
        return self._told_to_stop.is_set()

    def stop(self, drain: float | None = None) -> None:
        """Begin to stop, with `drain` seconds instead of the setting; for any thread and signal handlers."""
        self._drain = self._drain if drain is None else drain
        self._told_to_stop.set()
        with self._ending:
            if not self._has_ended:
                self.listeners[0].pull_trigger()

    def run(self) -> None:
        """Serve until `stop`; return once the in-flight requests are done, or the drain time has passed."""
        self._heed_signals()
        _allow_descriptors(self.adj.connection_limit + OTHER_DESCRIPTORS)
        if self.watch is not None:
            self.watch.start()
        sd_notify("READY=1")
        try:
            while self._goes_on():
                self.turn()
        finally:
            self.task_dispatcher.shutdown(timeout=THREADS_SECONDS)
            with self._ending:
                self._has_ended = True
            wasyncore.close_all(self.map, ignore_all=True)
            if self.watch is not None:
                self.watch.stop()

    def turn(self) -> None:
        """Run the event loop once: wait for events and handle them."""
        wasyncore.loop(timeout=LOOP_SECONDS, use_poll=True, map=self.map, count=1)
        self.alive_at = time.monotonic()
        if not self.traffic.stopping:
            for listener in self.listeners:
                listener.accept_waiting()
        self.traffic.bound_requests()
        self.traffic.bound_answers()
        self.traffic.sweep()

    def _goes_on(self) -> bool:
        if not self.is_stopping:
            return True
        if not self.traffic.stopping:
            self._begin_to_stop()
        now = time.monotonic()
        # A worker can still serve a request whose client has gone.
        working = self.task_dispatcher.queue or self.task_dispatcher.active_count > 0
        if now < self._ends_at and (len(self.traffic) or working):
            return True
        if len(self.traffic) or working:
            log.warning("the stop cut what was not done in %g seconds", self._drain)
        return False

    def _begin_to_stop(self) -> None:
        sd_notify("STOPPING=1")
        log.info("stopping: what is under way has %g seconds", self._drain)
        self.traffic.stopping = True
        self._ends_at = time.monotonic() + self._drain
        for listener in self.listeners:
            # Clients in the queue of a closed socket would be reset; systemd keeps its own sockets open.
            if listener.ours:
                listener.accept_all()
            wasyncore.dispatcher.close(listener)

    def _heed_signals(self) -> None:
        if threading.current_thread() is not threading.main_thread():
            return
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_signal)

    def _on_signal(self, _number: int, _frame: object) -> None:
        # A second signal, of either kind, ends the process at once.
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        self.stop()


def registry_behind(application: WSGIApplication) -> ServiceRegistry:
    """Return the registry of the application that WSGI filters may surround.

    A filter need not show what it surrounds, so it is looked for among the applications that this process
    has made. Raises NotStartedError unless there is exactly one.
    """
    shown: Any = getattr(application, "registry", None)
    made: list[ServiceRegistry] = [shown] if hasattr(shown, "service_settings") else []
    made = made or [one for one in global_registries if hasattr(one, "service_settings")]
    if len(made) != 1:
        raise NotStartedError(f"filters surround {len(made)} applications of secretsvc: a process serves one")
    return made[0]


def make_configured_server(
    application: WSGIApplication, registry: ServiceRegistry | None = None, **options: object
) -> Server:
    """A server for the application, whose registry gives its limits and what else it looks after.

    Without a registry it is the application's own. Raises NotStartedError for a malformed setting of the
    server's own, for a database that is not supported, and where nothing can be bound.
    """
    registry = registry or getattr(application, "registry", None)
    settings = registry.service_settings if registry is not None else Settings({}, {})
    try:
        drain, operations = settings.drain_seconds, settings.operations_listen
    except ServerMisconfigured:
        raise NotStartedError("a setting of the server is malformed; the log names it") from None
    if registry is not None:
        _require_supported_database(registry)
    limits, where = _limits(settings, drain, options), options.get("listen")
    try:
        server = Server(application, limits, **options)
        if registry is not None:
            where = operations
            server.watch = Monitor(server, registry, operations)
    except OSError as error:
        raise NotStartedError(f"nothing can listen on {where}: {error.strerror}") from None
    return server


def _require_supported_database(registry: Any) -> None:
    # A database that does not answer now can do so later: it is no reason to refuse the start.
    with suppress(ServerMisconfigured, SQLAlchemyError):
        engine = registry.database.engine_to_watch_by(CONNECT_SECONDS)
        try:
            engine.connect().close()
        except UnsupportedDatabaseError as error:
            raise NotStartedError(error.reason) from None
        finally:
            engine.dispose()


def _limits(settings: Settings, drain: float, options: dict[str, Any]) -> ConnectionLimits:
    body = Settings({}, {}).body_max_bytes
    # Where it is malformed, every request with a body is answered so.
    with suppress(ServerMisconfigured):
        body = settings.body_max_bytes
    return ConnectionLimits(
        body_bytes=int(options.pop("max_request_body_size", body + BODY_MARGIN)),
        connections=int(options.pop("connection_limit", CONNECTIONS)),
        idle_seconds=float(options.pop("channel_timeout", IDLE_SECONDS)),
        drain_seconds=drain,
    )


def _adjusted(limits: ConnectionLimits, options: dict[str, Any]) -> Adjustments:
    listen = str(options.pop("listen", ""))
    if listen.startswith(UNIX):
        options["unix_socket"] = listen.removeprefix(UNIX)
    elif listen:
        options["listen"] = listen
    fixed = {"connection_limit": limits.connections, "max_request_body_size": FRAMES * limits.body_bytes}
    # Whose X-Forwarded-For is believed is for TRUSTED_PROXIES to say; nothing else reads such headers.
    fixed["clear_untrusted_proxy_headers"] = False
    # Beyond it waitress writes a request to disk, and with it the values.
    fixed["inbuf_overflow"] = fixed["max_request_body_size"] + MIB
    adj = Adjustments(**{"ident": None, "threads": THREADS, **options, **fixed})
    adj.body_bytes = limits.body_bytes
    adj.body_max_bytes = limits.body_bytes - BODY_MARGIN
    return adj


def _allow_descriptors(wanted: int) -> None:
    """Raise the soft limit to `wanted`, as far as the hard limit allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    allowed = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if soft != resource.RLIM_INFINITY and allowed > soft:
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
