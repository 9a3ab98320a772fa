"""The example plugin as an installed distribution, and databases that have its branch."""

from __future__ import annotations

import fcntl
import shutil
import subprocess
import sys
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path

from alembic.config import Config

SOURCE = Path(__file__).parent / "plugin"
ROOT = SOURCE.parent.parent
BUILT = ROOT / ".pytest_cache" / "plugins"


def install(source: Path, folder: Path) -> Path:
    """Installs a distribution into a folder of its own, with its metadata; it is built once for all runs."""
    BUILT.mkdir(parents=True, exist_ok=True)
    contents = [(str(path.relative_to(source)), path.read_bytes()) for path in files_of(source)]
    made_by = (sys.version, version("setuptools"), contents)
    built = BUILT / sha256(repr(made_by).encode()).hexdigest()
    with (BUILT / "lock").open("w") as lock:
        # Of several workers one builds it, the others wait.
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not built.exists():
            _build(source, folder).rename(built)
    return Path(shutil.copytree(built, folder / "installed"))


def _build(source: Path, folder: Path) -> Path:
    """As pip does; asks no registry."""
    copy, target = folder / "source", BUILT / "building"
    # Building leaves files beside the sources; one that was cut off may have left some.
    shutil.copytree(source, copy)
    shutil.rmtree(target, ignore_errors=True)
    pip = (sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index")
    options = ("--no-deps", "--no-build-isolation", "--target", str(target))
    subprocess.run([*pip, *options, str(copy)], check=True, capture_output=True, text=True)
    return target


def alembic_config(folder: Path, package: str, url: str | None = None) -> Config:
    """Alembic's, of `plugin.ini`, which is production.ini with a package included."""
    ini = folder / "plugin.ini"
    production = (ROOT / "production.ini").read_text("utf-8")
    section = "[app:main]\n"
    included = production.replace(section, f"{section}pyramid.includes = {package}\n")
    ini.write_text(included.replace("%(here)s/alembic", str(ROOT / "alembic")), "utf-8")
    config = Config(ini)
    config.attributes["url"] = url
    return config


def files_of(folder: Path) -> list[Path]:
    """The files of a distribution's sources."""
    return [path for path in sorted(folder.rglob("*")) if path.is_file() and path.suffix != ".pyc"]
