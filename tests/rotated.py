"""A file that the real logrotate rotates by the rule that we ship."""

from __future__ import annotations

import gzip
import json
import re
import subprocess
from pathlib import Path

from processes import ROOT

RULE = "secretsvc-audit.logrotate"
#: Rotated files that are kept, so that a test can read all of them.
KEPT = 1000


class Rotated:
    """The file, by the shipped rule or by one that copies and truncates."""

    def __init__(self, path: Path, program: str, *, copies: bool) -> None:
        self.path, self._program = path, program
        text = (ROOT / "deploy" / RULE).read_text("utf-8")
        # Only root may become another user.
        for old, new in [
            (r"(?m)^/var\S+", str(path)),
            (r"\n +su .*", ""),
            (r"(?m)rotate \d+$", f"rotate {KEPT}"),
        ]:
            text, found = re.subn(old, new, text)
            assert found == 1
        if copies:
            text = text.replace("create 0600", "copytruncate")
        self._rule = path.parent / "rule"
        self._rule.write_text(text)
        self._rule.chmod(0o600)

    def rotate(self) -> None:
        """Run logrotate as if a day had passed."""
        command = [self._program, "--force", "--state", str(self.path.parent / "state"), str(self._rule)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")

    def files(self) -> list[Path]:
        """All files with lines, oldest first."""
        found = {
            int(named[1]): one
            for one in self.path.parent.iterdir()
            if (named := re.fullmatch(rf"{re.escape(self.path.name)}\.(\d+)(\.gz)?", one.name))
        }
        present = [self.path] if self.path.exists() else []
        return [*(found[number] for number in sorted(found, reverse=True)), *present]

    def content(self) -> bytes:
        """That of all files, oldest first."""
        read = ((one.suffix, one.read_bytes()) for one in self.files())
        return b"".join(gzip.decompress(found) if suffix == ".gz" else found for suffix, found in read)

    def indexes(self) -> list[int]:
        """Those of all lines."""
        return [json.loads(line)["index"] for line in self.content().splitlines()]
