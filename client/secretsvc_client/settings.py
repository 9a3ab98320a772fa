"""Where the service is and which environment is meant, by the precedence of contract 9.1.

Flags, then the environment, then `.secretsvc.toml`, then the user's configuration. A folder names project and
environment only: whoever gives somebody a folder must not be able to say where the credential goes.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from secretsvc_client.errors import WrongUse
from secretsvc_client.grammar import checked_slug, printable

FOLDER_FILE = ".secretsvc.toml"
#: Bytes of a file of settings.
LONGEST = 65_536
SECONDS = 8.0
_FOLDER_NAMES = {"project", "environment"}
_USER_NAMES = {"url", "project", "environment", "credential"}
_CREDENTIAL_NAMES = {"token_file", "command", "header", "github_audience"}


# Named tuples, not dataclasses: those load a module that takes a tenth of a start.
class CredentialSettings(NamedTuple):
    """Where the credential comes from; never the credential itself, but for that of the environment."""

    token: str | None = None
    token_file: str | None = None
    command: tuple[str, ...] = ()
    header: str | None = None
    github_audience: str | None = None

    def __repr__(self) -> str:
        return "CredentialSettings(…)"


class Settings(NamedTuple):
    """What is known before anything is sent; what a command needs it asks for by `need_…`."""

    url: str | None
    project: str | None
    environment: str | None
    credential: CredentialSettings
    timeout: float = SECONDS
    is_json: bool = False
    is_debug: bool = False

    def need_url(self) -> str:
        """The address of the service; raises `WrongUse`."""
        if not self.url:
            raise WrongUse(
                "it is not known where the service is",
                "Give --url, set SECRETSVC_URL, or run `secretsvc login URL` once.",
            )
        return self.url

    def need_project(self) -> str:
        """The project's slug; raises `WrongUse`."""
        return checked_slug(self._need(self.project, "project"), "project")

    def need_environment(self) -> str:
        """The environment's slug; raises `WrongUse`."""
        return checked_slug(self._need(self.environment, "environment"), "environment")

    @staticmethod
    def _need(value: str | None, kind: str) -> str:
        if not value:
            raise WrongUse(
                f"it is not known which {kind} is meant",
                f"Give --{kind}, set SECRETSVC_{kind.upper()}, or run `secretsvc use` here.",
            )
        return value


def load(flags: Mapping[str, object], environ: Mapping[str, str], folder: Path) -> Settings:
    """The settings of a command; raises `WrongUse` for a file that says what it may not say."""
    own = read_user_file(user_file(environ))
    near = read_folder_file(folder, home_of(environ))
    found = {
        name: _text(flags.get(name))
        or environ.get(f"SECRETSVC_{name.upper()}")
        or near.get(name)
        or own.get(name)
        for name in ("project", "environment")
    }
    return Settings(
        url=_text(flags.get("url")) or environ.get("SECRETSVC_URL") or _text(own.get("url")),
        project=_text(found["project"]),
        environment=_text(found["environment"]),
        credential=_credential(flags, environ, own.get("credential")),
        timeout=_seconds(flags.get("timeout")),
        is_json=bool(flags.get("json")),
        is_debug=bool(flags.get("debug")),
    )


def home_of(environ: Mapping[str, str]) -> Path | None:
    """The user's folder, or None where there is none."""
    named = environ.get("USERPROFILE" if sys.platform == "win32" else "HOME")
    return Path(named) if named else None


def user_file(environ: Mapping[str, str]) -> Path | None:
    """Where the user's configuration is kept."""
    base = environ.get("APPDATA") if sys.platform == "win32" else environ.get("XDG_CONFIG_HOME")
    if base and os.path.isabs(base):
        return Path(base) / "secretsvc" / "config.toml"
    home = home_of(environ)
    return home / ".config" / "secretsvc" / "config.toml" if home else None


