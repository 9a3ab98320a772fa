"""Where master keys come from: the environment, or files that a service manager or a container mounts.

A package outside adds its own by the same directive, `config.add_key_provider`, and is chosen by
`KEY_PROVIDER`.
"""

from __future__ import annotations

from pathlib import Path

from secretsvc.kernel.errors import ServerMisconfigured
from secretsvc.kernel.parsers import master_key
from secretsvc.kernel.settings import Settings
from secretsvc.web.config import ServiceConfigurator


def from_environment(settings: Settings) -> tuple[bytes, bytes | None]:
    """`MASTER_KEY` and `MASTER_KEY_OLD`, from the environment or the ini file."""
    return settings.master_key, settings.master_key_old


def from_files(settings: Settings) -> tuple[bytes, bytes | None]:
    """The files that `MASTER_KEY_FILE` and `MASTER_KEY_OLD_FILE` name; the second may be absent or empty."""
    active = _read(settings, settings.master_key_file, "MASTER_KEY_FILE")
    old = settings.master_key_old_file
    if old is None or not old.exists() or not old.read_bytes().strip():
        return active, None
    return active, _read(settings, old, "MASTER_KEY_OLD_FILE")


def _read(settings: Settings, path: Path | None, variable: str) -> bytes:
    if path is None:
        settings.complain(f"setting {variable} is missing")
        raise ServerMisconfigured()
    try:
        return master_key(path.read_text(encoding="ascii"))
    except (OSError, ValueError) as error:
        settings.complain(f"the file that setting {variable} names holds no key: {type(error).__name__}")
        raise ServerMisconfigured() from None


def includeme(config: ServiceConfigurator) -> None:
    """Registers the two that come along."""
    config.add_key_provider("environment", from_environment)
    config.add_key_provider("file", from_files)
