"""Columns of the tables that the log is compared with."""

from __future__ import annotations

import subprocess
import sys

import pytest
from sqlalchemy import Column, ForeignKey, MetaData, Table

from secretsvc.sealedlog.replay.stored_rows import as_read

#: Each audit command is a process of its own, which imports modules in another order than the tests.
FRESH = """
import secretsvc.commands
from secretsvc.deployment.cli import registry_of
from secretsvc.sealedlog.replay.stored_histories import _revision_rows, _version_rows
registry_of("production.ini")
print(*(type(rows().selected_columns[0].type).__name__ for rows in (_revision_rows, _version_rows)))
"""


def test_a_column_whose_type_is_not_known_yet_is_refused() -> None:
    table = Table("one", MetaData(), Column("other_id", ForeignKey("other.id")))
    with pytest.raises(TypeError, match="not known yet"):
        as_read(table.c.other_id)


@pytest.mark.slow
def test_a_fresh_process_reads_the_ids_of_environments_as_texts() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FRESH], capture_output=True, text=True, check=False
    )
    assert done.stdout == "IdText IdText\n", done.stderr
