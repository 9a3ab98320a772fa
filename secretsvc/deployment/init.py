"""The first files of a deployment: an ini file made from the sample, a master key, what `deploy/` has."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from secretsvc.db.sqlite_files import PRIVATE
from secretsvc.deployment.package_data import is_inside, shipped
from secretsvc.kernel.crypto import generate_master_key

INI, KEY, SAMPLES = "production.ini", "master-key", "deploy"
#: What a timer starts.
_TASKS = ("audit-export", "audit-verify", "audit-prune", "audit-close", "backup", "backup-postgresql")
#: By name: in a source tree whoever starts containers there keeps a master key and passwords beside them.
DEPLOY = (
    *("Caddyfile", "Dockerfile", "compose.yaml", "haproxy.cfg", "kubernetes.yaml", "nginx.conf"),
    *("postgresql-roles.sh", "prometheus-alerts.yaml"),
    *("secretsvc.service", "secretsvc.socket"),
    *("secretsvc@.service", "secretsvc-shared.socket", "secretsvc@-shared.conf"),
    "environment.example",
    *("secretsvc-audit-tail.service", "secretsvc-audit.logrotate"),
    *(f"secretsvc-{task}.{kind}" for task in _TASKS for kind in ("service", "timer")),
)
#: Samples are for root and for containers to read, and hold nothing of the deployment's.
_PUBLIC = 0o644
_KEY_FROM_FILE = ("# secretsvc.key_provider = file\n", "# secretsvc.master_key_file = ")


def write_first_files(directory: Path) -> tuple[Path, Path, Path]:
    """The ini file and the key file, their owner's alone, and a folder of samples, in one that may be there.

    Nothing is ever overwritten: where one of them is there, none is written. Raises `OSError`.
    """
    ini, key, samples = directory / INI, directory / KEY, directory / SAMPLES
    for path in (ini, key, samples):
        if os.path.lexists(path):
            raise FileExistsError(errno.EEXIST, "it is there already, and is left as it is", str(path))
    text = first_ini()
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    _write(key, f"{generate_master_key()}\n")
    _write(ini, text)
    samples.mkdir(mode=0o755)
    for name in DEPLOY:
        _write(samples / name, shipped(f"{SAMPLES}/{name}").read_text("utf-8"), _PUBLIC)
    return ini, key, samples


def first_ini() -> str:
    """The sample, with the key in a file beside it, and the migrations where this installation has them."""
    text = shipped(INI).read_text("utf-8")
    for line in _KEY_FROM_FILE:
        text = text.replace(line, line.removeprefix("# "))
    folder = "secretsvc:shipped/alembic" if is_inside() else str(shipped("alembic")).replace("%", "%%")
    return text.replace("%(here)s/alembic", folder)


def _write(path: Path, text: str, mode: int = PRIVATE) -> None:
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    with open(file, "w", encoding="utf-8") as stream:
        os.fchmod(file, mode)
        stream.write(text)
