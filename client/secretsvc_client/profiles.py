"""The services that `login` keeps, each with the source of its credential (contract 16.7).

The file stands beside the user's configuration. The credential of a profile goes to no other server.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from secretsvc_client.config_files import check_names, read_own
from secretsvc_client.errors import Failure, WrongUse
from secretsvc_client.grammar import printable
from secretsvc_client.origins import server_of

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

    @property
    def has_source(self) -> bool:
        """Whether there is a credential to ask for."""
        return bool(self.token or self.token_file or self.command or self.github_audience)


class Profile(NamedTuple):
    """A service and the table that names the source of its credential."""

    url: str
    credential: Mapping[str, object]


class Profiles(NamedTuple):
    """Profiles that `login` stored, by server; `default` is the server of the last login."""

    default: str | None
    known: Mapping[str, Profile]

    @property
    def url(self) -> str | None:
        """The URL of the last login."""
        return self.known[self.default].url if self.default else None

    def added(self, profile: Profile) -> Profiles:
        """The profiles with this one, which becomes the default."""
        server = server_of(profile.url)
        return Profiles(server, {**self.known, str(server): profile})


def read_profiles(path: Path | None) -> Profiles:
    """Return the profiles of a file; raises `WrongUse` for one that `login` did not write."""
    raw = read_own(path) if path else None
    if path is None or raw is None:
        return Profiles(None, {})
    import json

    try:
        found = json.loads(raw)
    except (ValueError, RecursionError):
        found = None
    found = found if isinstance(found, dict) else {}
    default, tables = found.get("default"), found.get("profiles")
    if not isinstance(tables, dict) or not isinstance(default, str) or default not in tables:
        raise _malformed(path)
    return Profiles(default, {server: _profile(server, one, path) for server, one in tables.items()})


def write_profiles(path: Path, profiles: Profiles) -> None:
    """Replace the file, readable by its owner alone; raises `Failure`."""
    import json

    from secretsvc_client.private import replace_file

    tables = {
        server: {"url": one.url, "credential": dict(one.credential)} for server, one in profiles.known.items()
    }
    kept = {"default": profiles.default, "profiles": tables}
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise Failure(f"{printable(path.parent)} cannot be made: {error.strerror}") from None
    replace_file(path, json.dumps(kept, indent=1).encode() + b"\n")


def credential_of(table: object, path: Path | None) -> CredentialSettings:
    """Return the settings of a table; raises `WrongUse` for anything but texts and a list of texts."""
    if not isinstance(table, dict):
        raise WrongUse(f"credential in {printable(path)} is no table")
    if path:
        check_names(table, _CREDENTIAL_NAMES, path)
    command = table.get("command", [])
    if not isinstance(command, list) or not all(isinstance(one, str) for one in command):
        raise WrongUse(f"credential.command in {printable(path)} is a list of texts, the program first")
    texts = {name: table.get(name) for name in ("token_file", "header", "github_audience")}
    for name, value in texts.items():
        if not (value is None or isinstance(value, str)):
            raise WrongUse(f"credential.{name} in {printable(path)} is no text")
    return CredentialSettings(
        None, texts["token_file"], tuple(command), texts["header"], texts["github_audience"]
    )


def _profile(server: object, table: object, path: Path) -> Profile:
    url = table.get("url") if isinstance(table, dict) else None
    if not isinstance(table, dict) or not isinstance(url, str) or server_of(url) != server:
        raise _malformed(path)
    credential = table.get("credential", {})
    credential_of(credential, path)
    return Profile(url, credential)


def _malformed(path: Path) -> WrongUse:
    return WrongUse(
        f"{printable(path)} is not a file of profiles", "Remove it and run `secretsvc login URL` again."
    )
