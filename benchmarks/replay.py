"""Whether `audit verify` says that all is well for 100,000 honest records while writers run.

A tenth of the records are changes of all that a replay follows, made through the API; the others are reads.
Prints how many records are sealed, what is wrong, the seconds, and how many changes were made meanwhile.
"""

from __future__ import annotations

import time

from audited_writers import fill, verified, writing
from bench import ENGINES, databases, options_of, service_over
from service import arrange

from secretsvc.sealedlog.models import audit_head

CHANGES, READS, WRITERS = 10_000, 90_000, 4


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("--changes", type=int, default=CHANGES)
    parser.add_argument("--reads", type=int, default=READS)
    options = parser.parse_args()
    for engine in options.engine or ENGINES:
        with databases(engine) as made, service_over(made) as service:
            arrange(service)
            fill(service, options.changes, options.reads)
            [head] = service.rows(audit_head)
            print(f"{engine}: {head['size']} records are sealed", flush=True)
            with writing(service, WRITERS) as steps:
                before, began = sum(steps), time.perf_counter()
                problems = verified(service)
                took = time.perf_counter() - began
                meanwhile = sum(steps) - before
            print(f"{engine}: {len(problems)} problems, {took:.1f} s, {meanwhile} changes meanwhile")
            if problems:
                raise SystemExit("\n".join(problems[:10]))


if __name__ == "__main__":
    main()
