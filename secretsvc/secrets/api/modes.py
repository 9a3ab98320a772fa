"""How the transactions of writes of secrets begin, by their input."""

from __future__ import annotations

from secretsvc.kernel.transaction_mode import Mode
from secretsvc.web.request import ServiceRequest


def mode_of_write(request: ServiceRequest) -> Mode:
    """A dry run waits for no other writer."""
    return Mode.SNAPSHOT if request.body_values.get("dry_run") else Mode.WRITE
