"""A package that does what none may: it prints and logs its input. It shows that the search can find."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from typing import Any

from pyramid.tweens import INGRESS
from service import HEADER

log = logging.getLogger(__name__)


def tattling_tween(handler: Callable[..., Any], _registry: Any) -> Callable[..., Any]:
    def tween(request: Any) -> Any:
        log.debug("body %r", request.body)
        log.debug("assertion %s", request.headers.get(HEADER))
        print(os.environ["MASTER_KEY"])
        return handler(request)

    return tween


def includeme(config: Any) -> None:
    config.add_tween(f"{__name__}.tattling_tween", under=INGRESS)
