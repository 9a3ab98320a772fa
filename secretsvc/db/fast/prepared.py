"""Statements of the shortest requests: written in Core, compiled once, and executed by the driver itself."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection, Dialect, Insert, Update

from secretsvc.db.engine import mode_of, set_mode
from secretsvc.db.fast import flags
from secretsvc.db.fast.driver import CHUNK, driver_cursor, streamed
from secretsvc.db.fast.result_types import reader_of
from secretsvc.db.types import CompoundQuery, Query
from secretsvc.kernel.transaction_mode import Mode

Processor = Callable[[Any], Any]
Statement = Query | CompoundQuery | Insert | Update


class Prepared:
    """A Core statement without what SQLAlchemy does anew for each execution (see README.md).

    It takes no expanding parameters.
    """

    def __init__(self, statement: Statement) -> None:
        self.statement = statement
        self._forms: dict[str, _Form] = {}

    def rows(self, connection: Connection, parameters: Mapping[str, object]) -> Sequence[Any]:
        """All rows, as named tuples in the types of the statement's columns."""
        if not flags.ENABLED:
            return self._plain(connection, parameters)
        return [*map(self._form(connection.dialect).make_row, self.tuples(connection, parameters))]

    def tuples(self, connection: Connection, parameters: Mapping[str, object]) -> Iterator[Any]:
        """As `rows`, without names: to give them to 500 rows takes as long as to fetch these."""
        if not flags.ENABLED:
            return iter(self._plain(connection, parameters))
        form = self._form(connection.dialect)
        values = form.values(parameters)
        with driver_cursor(connection, form.text, values) as cursor:
            # SQLite finds the rows only when they are fetched.
            fetched = cursor.execute(form.text, values).fetchall()
        return form.each(fetched)

    @contextmanager
    def streamed(self, connection: Connection, parameters: Mapping[str, object]) -> Iterator[Iterator[Any]]:
        """As `tuples`, of which only a few are in memory at once; see `driver.streamed`."""
        if flags.ENABLED:
            form = self._form(connection.dialect)
            with streamed(connection, form.text, form.values(parameters)) as rows:
                yield form.each(rows)
        else:
            if mode_of(connection) is Mode.AUTOCOMMIT:
                # SQLAlchemy streams by a cursor of PostgreSQL's server, which lives in a transaction only.
                set_mode(connection, Mode.SNAPSHOT)
            options = {"yield_per": CHUNK}
            with connection.execute(self.statement, parameters, execution_options=options) as result:
                yield iter(result)

    def run(self, connection: Connection, parameters: Mapping[str, object]) -> None:
        """Executes what has no rows to return."""
        if not flags.ENABLED:
            self._plain(connection, parameters)
            return
        form = self._form(connection.dialect)
        values = form.values(parameters)
        with driver_cursor(connection, form.text, values) as cursor:
            cursor.execute(form.text, values)

    def _plain(self, connection: Connection, parameters: Mapping[str, object]) -> Sequence[Any]:
        result = connection.execute(self.statement, parameters)
        rows = result.all() if result.returns_rows else []
        if mode_of(connection) is Mode.AUTOCOMMIT:
            # SQLAlchemy counts a statement as the beginning of a transaction, though no BEGIN was sent.
            connection.commit()
        return rows

    def _form(self, dialect: Dialect) -> _Form:
        form = self._forms.get(dialect.name)
        if form is None:
            form = self._forms[dialect.name] = _Form(self.statement, dialect)
        return form


class _Form:
    """What one database's driver is given for a statement, and what becomes of its answer."""

    def __init__(self, statement: Statement, dialect: Dialect) -> None:
        compiled: Any = statement.compile(dialect=dialect)
        self.text: str = compiled.string
        self._positional = compiled.positional
        self._constants: dict[str, object] = compiled.params
        # A name may stand at several positions; its value is processed once.
        self._positions: Sequence[str] = compiled.positiontup if compiled.positional else ()
        self._processors: list[tuple[str, Processor]] = [
            (name, process)
            for name in compiled.params
            if (process := compiled.binds[name].type.dialect_impl(dialect).bind_processor(dialect))
        ]
        columns = list(statement.exported_columns)
        row_type: Any = namedtuple("Row", [one.key for one in columns])  # type: ignore[misc]  # names known only here
        self.make_row: Callable[[Sequence[object]], Any] = row_type._make
        readers = [reader_of(one.type, dialect) for one in columns]
        self._readers = [(index, reader) for index, reader in enumerate(readers) if reader is not None]

    def values(self, parameters: Mapping[str, object]) -> Sequence[object] | Mapping[str, object]:
        """The parameters, and the statement's own constants, as the driver takes them."""
        given = {**self._constants, **parameters}
        for name, process in self._processors:
            given[name] = process(given[name])
        return [given[name] for name in self._positions] if self._positional else given

    def each(self, fetched: Iterable[Sequence[object]]) -> Iterator[Sequence[object]]:
        """The driver's rows in the types of the columns."""
        return map(self._converted, fetched) if self._readers else iter(fetched)

    def _converted(self, row: Sequence[object]) -> Sequence[object]:
        values = list(row)
        for index, read in self._readers:
            values[index] = read(values[index])
        return values
