"""A stand-in for an image of Python, of this machine's own files: no registry of images need be reached."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from itertools import chain
from pathlib import Path

#: What a Dockerfile's commands call, and the client's first line, beside Python.
PROGRAMS = ("/bin/sh", "/bin/cp", "/usr/bin/env")
#: Packages with compiled parts want these of every image of Python.
LIBRARIES = ("libgcc_s.so.1", "libstdc++.so.6", "libm.so.6")
LIBRARIES += tuple(
    f"lib{name}" for name in ("dl.so.2", "pthread.so.0", "resolv.so.2", "rt.so.1", "util.so.1")
)
CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
#: Of the standard library, what no image needs.
UNUSED = ("site-packages", "test", "idlelib", "tkinter", "_tkinter*", "__pycache__", "config-*")


def make_root(root: Path) -> Path:
    """A root file system with a shell and with Python in /usr/local, but no package of the tests' own."""
    for folder in ("tmp", "usr/local/bin", "usr/local/lib", "etc", "root", "proc", "dev", "sys"):
        (root / folder).mkdir(parents=True)
    (root / "tmp").chmod(0o1777)
    (root / "etc" / "passwd").write_text("root:x:0:0:root:/root:/bin/sh\n")
    version = f"python3.{sys.version_info.minor}"
    python, library = Path(sys.base_prefix, "bin", version), Path(sys.base_prefix, "lib", version)
    shutil.copy(python.resolve(), root / "usr/local/bin" / version)
    for name in ("python", "python3"):
        (root / "usr/local/bin" / name).symlink_to(version)
    shutil.copytree(library, root / "usr/local/lib" / version, ignore=shutil.ignore_patterns(*UNUSED))
    for program in PROGRAMS:
        _put(root, Path(program))
    modules = (root / "usr/local/lib" / version / "lib-dynload").glob("*.so")
    compiled = [python, *modules, *map(Path, PROGRAMS)]
    for needed in sorted({*_needed(compiled), *_always()}):
        _put(root, needed)
    _let_pip_reach_its_index(root)
    return root


def _put(root: Path, file: Path) -> None:
    """A file at its own place, by its own name, whatever it is linked to."""
    target = root / file.relative_to("/")
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(file.resolve(), target)


def _needed(compiled: Iterable[Path]) -> Iterable[Path]:
    """The libraries that compiled files are linked with, and what loads them."""
    told = subprocess.run(["ldd", *compiled], capture_output=True, text=True, check=False).stdout
    found = re.findall(r"(?m)(?:=> |^\s+)(/\S+) \(0x", told)
    return map(Path, found)


def _always() -> Iterable[Path]:
    told = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=True).stdout
    return map(
        Path,
        chain.from_iterable(re.findall(rf"{re.escape(name)} .*=> (\S+)", told)[:1] for name in LIBRARIES),
    )


def _let_pip_reach_its_index(root: Path) -> None:
    """Where this machine trusts authorities of its own, pip in the image must do so, too."""
    if CERTIFICATES.exists():
        _put(root, CERTIFICATES)
        (root / "etc" / "pip.conf").write_text(f"[global]\ncert = {CERTIFICATES}\n")
    for name in ("resolv.conf", "nsswitch.conf"):
        if os.path.exists(f"/etc/{name}"):
            _put(root, Path("/etc") / name)