def read_user_file(path: Path | None) -> dict[str, object]:
    """The user's configuration; raises `WrongUse` where others may write it or it says something unknown."""
    if path is None or not path.is_file():
        return {}
    state = path.stat()
    if sys.platform != "win32" and (state.st_uid not in (0, os.geteuid()) or state.st_mode & 0o022):
        raise WrongUse(f"{printable(path)} can be written by others", f"Run: chmod 600 {printable(path)}")
    found = _parsed(path)
    _only(found, _USER_NAMES, path)
    for name in ("url", "project", "environment"):
        if not isinstance(found.get(name, ""), str):
            raise WrongUse(f"{name} in {printable(path)} is no text")
    credential = found.get("credential", {})
    if not isinstance(credential, dict):
        raise WrongUse(f"credential in {printable(path)} is no table")
    _only(credential, _CREDENTIAL_NAMES, path)
    return found


def read_folder_file(folder: Path, home: Path | None) -> dict[str, str]:
    """Project and environment of the nearest `.secretsvc.toml` that counts; raises `WrongUse`."""
    path = _nearest(folder, home)
    if path is None:
        return {}
    found = _parsed(path)
    _only(found, _FOLDER_NAMES, path)
    named = {name: value for name, value in found.items() if isinstance(value, str)}
    if named.keys() != found.keys():
        raise WrongUse(f"project and environment in {printable(path)} must be texts")
    return {name: checked_slug(value, name) for name, value in named.items()}


def _nearest(folder: Path, home: Path | None) -> Path | None:
    """The file in the folder or above it, up to home, another mount, or a folder of another user."""
    try:
        here = folder.resolve()
        stop = home.resolve() if home else None
        device = here.stat().st_dev
        for one in (here, *here.parents):
            state = one.stat()
            if state.st_dev != device or not _is_ours(state):
                return None
            path = one / FOLDER_FILE
            if path.is_file():
                return path if _is_ours(path.stat()) else None
            if one == stop:
                return None
    except OSError:
        # What may not be looked at is not ours.
        return None
    return None


def _is_ours(state: os.stat_result) -> bool:
    return sys.platform == "win32" or state.st_uid == os.geteuid()


def _parsed(path: Path) -> dict[str, object]:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        with path.open("rb") as file:
            raw = file.read(LONGEST + 1)
        if len(raw) > LONGEST:
            raise WrongUse(f"{printable(path)} is too long for settings")
        found: dict[str, object] = tomllib.loads(raw.decode("utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError):
        raise WrongUse(f"{printable(path)} is not TOML") from None
    except OSError as error:
        raise WrongUse(f"{printable(path)} cannot be read: {error.strerror}") from None
    return found


def _only(found: Mapping[str, object], allowed: set[str], path: Path) -> None:
    for name in found:
        if name not in allowed:
            raise WrongUse(
                f"{printable(path)} must not say {printable(name)!r}",
                f"It may say {', '.join(sorted(allowed))}, and nothing else.",
            )


def _credential(flags: Mapping[str, object], environ: Mapping[str, str], own: object) -> CredentialSettings:
    """The first of flag, environment and the user's configuration that names one, by itself."""
    for given in (
        flags,
        {name: environ.get(f"SECRETSVC_{name.upper()}") for name in ("token_file", "github_audience")},
    ):
        token = environ.get("SECRETSVC_TOKEN") if given is not flags else None
        file, audience = _text(given.get("token_file")), _text(given.get("github_audience"))
        if token or file or audience:
            return CredentialSettings(token=token, token_file=file, github_audience=audience)
    table = own if isinstance(own, dict) else {}
    command = table.get("command", [])
    if not isinstance(command, list) or not all(isinstance(one, str) for one in command):
        raise WrongUse("credential.command of the user's configuration is a list of texts, the program first")
    return CredentialSettings(
        token_file=_text(table.get("token_file")),
        command=tuple(command),
        header=_text(table.get("header")),
        github_audience=_text(table.get("github_audience")),
    )


def _seconds(value: object) -> float:
    if value is None:
        return SECONDS
    try:
        seconds = float(str(value))
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= 3600:
        raise WrongUse("--timeout takes seconds, more than 0 and at most 3600")
    return seconds


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
