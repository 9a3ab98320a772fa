"""Where the service is and which environment is meant, by the precedence of contract 9.1.

Flags, then the environment, then `.secretsvc.toml`, then profiles, then the user's configuration. A folder
names project and environment only: it must not choose where the credential goes.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from secretsvc_client import output
from secretsvc_client.config_files import check_names, parse, read_own
from secretsvc_client.errors import WrongUse
from secretsvc_client.folder_file import FolderFile, find_folder_file
from secretsvc_client.grammar import checked_slug, printable
from secretsvc_client.origins import server_of
from secretsvc_client.profiles import CredentialSettings, credential_of, read_profiles

SECONDS = 8.0
_USER_NAMES = {"url", "project", "environment", "credential"}


# A named tuple, not a dataclass: that loads a module that takes a tenth of a start.
class Settings(NamedTuple):
    """What is known before anything is sent; what a command needs it asks for by `need_…`."""

    url: str | None
    project: str | None
    environment: str | None
    credential: CredentialSettings
    timeout: float = SECONDS
    is_json: bool = False
    is_debug: bool = False
    #: The `.secretsvc.toml` that named the project or the environment.
    named_by: Path | None = None
    #: The message and the hint of a `.secretsvc.toml` that was found and is not trusted.
    distrust: tuple[str, str] | None = None

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
        return checked_slug(self._need(self.scope()[0], "project"), "project")

    def need_environment(self) -> str:
        """The environment's slug; raises `WrongUse`."""
        return checked_slug(self._need(self.scope()[1], "environment"), "environment")

    def scope(self) -> tuple[str | None, str | None]:
        """Project and environment; raises `WrongUse` where a file that is not trusted would name one."""
        if self.distrust:
            raise WrongUse(*self.distrust)
        return self.project, self.environment

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
    profiles, own = read_profiles(profiles_file(environ)), read_user_file(user_file(environ))
    near = find_folder_file(folder, home_of(environ))
    given = {
        name: _text(flags.get(name)) or _text(environ.get(f"SECRETSVC_{name.upper()}"))
        for name in ("project", "environment")
    }
    if near.skipped and not all(given.values()):
        output.warn(f"{printable(near.skipped)} is not used: everybody can write its folder")
    url = _text(flags.get("url")) or environ.get("SECRETSVC_URL") or profiles.url or _text(own.get("url"))
    return Settings(
        url=url,
        project=given["project"] or near.project or _text(own.get("project")),
        environment=given["environment"] or near.environment or _text(own.get("environment")),
        credential=_given_credential(flags, environ) or kept_credential(environ, url),
        timeout=_seconds(flags.get("timeout")),
        is_json=bool(flags.get("json")),
        is_debug=bool(flags.get("debug")),
        named_by=_named_by(near, given),
        distrust=None if all(given.values()) else near.distrust,
    )


def _named_by(near: FolderFile, given: Mapping[str, str | None]) -> Path | None:
    """The file, if a name of it was not given otherwise."""
    counts = (near.project and not given["project"]) or (near.environment and not given["environment"])
    return near.path if counts else None


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


def profiles_file(environ: Mapping[str, str]) -> Path | None:
    """Where `login` keeps its profiles."""
    path = user_file(environ)
    return path.with_name("profiles.json") if path else None


def read_user_file(path: Path | None) -> dict[str, object]:
    """The user's configuration; raises `WrongUse` where others may write it or it says something unknown."""
    raw = read_own(path) if path else None
    if path is None or raw is None:
        return {}
    found = parse(raw, path)
    check_names(found, _USER_NAMES, path)
    for name in ("url", "project", "environment"):
        if not isinstance(found.get(name, ""), str):
            raise WrongUse(f"{name} in {printable(path)} is no text")
    credential_of(found.get("credential", {}), path)
    return found


def kept_credential(environ: Mapping[str, str], url: str | None) -> CredentialSettings:
    """Return what is kept for the origin of the URL, and nothing that is kept for another origin.

    A credential of `config.toml`, where an earlier client kept it, belongs to the `url` beside it.
    """
    server = server_of(url)
    profile = read_profiles(profiles_file(environ)).known.get(server or "")
    if profile and profile.credential:
        return credential_of(profile.credential, profiles_file(environ))
    path = user_file(environ)
    own = read_user_file(path)
    table = own.get("credential", {}) if server and server_of(own.get("url")) == server else {}
    return credential_of(table, path)


def _given_credential(flags: Mapping[str, object], environ: Mapping[str, str]) -> CredentialSettings | None:
    """The first of flags and environment that names a credential, which goes where the user sends it."""
    variables = {name: environ.get(f"SECRETSVC_{name.upper()}") for name in ("token_file", "github_audience")}
    for given, token in ((flags, None), (variables, environ.get("SECRETSVC_TOKEN"))):
        file, audience = _text(given.get("token_file")), _text(given.get("github_audience"))
        if token or file or audience:
            return CredentialSettings(token=token, token_file=file, github_audience=audience)
    return None


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
