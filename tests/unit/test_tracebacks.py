"""Once an error is answered no traceback is left, which would hold its request."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from secretsvc.web.errors import traceback_tween


@dataclass(frozen=True)
class Frozen(Exception):
    """As a plugin may declare one."""

    why: str


def raised(error: BaseException, cause: BaseException | None = None) -> BaseException:
    """An error with the traceback of its frame."""
    try:
        raise error from cause
    except BaseException as caught:
        return caught


def test_tracebacks_go_along_causes_and_contexts_round_and_round_and_of_what_cannot_be_set() -> None:
    cause, context = raised(KeyError("cause")), raised(Frozen("context"))
    error = raised(ValueError("error"), cause)
    error.__context__ = context
    BaseException.__setattr__(context, "__context__", error)
    request: Any = SimpleNamespace(exception=error, exc_info=(ValueError, error, error.__traceback__))
    assert traceback_tween(lambda _: "answer", SimpleNamespace())(request) == "answer"  # type: ignore[arg-type,comparison-overlap]
    assert [one.__traceback__ for one in (error, cause, context)] == [None] * 3
    assert request.exc_info == (ValueError, error, None)
