"""A call: everything that a use case needs to know of the request that it serves, and no request."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from uuid import UUID

from limits import RateLimitItem
from sqlalchemy import Connection

from secretsvc.kernel.actors import Actor
from secretsvc.kernel.authorization import GrantSnapshot
from secretsvc.kernel.budget import PlaintextReservation
from secretsvc.kernel.crypto import KeyRing
from secretsvc.kernel.errors import RateLimited
from secretsvc.kernel.settings import Settings
from secretsvc.kernel.transaction_mode import Mode


@dataclass(frozen=True, slots=True)
class Denial:
    """A refusal to be written once the main transaction is closed.

    Where the thing is `absent`, the id is of something else, and nothing of it is kept (contract 3.10).
    """

    action: str
    project_id: UUID | None = None
    environment_id: UUID | None = None
    absent: bool = False


@dataclass(slots=True)
class IdempotencyKey:
    """What a client wants done once, however often it asks (contract 8.2).

    `asked` are bytes that only equal input has. `replayed` says that the first success is the answer.
    """

    key: str
    asked: bytes = field(repr=False)
    replayed: bool = False


#: Adds an amount to the count that has these names, and releases it if the transaction is undone.
Counter = Callable[[RateLimitItem, int, tuple[str, ...]], None]


@dataclass
class UseCaseContext:
    """One actor, one snapshot of grants, one clock value (epoch milliseconds), one transaction."""

    actor: Actor
    snapshot: GrantSnapshot
    now: int
    request_id: str
    settings: Settings
    connect: Callable[[Mode], Connection]
    abandon: Callable[[], None]
    load_ring: Callable[[], KeyRing]
    denials: list[Denial] = field(default_factory=list)
    #: How the main transaction begins: set once, from what the operation declares.
    mode: Mode = Mode.SNAPSHOT
    #: What it holds of the bound on plaintext. Without one it is not bounded, as commands are not.
    admission: PlaintextReservation | None = None
    once: IdempotencyKey | None = None
    #: None in commands, which have no limits.
    counter: Counter | None = None
    #: Where the request came from, None where no proxy is trusted to say so.
    client_address: str | None = None

    @cached_property
    def connection(self) -> Connection:
        """The connection of the main transaction, begun at the first use."""
        return self.connect(self.mode)

    def restart(self, mode: Mode | None = None) -> None:
        """Roll back the transaction; the next statement begins another, in `mode` or the operation's own."""
        self.__dict__.pop("connection", None)
        self.abandon()
        if mode is not None:
            self.__dict__["connection"] = self.connect(mode)

    def admit(self, size: int) -> None:
        """To be called before values of so many bytes are opened to be held at once. Raises `Unavailable`."""
        if self.admission is not None:
            self.admission.grow(size)

    def count(
        self, limit: RateLimitItem, amount: int, names: tuple[str, ...], *, setting: str, message: str
    ) -> None:
        """Adds to a count that a setting limits, unless this transaction is undone. Raises `RateLimited`."""
        if self.counter is None:
            return
        try:
            self.counter(limit, amount, names)
        except RateLimited as error:
            raise RateLimited(error.retry_after, message, setting=setting) from None

    @property
    def ring(self) -> KeyRing:
        """The master key ring. Raises `ServerMisconfigured` where there is none."""
        return self.load_ring()
