"""Toolchains of other languages, which a machine may have or not; where one is missing, its tests say so.

What they install is kept between runs, each lock file's in a folder of its own.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest

INSTALLED = Path(__file__).parent.parent / ".pytest_cache" / "toolchains"
INSTALL_SECONDS = 300


def program_of(language: str, program: str) -> str:
    """The path of a program; skips the test where there is none."""
    found = shutil.which(program)
    if found is None:
        pytest.skip(f"{program} is missing, and with it {language}")
    return found


def node_of(version: str) -> str:
    """The path of Node.js of at least this version; skips the test where there is none."""
    node = program_of("Node.js", "node")
    found = subprocess.run([node, "--version"], check=True, capture_output=True, text=True).stdout.strip()
    if _numbers(found.removeprefix("v")) < _numbers(version):
        pytest.skip(f"Node.js {found} is too old; {version} or later is needed")
    return node


def _numbers(version: str) -> list[int]:
    return [int(number) for number in version.split(".")]


def installed_by_npm(source: Path) -> Path:
    """A folder with the files of `source` and what its lock file names."""
    npm = program_of("Node.js", "npm")
    return _installed(source, [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"])


def built_by_go(source: Path) -> Path:
    """A folder with the files of `source` and the program `reader` that its `go.sum` vouches for."""
    go = program_of("Go", "go")
    return _installed(source, [go, "build", "-mod=readonly", "-o", "reader", "."])


def built_by_cargo(source: Path) -> Path:
    """A folder with the files of `source` and, in `target/release`, what they make.

    Without a lock file, which would name a registry: exact versions and no further dependencies do.
    """
    cargo = program_of("Rust", "cargo")
    return _installed(source, [cargo, "build", "--release", "--quiet"])


def _installed(source: Path, command: list[str]) -> Path:
    files = sorted(path for path in source.iterdir() if path.is_file())
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()
    folder = INSTALLED / digest[:16]
    if folder.exists():
        return folder
    INSTALLED.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=INSTALLED) as name:
        draft = Path(name) / "draft"
        draft.mkdir()
        for path in files:
            shutil.copy(path, draft)
        done = subprocess.run(command, cwd=draft, capture_output=True, text=True, timeout=INSTALL_SECONDS)
        if done.returncode:
            pytest.skip(f"{Path(command[0]).name} failed: {' '.join(done.stderr.splitlines()[:3])}")
        # Another run may have come first.
        with suppress(OSError):
            draft.rename(folder)
    return folder
