"""What is locked stays locked until a transaction ends: without one there is no lock."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from secretsvc.db.engine import set_mode
from secretsvc.kernel.authorization import ScopePath
from secretsvc.kernel.transaction_mode import Mode
from secretsvc.projects.rules import lock_environment


def test_a_call_that_reads_without_a_transaction_locks_nothing() -> None:
    connection: Any = SimpleNamespace(info={})
    call: Any = SimpleNamespace(connection=set_mode(connection, Mode.AUTOCOMMIT))
    with pytest.raises(RuntimeError, match="writes nothing"):
        lock_environment(call, ScopePath("shop", "prod"))
