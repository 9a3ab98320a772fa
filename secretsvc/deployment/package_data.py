"""What `setup.py` ships of the source's top level: migrations, samples, exact versions."""

from __future__ import annotations

from pathlib import Path

PACKAGE = Path(__file__).parent.parent
_INSIDE = PACKAGE / "shipped"


def is_inside() -> bool:
    """Whether they are in the package, as a wheel has them, and not beside it, as in a source tree."""
    return _INSIDE.is_dir()


def shipped(name: str) -> Path:
    """Where such a file or folder is, by its path in the source."""
    return (_INSIDE if is_inside() else PACKAGE.parent) / name
