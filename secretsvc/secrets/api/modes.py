"""How the transactions of reads and writes of secrets begin, by their input."""

from __future__ import annotations

from secretsvc.kernel.transaction_mode import Mode
from secretsvc.web.request import ServiceRequest


def mode_of_list(request: ServiceRequest) -> Mode:
    """One statement finds all that there is now (decision 0022)."""
    return Mode.AUTOCOMMIT if request.query_values.get("rev") is None else Mode.SNAPSHOT


def mode_of_export(request: ServiceRequest) -> Mode:
    """As for a list; another statement records what was read."""
    return Mode.AUTOCOMMIT if request.query_values.get("rev") is None else Mode.REVEAL


def mode_of_write(request: ServiceRequest) -> Mode:
    """A dry run waits for no other writer."""
    return Mode.SNAPSHOT if request.body_values.get("dry_run") else Mode.WRITE
