"""An image that buildah builds, and what its containers would run: no daemon and no registry are asked."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from base_image import make_root

#: $1 is the image's root, $2 a folder of this machine that it has at $3, $4 its user, $5 its working folder;
#: the rest is the command. It is what `docker run --read-only --tmpfs /tmp --volume $2:$3` gives, but for the
#: network and the processes, which are this machine's.
MOUNTS = """
set -e
theirs=$PATH PATH=/usr/sbin:/usr/bin:/sbin:/bin
root=$1 volume=$2 place=$3 user=$4 folder=$5
shift 5
mount --make-rprivate /
mount --bind "$root" "$root"
mount --bind "$volume" "$root$place"
mount -t tmpfs -o mode=1777 none "$root/tmp"
mount --rbind /dev "$root/dev"
mount -t proc none "$root/proc"
mount -o remount,bind,ro "$root"
exec setpriv --no-new-privs chroot --userspec="$user" --groups= "$root" \\
	/bin/sh -c 'PATH=$1 && shift && cd "$0" && exec "$@"' "$folder" "$theirs" "$@"
"""
#: How pip tells that it reaches no index from within a build.
NO_INDEX = ("name resolution", "Failed to establish a new connection", "Network is unreachable")
#: The one folder beside /tmp that a command of the image can write to.
VOLUME = "/data"


class NotBuildableHereError(Exception):
    """This machine does not let buildah work, whatever is to be built."""


class BuiltImage:
    """An image in a store of its own, with its root file system mounted."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.config: dict[str, Any] = {}
        self.root = folder

    def provide(self, base: str) -> None:
        """Puts a stand-in for a base into the store, so that no registry is asked for it.

        Raises `NotBuildableHereError`.
        """
        try:
            container = self._buildah("from", "scratch")
        except AssertionError as error:
            raise NotBuildableHereError(str(error)) from error
        self._buildah("copy", container, make_root(self.folder / "base"), "/")
        self._buildah("config", "--env", "PATH=/usr/local/bin:/usr/bin:/bin", container)
        self._buildah("commit", container, f"docker.io/library/{base}")

    def build(self, source: Path, tag: str, *options: str) -> None:
        """Builds it as Docker does, and mounts it. Raises `NotBuildableHereError` without an index."""
        # The format of Docker: that of OCI has no place for the check of its health.
        usual = ("--isolation", "chroot", "--pull-never", "--format", "docker", "--tag", tag)
        try:
            self._buildah("build", *usual, *options, ".", folder=source)
        except AssertionError as error:
            if any(one in str(error) for one in NO_INDEX):
                raise NotBuildableHereError("no index of packages is reached from a build") from error
            raise
        self.config = json.loads(self._buildah("inspect", "--type", "image", tag))["Docker"]["config"]
        self.root = Path(self._buildah("mount", self._buildah("from", "--pull-never", tag)))
        (self.root / VOLUME.lstrip("/")).mkdir()

    def command(self, volume: Path, *command: str) -> list[str]:
        """The command line that runs a command of the image, which may write to the volume."""
        user, folder = self.config["User"] or "0:0", self.config["WorkingDir"] or "/"
        own = (self.root, volume, VOLUME, user, folder)
        whole = [*map(str, own), *self.config["Entrypoint"], *command]
        return ["/usr/bin/unshare", "--mount", "/bin/sh", "-c", MOUNTS, "sh", *whole]

    def environment(self, settings: dict[str, str]) -> dict[str, str]:
        """What the image gives its commands, and settings beside it."""
        return dict(entry.split("=", 1) for entry in self.config["Env"]) | settings

    def run(self, volume: Path, settings: dict[str, str], *command: str) -> subprocess.CompletedProcess[str]:
        """Runs a command of the image to its end."""
        whole = self.command(volume, *command)
        environment = self.environment(settings)
        return subprocess.run(whole, env=environment, capture_output=True, text=True, check=False)

    def remove(self) -> None:
        """Removes all that it has stored."""
        self._buildah("rm", "--all")
        self._buildah("rmi", "--all", "--force")

    def _buildah(self, verb: str, *arguments: str | Path, folder: Path | None = None) -> str:
        store = ("--storage-driver", "vfs", "--root", self.folder / "root", "--runroot", self.folder / "run")
        command = ["buildah", *store, verb, *arguments]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout.strip()
