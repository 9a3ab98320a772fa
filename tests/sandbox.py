"""Commands as an unprivileged user on a read-only root file system, from which the source is gone."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from processes import ROOT

#: `nobody`, by number.
USER = "65534"
#: $1 and, unless it is empty, $2 can be written to, $3 is the source, $4 the interpreter's folder, and $5 the
#: first folder above that which only its owner may enter, if there is one; the rest is the command. All in a
#: view of its own.
MOUNTS = """
set -e
data=$1 target=$2 source=$3 base=$4 private=$5
shift 5
mount --make-rprivate /
mount --bind "$data" "$data"
[ -z "$target" ] || mount --bind "$target" "$target"
mount -t tmpfs -o ro none "$source"
if [ -n "$private" ]; then
	hold=$(mktemp -d)
	mount --bind "$base" "$hold"
	mount -t tmpfs -o mode=755 none "$private"
	mkdir -p "$base"
	mount --bind "$hold" "$base"
fi
mount -o remount,bind,ro /
mount -o remount,bind,ro /dev/shm
cd "$data"
exec setpriv --reuid=$USER --regid=$USER --clear-groups --no-new-privs \\
	--bounding-set=-all --inh-caps=-all "$@"
"""


def confined(data: Path, *command: str | Path, target: Path | None = None) -> list[str]:
    """The command line that runs a command so, which may write to a folder, to `target` and nowhere else."""
    base = Path(sys.base_prefix)
    private = [path for path in (*reversed(base.parents), base) if not path.stat().st_mode & 1]
    arguments = [data, target or "", ROOT, base, private[0] if private else ""]
    shell = MOUNTS.replace("$USER", USER)
    return ["unshare", "--mount", "sh", "-c", shell, "sh", *map(str, arguments), *map(str, command)]


def is_possible(data: Path) -> bool:
    """Whether this machine lets us do that: it takes root, with the right to mount."""
    try:
        done = subprocess.run(confined(data, "true"), capture_output=True, check=False)
    except OSError:
        return False
    return os.geteuid() == 0 and done.returncode == 0
