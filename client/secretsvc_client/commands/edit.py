"""`edit`: the values in an editor, on a private file; nothing that was typed is lost."""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from secretsvc_client import editing, output
from secretsvc_client.api import Json, Service, environment_path, number, secrets_of
from secretsvc_client.cli import Call
from secretsvc_client.commands.writes import show
from secretsvc_client.errors import Conflict, Failure, WrongUse
from secretsvc_client.grammar import printable
from secretsvc_client.inputs import text_of
from secretsvc_client.private import memory_folder

EXAMPLES = {"edit": ["secretsvc edit", "EDITOR='code --wait' secretsvc edit --reason 'new database'"]}
#: How often others may write before it is given up.
_ROUNDS = 5


def configure(_name: str, parser: argparse.ArgumentParser) -> None:
    """Adds the command's own arguments."""
    parser.add_argument("--reason", help="why, for the history")


def edit(call: Call) -> int:
    """Edits and writes; what was typed and could not be written stays in its file, which is named."""
    service, path = call.service, environment_path(call.settings)
    if service.get(path).get("protected") is True and not call.args.reason:
        raise WrongUse("the environment is protected: writing it needs --reason")
    command = shlex.split(os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi")
    if not command or shutil.which(command[0]) is None:
        raise WrongUse("there is no editor", "Set EDITOR.")
    folder = memory_folder()
    draft = Draft(folder / "secrets.env", command)
    try:
        code = _edit(call, service, path, draft)
    except BaseException:
        if draft.is_typed:
            output.warn(
                f"nothing is written; what you typed is in {printable(draft.path)}: remove it when done"
            )
        else:
            shutil.rmtree(folder)
        raise
    shutil.rmtree(folder)
    return code


class Draft:
    """The file that is edited."""

    def __init__(self, path: Path, command: list[str]) -> None:
        self.path, self._command = path, command
        self.is_typed = False

    def edited(self, text: str) -> str:
        """The text after the editor; raises `Failure` where that fails, which is how to write nothing."""
        self.path.write_bytes(text.encode())
        self.path.chmod(0o600)
        try:
            done = subprocess.run([*self._command, str(self.path)], check=False)
        except OSError as error:
            raise Failure(f"the editor cannot be started: {error.strerror}") from None
        found = self.path.read_bytes()
        self.is_typed = self.is_typed or found != text.encode()
        if done.returncode != 0:
            raise Failure(f"the editor ended with {done.returncode}: nothing is written")
        return _saved(found)

    def values(self, text: str) -> dict[str, str]:
        """The values after the editor, which is opened anew where they cannot be read."""
        while True:
            found = self.edited(text)
            try:
                return editing.parse(found)
            except WrongUse as problem:
                if found == text:
                    raise
                lines = [line for line in found.splitlines(True) if not line.startswith("# ERROR: ")]
                text = f"# ERROR: {problem.message} (counted without this one)\n" + "".join(lines)


def _saved(raw: bytes) -> str:
    """Return the text of a saved draft without what the editor added: a byte order mark, CR before LF.

    A CR of a value stands as an escape in the draft. Raises `WrongUse`.
    """
    text = text_of(raw, "the saved file")
    if not text.strip():
        raise WrongUse(
            "the editor saved an empty file: nothing is written", "To remove every key, leave a comment."
        )
    return text.replace("\r\n", "\n")


def _edit(call: Call, service: Service, path: str, draft: Draft) -> int:
    rev, base = _read(service, path)
    head = (
        f"# {path.replace('/projects/', '').replace('/environments', '')}, revision {rev}\n{editing.HELP}\n"
    )
    ours = draft.values(head + editing.write(base))
    for _ in range(_ROUNDS):
        if ours == base:
            output.tell("nothing changed, nothing is written")
            return 0
        try:
            return show(call, service.write(f"{path}/secrets:batch", _body(call, rev, base, ours)))
        except Conflict as conflict:
            if conflict.status != 412:
                raise
        rev, theirs = _read(service, path)
        merged = editing.merge(base, ours, theirs)
        ours, base = merged.values, theirs
        if merged.conflicts:
            note = editing.conflict_note(merged.conflicts, theirs)
            ours = draft.values(f"{note}{head}{editing.write(ours)}")
        else:
            output.tell("others wrote other keys meanwhile: both are kept")
    raise Conflict(f"others wrote {_ROUNDS} times meanwhile")


def _read(service: Service, path: str) -> tuple[int, dict[str, str]]:
    found = service.get(f"{path}/secrets:export", {"reason": "reveal"})
    secrets = secrets_of(found)
    if not all(isinstance(one, str) for one in secrets.values()):
        raise Failure("a value of the answer is no text", "Is there another program at that URL?")
    return number(found, "rev"), secrets


def _body(call: Call, rev: int, base: Mapping[str, str], ours: Mapping[str, str]) -> Json:
    """The batch that makes one of the other; only what was changed is sent."""
    body: Json = {
        "mode": "merge",
        "set": {key: value for key, value in ours.items() if base.get(key) != value},
        "delete": [key for key in base if key not in ours],
        "expected_rev": rev,
    }
    if call.args.reason is not None:
        body["reason"] = call.args.reason
    return body


RUN = {"edit": edit}
