"""The operations that applications wait for, beside the floor of the same run, on both engines.

The floor (`floor.py`) does what cannot be left out and nothing else. Both are called in process with an
environ made beforehand, in turns; a ratio is the median of the rounds' ratios. `--versions` measures with so
long a history; `--profile` prints where the service spends its time instead.
"""

from __future__ import annotations

import random
import time
from argparse import Namespace
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import orjson
from bench import ENGINES, Report, Request, Service, compared, databases, in_turn, options_of, service_over
from floor import make_floor
from query_plans import lengthen
from service import arrange

ADA = "ada@example.com"
COUNT = 500
ENVIRONMENT = "/projects/shop/environments/prod"


class Operation(NamedTuple):
    """A request to the service, the like of it to the floor, and the goals by engine."""

    name: str
    method: str
    ours: str
    floor: str
    goals: dict[str, float]
    body: bytes = b""
    tag: str = ""
    status: int = 200


#: Each operation with the medians of the floor and of the service, and their ratio.
Measure = Callable[[str, Namespace], Iterator[tuple[Operation, float, float, float]]]


def by_engine(postgresql: float, sqlite: float) -> dict[str, float]:
    return {"postgresql": postgresql, "sqlite": sqlite}


def secrets() -> dict[str, str]:
    generator = random.Random(7)
    return {f"KEY_{number:03}": generator.randbytes(32).hex() for number in range(COUNT)}


BATCH = orjson.dumps({"mode": "merge", "set": secrets()})
ONE = orjson.dumps({"mode": "merge", "set": {"KEY_250": "f" * 64}})
OPERATIONS = (
    Operation(
        "read one",
        "GET",
        "/secrets/KEY_250",
        "/secrets/KEY_250",
        by_engine(1.5, 1.8),
    ),
    Operation("list 500", "GET", "/secrets", "/secrets", by_engine(1.6, 1.5)),
    Operation("export 500", "GET", "/secrets:export", "/secrets/export", by_engine(1.5, 1.4)),
    Operation("export, 304", "GET", "/secrets:export", "/secrets/export", {}, tag="*", status=304),
    Operation("write one", "POST", "/secrets:batch", "/secrets/batch", by_engine(1.6, 1.7), ONE),
    Operation("batch of 500 writes", "POST", "/secrets:batch", "/secrets/batch", by_engine(1.6, 1.3), BATCH),
)


def fill(service: Service) -> None:
    """An environment of 500 secrets; the caller may write there by itself, and read by its group."""
    arrange(service, "shop", "prod")
    service.grant(ADA, "writer", "shop/prod")
    service.grant(service.group("crew", ADA), "reader", "shop", group=True)
    request_of(service, OPERATIONS[-1]).send()
    service.execute("ANALYZE")


def request_of(service: Service, operation: Operation, app: Any = None) -> Request:
    path = operation.ours if app is None else operation.floor
    target, status = ENVIRONMENT + path, operation.status
    request = Request(service, ADA, operation.method, target, status, body=operation.body, app=app)
    if operation.tag:
        request.environ["HTTP_IF_NONE_MATCH"] = operation.tag
    return request


def floor_over(service: Service) -> Any:
    """The floor's application over the service's database, whose secrets it seals anew."""
    batch = request_of(service, OPERATIONS[-1])
    app = make_floor(service.engine.name, service.url, {batch.token: ADA})
    request_of(service, OPERATIONS[-1], app).send()
    return app


def measure(engine: str, options: Namespace) -> Iterator[tuple[Operation, float, float, float]]:
    """Each operation with the medians of the floor and of the service, and their ratio."""
    with databases(engine) as made, service_over(made) as service, service_over(made) as other:
        for one in (service, other):
            fill(one)
            if options.versions:
                # The present versions are written anew below: those that this makes cannot be opened.
                lengthen(one, options.versions // COUNT)
        floor = floor_over(other)
        request_of(service, OPERATIONS[-1]).send()
        for operation in chosen(options):
            pair = request_of(other, operation, floor), request_of(service, operation)
            rounds = in_turn(pair, rounds=options.rounds, seconds=options.seconds, share=options.share)
            yield operation, *compared(rounds)


def chosen(options: Namespace, *more: Operation) -> list[Operation]:
    return [one for one in (*OPERATIONS, *more) if not options.only or options.only in one.name]


def profile(engine: str, options: Namespace) -> None:
    """The service alone, under pyinstrument, which is not one of the requirements."""
    from pyinstrument import Profiler

    with databases(engine) as made, service_over(made) as service:
        fill(service)
        for operation in chosen(options):
            request = request_of(service, operation)
            with Profiler(interval=0.0002) as profiler:
                in_turn((request,), rounds=1, seconds=options.seconds * options.rounds)
            print(f"\n{engine}: {operation.name}")
            print(profiler.output_text(show_all=False, processor_options={"filter_threshold": 0.015}))


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=0.5, help="of each side in each round")
    parser.add_argument(
        "--share", type=float, default=0.5, help="less than a half where others use the machine"
    )
    parser.add_argument("--cpu", action="store_true", help="CPU time of the process: no waiting, no server")
    parser.add_argument("--only", help="part of the name of an operation")
    parser.add_argument("--versions", type=int, default=0, help="how many the 500 secrets have")
    parser.add_argument("--profile", action="store_true")
    options = parser.parse_args()
    if options.cpu:
        Request.clock = staticmethod(time.process_time)
    if not options.profile:
        report(__file__, measure, options)
        return
    for engine in options.engine or ENGINES:
        profile(engine, options)


def report(script: str, measure: Measure, options: Namespace) -> None:
    """The table of the operations that a script has measured."""
    table = Report(script, "floor", "ours")
    for engine in options.engine or ENGINES:
        for operation, base, ours, ratio in measure(engine, options):
            table.add(engine, operation.name, base, ours, ratio=ratio, goal=operation.goals.get(engine))
    table.save(options.json)


if __name__ == "__main__":
    main()
