"""A package that an operator might include: requests take as long as they ask for, once they are admitted."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from pyramid.tweens import INGRESS

HEADER = "X-Dawdle"


def dawdling_tween(handler: Callable[[Any], Any], _registry: Any) -> Callable[[Any], Any]:
    def tween(request: Any) -> Any:
        time.sleep(float(request.headers.get(HEADER, 0)))
        return handler(request)

    return tween


def includeme(config: Any) -> None:
    config.add_tween("load.dawdler.dawdling_tween", under=INGRESS)
