"""Names that a user may have meant: only of commands, options and choices, never of values."""

from __future__ import annotations

import argparse
from collections.abc import Iterable

#: Words that other tools use.
_SYNONYMS = {
    "ls": "list",
    "secrets": "list",
    "rm": "unset",
    "delete": "unset",
    "remove": "unset",
    "add": "set",
    "put": "set",
    "mv": "rename",
    "exec": "run",
    "pull": "export",
    "push": "import",
    "log": "audit",
    "-v": "--version",
    "-V": "--version",
}


def closest(word: str, names: Iterable[str]) -> str | None:
    """Return the name that is most like the word; None if none is."""
    # Loaded only after a mistake: `run` must start fast.
    from difflib import get_close_matches

    known = list(names)
    synonym = _SYNONYMS.get(word)
    if synonym in known:
        return synonym
    found = get_close_matches(word, known, 1)
    return found[0] if found else None


def command_hint(word: str, names: Iterable[str]) -> str:
    """Return what to do after a command that does not exist."""
    name = closest(word, [*names, "--version", "--help"])
    meant = f"Did you mean `secretsvc {name}`? " if name else ""
    return f"{meant}See `secretsvc --help`."


def arguments_hint(message: str, parser: argparse.ArgumentParser) -> str:
    """Return what to do after arguments that argparse does not know."""
    words = message.partition(":")[2].split()
    if parser.prog == "secretsvc run" and words and not words[0].startswith("-"):
        return "Write the command after `--`: secretsvc run -- ./server"
    # Text after `=` is a value, and so is a word without a dash.
    options = [word.partition("=")[0] for word in words if word.startswith("--")]
    names = [name for name in (closest(option, options_of(parser)) for option in options) if name]
    meant = f"Did you mean {names[0]}? " if names else ""
    return f"{meant}See `{parser.prog} --help`."


def options_of(parser: argparse.ArgumentParser) -> dict[str, argparse.Action]:
    """Return each option of the parser by its name."""
    return {name: action for action in parser._actions for name in action.option_strings}


def problem_of(message: str, parser: argparse.ArgumentParser) -> str:
    """Return argparse's message without what was given, with the choices that exist."""
    name = message.partition(":")[0].partition(" ")[2]
    for action in parser._actions:
        if name in ("/".join(action.option_strings), action.metavar, action.dest) and action.choices:
            return f"argument {name} is none of {', '.join(map(str, action.choices))}"
    if "expected" in message:
        return f"argument {name} needs a value"
    return f"argument {name} is malformed"
