"""What an auditor pastes from docs/audit.md."""

from __future__ import annotations

import pytest
from pasting import blocks, pasted
from processes import ROOT
from rotation import Operator
from service import MASTER_KEY

PAGE = (ROOT / "docs" / "audit.md").read_text("utf-8")
WELL = "All is as it was sealed.\n"


@pytest.mark.engine_neutral
def test_an_auditor_keeps_a_key_and_a_checkpoint_and_comes_again(vault, database_url, tmp_path):
    given = Operator(tmp_path, database_url).environment({"MASTER_KEY": MASTER_KEY})
    first, again, read = blocks(PAGE, "For an auditor")
    vault.set(A="x")
    pasted(first, tmp_path, given)
    vault.batch(set={"A": "y"}, descriptions={"A": "of A"})
    assert pasted(again, tmp_path, given).count(WELL) == 2
    assert "root@example.com" in pasted(read, tmp_path, given)
