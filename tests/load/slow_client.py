"""A package that an operator might include: requests take as long as they ask for, once they are admitted.

Each says on stderr that it has begun.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

from pyramid.tweens import INGRESS

HEADER = "X-Dawdle"
BEGUN = b"a request dawdles"


def dawdling_tween(handler: Callable[[Any], Any], _registry: Any) -> Callable[[Any], Any]:
    def tween(request: Any) -> Any:
        seconds = float(request.headers.get(HEADER, 0))
        if seconds:
            print(BEGUN.decode(), file=sys.stderr, flush=True)
            time.sleep(seconds)
        return handler(request)

    return tween


def includeme(config: Any) -> None:
    config.add_tween("load.slow_client.dawdling_tween", under=INGRESS)
