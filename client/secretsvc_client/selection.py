"""Which secrets `run` gives to its command, and the state of the environment that they come from."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from secretsvc_client import inherited, output
from secretsvc_client.api import Service, as_object, environment_path, number, revision_of, secrets_of
from secretsvc_client.cli import Call
from secretsvc_client.errors import Failure, Invalid, Refused, WrongUse
from secretsvc_client.grammar import checked_key, is_key, printable
from secretsvc_client.transport import Answer

#: Format of `--format FILE`, by the suffix of the file name.
FORMATS = {".json": "json", ".env": "env", ".sh": "shell", ".docker": "docker", ".yaml": "kubernetes"}
#: Variables with credentials for the service or a fallback: the command does not inherit them.
_PREFIX = "SECRETSVC_"
_OURS = ("SECRETSVC_TOKEN", "SECRETSVC_FALLBACK_KEY")


class State(NamedTuple):
    """The secrets of an environment at a revision; `content` is a file that the service made."""

    rev: int
    secrets: Mapping[str, str]
    content: bytes | None = None

    def __repr__(self) -> str:
        return f"State(rev={self.rev})"


class Selection(NamedTuple):
    """Which secrets the command gets, and whether by its environment or by a file."""

    path: str
    only: tuple[str, ...]
    prefix: str
    file: Path | None
    media: str
    #: Keys that stderr named already.
    reported: set[str]
    mode: int | None = None

    @classmethod
    def of(cls, call: Call) -> Selection:
        """Return the selection that the arguments name. Raises `WrongUse`."""
        args = call.args
        only = tuple(checked_key(key) for given in args.only or () for key in given.split(","))
        file = Path(args.format) if args.format else None
        media = "json"
        if file is not None:
            media = FORMATS.get(file.suffix or file.name, "")
            if not media:
                raise WrongUse("the ending of the file of --format is none of " + ", ".join(FORMATS))
            if media != "json" and (only or args.prefix):
                raise WrongUse("--only and --prefix go with a file that ends in .json, or without --format")
        mode = None
        if args.mode is not None:
            from secretsvc_client.destination import checked_mode

            if not args.format and not args.fallback:
                raise WrongUse("--mode goes with --format or --fallback")
            mode = checked_mode(args.mode)
        return cls(environment_path(call.settings), only, args.prefix or "", file, media, set(), mode)

    def fetch(self, service: Service) -> State:
        """Return the selected secrets. Raises `Failure` if the answer is not whole or lacks a key."""
        return self.narrowed(self.fetch_all(service))

    def fetch_all(self, service: Service) -> State:
        """The present state, with what was not asked for too."""
        state = self.fetch_unless(service, None)
        if state is None:
            raise Failure("the service answered that nothing changed, which it was not asked")
        return state

    def fetch_unless(self, service: Service, rev: int | None) -> State | None:
        """As `fetch_all`, or None if the revision is the known one."""
        known = {"If-None-Match": f'"{rev}"'} if rev is not None else {}
        query = {"reason": "run", "format": self.media}
        answer = service.answer("GET", f"{self.path}/secrets:export", query, headers=known)
        return None if answer.status == 304 else self._state_of(answer)

    def _state_of(self, answer: Answer) -> State:
        if self.media != "json":
            return State(revision_of(answer), {}, answer.body)
        found = as_object(answer)
        return State(number(found, "rev"), secrets_of(found))

    def narrowed(self, state: State) -> State:
        """Those that were asked for; raises where one is missing, or cannot be carried."""
        secrets = state.secrets
        missing = [key for key in self.only if key not in secrets]
        if missing:
            raise Refused(f"there is no {', '.join(missing)}", "`secretsvc list` shows what there is.")
        chosen = {
            key: value
            for key, value in secrets.items()
            if (not self.only or key in self.only) and key.startswith(self.prefix)
        }
        if self.prefix and not chosen:
            raise Refused("no key begins with what --prefix says", "`secretsvc list` shows what there is.")
        chosen = _without_ours(chosen, self.reported)
        for key, value in chosen.items():
            _check(key, value, is_file=self.file is not None)
        return State(state.rev, chosen, state.content)

    def environment(self, state: State) -> dict[bytes, bytes]:
        """The environment of the command; writes the file where the secrets go into one."""
        given = {name: value for name, value in inherited.environment().items() if name not in _OURS}
        made = {os.fsencode(name): os.fsencode(value) for name, value in given.items()}
        if self.file is None:
            made.update({key.encode(): value.encode() for key, value in state.secrets.items()})
            return made
        content = state.content
        if content is None:
            import json

            content = json.dumps(dict(state.secrets), ensure_ascii=False, indent=1).encode() + b"\n"
        from secretsvc_client.destination import write_to

        write_to(self.file, content, self.mode)
        return made


def _without_ours(secrets: Mapping[str, str], reported: set[str]) -> dict[str, str]:
    """Leave out settings of the client, which the command can run: a writer could redirect it.

    Report each once: those that are not in `reported`, to which they are added.
    """
    # Names of variables have no case on Windows.
    is_windows = sys.platform == "win32"
    ours = sorted(key for key in secrets if (key.upper() if is_windows else key).startswith(_PREFIX))
    new = [key for key in ours if key not in reported]
    if new:
        reported.update(new)
        shown = ", ".join(printable(key)[:300] for key in new)
        output.warn(f"the command does not get {shown}: names that begin with {_PREFIX} are the client's own")
    return {key: value for key, value in secrets.items() if key not in ours}


def _check(key: str, value: object, *, is_file: bool) -> None:
    if not is_key(key):
        raise Invalid(f"the key {printable(key)[:300]} is no name of an environment variable")
    if not isinstance(value, str):
        raise Failure(f"the value of {key} is no text")
    if "\0" in value and not is_file:
        raise Invalid(
            f"{key} holds a NUL, which no environment can", "Take --format FILE for it, or --only without it."
        )
    try:
        value.encode()
    except UnicodeEncodeError:
        raise Invalid(f"{key} holds what is no character") from None
