"""Who acts: what an assertion proves about its bearer, before any identity row is looked up."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """The two kinds of identity; nothing in authorization branches on them."""

    USER = "user"
    SERVICE = "service"


@dataclass(frozen=True, slots=True)
class Principal:
    """A proven caller. `subject` is in its normal form (`kernel.subjects`), unique only within `kind`."""

    kind: Kind
    subject: str
