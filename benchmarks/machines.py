"""What reading one value costs in CPU with a service token and with a workload's token, beside an assertion.

The base is the access proxy's assertion where nothing else is switched on. Each pair is so many reads of the
one and of the other, request by request in turn. The ratio is that of the pairs' CPU seconds: its mean, and
the upper end of its interval of 95 %.
"""

from __future__ import annotations

import math
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from bench import ENGINES, HEADER, Report, Request, Service, databases, options_of
from service import arrange
from tokens import TestIssuer

from secretsvc.kernel.clock import now_ms

PAIRS, READS, GOAL = 30, 60, 1.1
#: Student's t of 29 degrees of freedom, both sides.
T_95 = 2.045
ROBOT = "deploy.robot"
VALUE = "/projects/shop/environments/prod/secrets/KEY"
DEFAULTS = {"LAST_SEEN_RESOLUTION": "3600000"}


class Bearing(Request):
    """A read with a token in a header of its own."""

    def __init__(self, service: Service, token: str, header: str = HEADER) -> None:
        super().__init__(service, ROBOT, "GET", VALUE, 200)
        del self.environ["HTTP_" + HEADER.upper().replace("-", "_")]
        self.environ["HTTP_" + header.upper().replace("-", "_")] = token

    def cpu(self) -> float:
        """The CPU seconds that it took this process."""
        began = time.process_time()
        self.send()
        return time.process_time() - began


def readers(url: str, proxy: TestIssuer, ci: TestIssuer) -> Iterator[tuple[str, Bearing]]:
    """The base first: each may read by a grant of its own, and was seen just now."""
    entry = {
        name.replace("WORKLOAD_CI_", "WORKLOAD.CI."): value
        for name, value in ci.workload_environment("ci").items()
    }
    alone = Service(url, proxy, **DEFAULTS)
    all_in = Service(url, proxy, **DEFAULTS, SERVICE_TOKENS="on", WORKLOAD_ISSUERS="ci", **entry)
    admin = arrange(all_in)
    admin.post(VALUE.replace("/KEY", ":batch"), {"mode": "merge", "set": {"KEY": "value"}})
    for subject in (ROBOT, "ci:job-1"):
        all_in.grant(all_in.identity_id(subject, "service"), "reader", "shop/prod")
    path = f"/identities/{all_in.identity_id(ROBOT, 'service')}/tokens"
    token = admin.post(path, {"name": "ci", "expires_at": now_ms() + 86_400_000}, 201).json["token"]
    yield "assertion", Bearing(alone, proxy.service(ROBOT))
    yield "assertion, all on", Bearing(all_in, proxy.service(ROBOT))
    yield "service token", Bearing(all_in, f"Bearer {token}", "Authorization")
    yield "workload token", Bearing(all_in, f"Bearer {ci.workload()}", "Authorization")


def pair(base: Bearing, other: Bearing) -> tuple[float, float]:
    """CPU seconds of so many reads of each."""
    taken = [0.0, 0.0]
    for number in range(READS):
        for index in (0, 1) if number % 2 else (1, 0):
            taken[index] += (base, other)[index].cpu()
    return taken[0], taken[1]


def main() -> None:
    options = options_of(__doc__).parse_args()
    report = Report(__file__, "assertion", "upper 95 %")
    for engine in options.engine or ENGINES:
        with databases(engine) as made, tempfile.TemporaryDirectory(prefix="secretsvc-issuers-") as folder:
            for name in ("proxy", "ci"):
                (Path(folder) / name).mkdir()
            proxy = TestIssuer(Path(folder) / "proxy")
            ci = TestIssuer(Path(folder) / "ci", "https://ci.example.com", "secrets")
            (_, base), *others = readers(made.create(), proxy, ci)
            for name, other in others:
                pair(base, other)
                pairs = [pair(base, other) for _ in range(PAIRS)]
                ratios = [second / first for first, second in pairs]
                mean = statistics.mean(ratios)
                upper = mean + T_95 * statistics.stdev(ratios) / math.sqrt(PAIRS)
                per_read = statistics.median(first for first, _ in pairs) / READS * 1e6
                line = f"{name}, mean {mean:.3f}"
                report.add(engine, line, per_read, per_read * upper, ratio=upper, goal=GOAL)
    report.save(options.json)


if __name__ == "__main__":
    main()
