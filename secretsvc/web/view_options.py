"""What a view deriver tells Pyramid of itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

Deriver = TypeVar("Deriver", bound=Callable[..., object])


def reads_option(name: str) -> Callable[[Deriver], Deriver]:
    """Marks a view deriver that reads an option of views; without one, Pyramid refuses such views."""

    def mark(deriver: Deriver) -> Deriver:
        marked: Any = deriver
        marked.options = (name,)
        return deriver

    return mark
