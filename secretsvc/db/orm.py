"""An ORM session for packages that want one: over the connection and the transaction that a request has."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, NoReturn, cast

from sqlalchemy import Connection, RootTransaction, TextClause, event
from sqlalchemy.orm import ORMExecuteState, Session

from secretsvc.db.engine import mode_of

if TYPE_CHECKING:
    from transaction import Transaction, TransactionManager

_READS = re.compile(r"\s*(select|with|values)\b", re.IGNORECASE)


class WroteWhileReading(Exception):
    """A request that only reads was to write through its ORM session."""


class TransactionOwnedByRequest(Exception):
    """The end of the transaction is for the request to decide: by raising, or by returning."""


class RequestSession(Session):
    """Joins the transaction of whatever `connect` returns, and is flushed right before that is committed.

    What was loaded stays readable afterwards; what was not cannot be loaded any more.
    """

    def __init__(self, connect: Callable[[], Connection], manager: TransactionManager) -> None:
        super().__init__(expire_on_commit=False, join_transaction_mode="rollback_only")
        self._connect = connect
        self._begun: RootTransaction | None = None
        # It hears of the transaction that there is, and of the one after a restart. Held weakly.
        manager.registerSynch(self)

    def get_bind(self, *_arguments: object, **_options: object) -> Connection:
        """The request's connection, in its transaction."""
        connection = self._connect()
        if self._begun is None:
            self._begun = connection.get_transaction() or connection.begin()
        return connection

    def commit(self) -> NoReturn:
        """Raises `TransactionOwnedByRequest`: `flush` sends what is pending."""
        raise TransactionOwnedByRequest()

    rollback = commit

    def refuse_to_write(self) -> None:
        """Passes where the request's transaction was begun to write. Raises `WroteWhileReading`."""
        if not mode_of(self.get_bind()).writes:
            raise WroteWhileReading()

    def newTransaction(self, transaction: Transaction) -> None:  # the name is the transaction package's
        """Of the request's transaction manager."""
        transaction.addBeforeCommitHook(self._flush_at_end)

    def beforeCompletion(self, _transaction: object) -> None:  # as above
        """The hook before a commit comes earlier, while others can still join."""

    def afterCompletion(self, _transaction: object) -> None:  # as above
        """Lets go of what belonged to the transaction."""
        self.close()
        self._begun = None

    def _flush_at_end(self) -> None:
        self.flush()
        if self._begun is not None and not self._begun.is_active:
            # A flush failed and somebody went on: what is left to be committed is only a part.
            raise TransactionOwnedByRequest()


@event.listens_for(RequestSession, "before_flush")
def _before_flush(session: RequestSession, *_rest: object) -> None:
    session.refuse_to_write()


@event.listens_for(RequestSession, "do_orm_execute")
def _before_execute(state: ORMExecuteState) -> None:
    statement = state.statement
    writes = state.is_insert or state.is_update or state.is_delete
    if writes or (isinstance(statement, TextClause) and not _READS.match(statement.text)):
        cast(RequestSession, state.session).refuse_to_write()
