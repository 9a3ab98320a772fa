"""What the fast path to the database buys: the CPU time of a request without it, and with it.

Both are measured in turns in one process: all of it, or one piece alone (`--piece`). A pair's ratio hardly
depends on what else the machine does; the mean of the ratios is geometric, with its bounds of 95 %. The
database's own processes are not in it.
"""

from __future__ import annotations

import gc
import math
import statistics
import time
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from bench import ENGINES, Request, databases, options_of, service_over
from operations import Operation, chosen, fill, request_of

from secretsvc.db.engine import mode_of
from secretsvc.db.fast import flags, prepared
from secretsvc.db.fast.prepared import Prepared
from secretsvc.kernel.transaction_mode import Mode
from secretsvc.secrets.write import apply_plan

#: By a stream, as the matrix and the editor, and whatever is over a mebibyte.
AT_REVISION = Operation("500 at a revision", "GET", "/secrets?rev=1", "", {})
#: Of Student's distribution with 29 degrees of freedom.
PAIRS, QUANTILE = 30, 2.045


@contextmanager
def plainly() -> Iterator[None]:
    """Executes by `Connection.execute` what is executed within."""
    flags.ENABLED = False
    try:
        yield
    finally:
        flags.ENABLED = True


@contextmanager
def plain_stream(*arguments: Any, streamed: Any = Prepared.streamed) -> Iterator[Any]:
    """Stands for `Prepared.streamed`: SQLAlchemy asks for each 16 rows."""
    with plainly(), streamed(*arguments) as rows:
        yield rows


class Executed:
    """Stands for the driver's cursor: SQLAlchemy makes one, with a context and a result."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def execute(self, text: str, values: Any) -> Executed:
        self._result = self._connection.exec_driver_sql(
            text, tuple(values) if isinstance(values, list) else values
        )
        return self

    def fetchall(self) -> Any:
        return self._result.fetchall()


@contextmanager
def plain_cursor(connection: Any, _text: str, _values: object) -> Iterator[Executed]:
    """Stands for `driver_cursor`."""
    yield Executed(connection)
    if mode_of(connection) is Mode.AUTOCOMMIT:
        connection.commit()


#: What is put in the place of what, to measure without a piece.
PIECES: dict[str, list[tuple[object, str, object]]] = {
    "all": [(flags, "ENABLED", False)],
    "stream": [(Prepared, "streamed", plain_stream)],
    "cursor": [(prepared, "driver_cursor", plain_cursor)],
    "copy": [(apply_plan, "insert_many", plainly()(apply_plan.insert_many))],
}


def took(request: Request, count: int, piece: str | None = None) -> float:
    """The CPU seconds of one request, without a piece."""
    replaced = PIECES[piece] if piece else []
    kept = [(owner, name, getattr(owner, name)) for owner, name, _ in replaced]
    for one in replaced:
        setattr(*one)
    try:
        return _took(request, count)
    finally:
        for one in kept:
            setattr(*one)


def _took(request: Request, count: int) -> float:
    gc.collect()
    began = time.process_time()
    for _ in range(count):
        request.send()
    return (time.process_time() - began) / count


def ratios(request: Request, seconds: float, piece: str) -> list[float]:
    """Of each pair, without to with, whose halves take as many seconds."""
    for without in (piece, None):
        took(request, 20, without)
    count = max(3, round(seconds / took(request, 20)))
    found = []
    for pair in range(PAIRS):
        order = (piece, None) if pair % 2 else (None, piece)
        times = {without: took(request, count, without) for without in order}
        found.append(times[piece] / times[None])
    return found


def bounds(found: list[float]) -> tuple[float, float, float]:
    """The lower bound, the geometric mean and the upper bound."""
    logarithms = [math.log(one) for one in found]
    mean = statistics.fmean(logarithms)
    margin = QUANTILE * statistics.stdev(logarithms) / math.sqrt(PAIRS)
    return math.exp(mean - margin), math.exp(mean), math.exp(mean + margin)


def measure(engine: str, options: Namespace) -> None:
    with databases(engine) as made, service_over(made) as service:
        fill(service)
        for operation in chosen(options, AT_REVISION):
            lower, mean, upper = bounds(
                ratios(request_of(service, operation), options.seconds, options.piece)
            )
            print(f"{engine:<11}{operation.name:<24}{mean:>6.2f}  ({lower:.2f} to {upper:.2f})", flush=True)


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("--seconds", type=float, default=0.1, help="of each half of a pair")
    parser.add_argument("--piece", choices=PIECES, default="all", help="which is left out")
    parser.add_argument("--only", help="part of the name of an operation")
    options = parser.parse_args()
    for engine in options.engine or ENGINES:
        measure(engine, options)


if __name__ == "__main__":
    main()
