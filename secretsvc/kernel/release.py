"""Which release of secretsvc this is."""

from __future__ import annotations

from importlib.metadata import version

VERSION = version("secretsvc")
