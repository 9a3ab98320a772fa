"""Makes the single file: `build_file.py TARGET FOLDER…`, each folder one of packages that it carries.

It is the same for the same sources and Python. Beside each source stands what this Python makes of it; other
Pythons take the source.
"""

from __future__ import annotations

import importlib.util
import io
import marshal
import os
import stat
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

PACKAGES = ("secretsvc_client", "tomli")
#: In the syntax of any Python, so that an old one can read it and report its age.
MAIN = """\
import sys
from secretsvc_client.cli import main
sys.exit(main())
"""
#: The first that a zip file can hold.
_DATE = (1980, 1, 1, 0, 0, 0)


def sources(folders: list[Path]) -> Iterator[tuple[str, bytes]]:
    """Name and content of each module, and of what licenses ask to be with it."""
    yield "__main__.py", MAIN.encode()
    for folder in folders:
        for package in PACKAGES:
            for path in sorted((folder / package).rglob("*.py")):
                yield path.relative_to(folder).as_posix(), path.read_bytes()
        for path in sorted(folder.glob("tomli-*/**/LICENSE*")):
            yield path.relative_to(folder).as_posix(), path.read_bytes()


def compiled(name: str, source: bytes) -> bytes:
    """What Python keeps of a module, as one that is never compared with its source."""
    code = compile(source, name, "exec", dont_inherit=True, optimize=0)
    unchecked = (0b01).to_bytes(4, "little") + importlib.util.source_hash(source)
    return importlib.util.MAGIC_NUMBER + unchecked + marshal.dumps(code)


def build(target: Path, folders: list[Path]) -> None:
    """Writes the file, which may be run."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        for name, source in sources(folders):
            file.writestr(zipfile.ZipInfo(name, _DATE), source, zipfile.ZIP_DEFLATED)
            if name.endswith(".py"):
                made = zipfile.ZipInfo(name + "c", _DATE)
                file.writestr(made, compiled(name, source), zipfile.ZIP_DEFLATED)
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = target.with_name(target.name + ".new")
    draft.write_bytes(b"#!/usr/bin/env python3\n" + archive.getvalue())
    draft.chmod(draft.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
    os.replace(draft, target)


if __name__ == "__main__":
    build(Path(sys.argv[1]), [Path(folder) for folder in sys.argv[2:]])
