"""Toolchains of other languages, which a machine may have or not; where one is missing, its tests say so.

What they install is kept between runs, each lock file's in a folder of its own.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest
from extent import amount

INSTALLED = Path(__file__).parent.parent / ".pytest_cache" / "toolchains"
INSTALL_SECONDS = 900


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


def built_by_go_if_quick(source: Path) -> Path:
    """Return `built_by_go` of `source`; unless the run is long, skip if Go must compile its modules."""
    go = program_of("Go", "go")
    if not (_folder_of(source).exists() or amount(False, True) or _has_compiled(go, source)):
        pytest.skip(f"the modules of {source.name} take minutes to compile, which make test-long does once")
    return built_by_go(source)


def _has_compiled(go: str, source: Path) -> bool:
    """Whether Go's caches have all modules of `source`, so that only its own package is to be compiled."""
    build = [go, "build", "-n", "-mod=readonly", "-o", os.devnull, "."]
    offline = {**os.environ, "GOPROXY": "off"}
    planned = subprocess.run(build, cwd=source, env=offline, capture_output=True, text=True)
    return planned.returncode == 0 and planned.stderr.count("/compile ") <= 1


def built_by_cargo(source: Path) -> Path:
    """A folder with the files of `source` and, in `target/release`, what they make.

    Without a lock file, which would name a registry: exact versions and no further dependencies do.
    """
    cargo = program_of("Rust", "cargo")
    return _installed(source, [cargo, "build", "--release", "--quiet"])


def go_folder(source: Path, folder: Path) -> str:
    """The path of Go, once `folder` is a copy of `source` whose modules can be had; its cache keeps them."""
    go = program_of("Go", "go")
    shutil.copytree(source, folder)
    done = subprocess.run([go, "mod", "download"], cwd=folder, capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"go failed: {' '.join(done.stderr.splitlines()[:3])}")
    return go


def installed_by_pip(source: Path) -> Path:
    """The path of a Python with what the `requirements.txt` of `source` names; its scripts were moved."""
    pip = ["venv/bin/python", "-m", "pip", "install", "--quiet", "-r", "requirements.txt"]
    return _installed(source, [sys.executable, "-m", "venv", "venv"], pip) / "venv" / "bin" / "python"


def installed_by_maven(source: Path) -> Path:
    """A folder with the files of `source` and, in `jars`, what its `pom.xml` names."""
    maven = program_of("Maven", "mvn")
    return _installed(source, [maven, "--quiet", "--batch-mode", "dependency:copy-dependencies"])


def _files_of(source: Path) -> list[Path]:
    return sorted(path for path in source.iterdir() if path.is_file())


def _folder_of(source: Path) -> Path:
    """Return where the tests keep what they install for these files."""
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in _files_of(source))).hexdigest()
    return INSTALLED / digest[:16]


def _installed(source: Path, *commands: list[str]) -> Path:
    folder = _folder_of(source)
    if folder.exists():
        return folder
    INSTALLED.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=INSTALLED) as name:
        draft = Path(name) / "draft"
        draft.mkdir()
        for path in _files_of(source):
            shutil.copy(path, draft)
        for command in commands:
            done = subprocess.run(command, cwd=draft, capture_output=True, text=True, timeout=INSTALL_SECONDS)
            if done.returncode:
                pytest.skip(f"{Path(command[0]).name} failed: {' '.join(done.stderr.splitlines()[:3])}")
        # Another run may have come first.
        with suppress(OSError):
            draft.rename(folder)
    return folder
