"""`completion`: commands and flags in bash, zsh and fish. It asks the service nothing."""

from __future__ import annotations

import argparse

from secretsvc_client.cli import COMMANDS, Call, parser_of

EXAMPLES = {
    "completion": [
        'eval "$(secretsvc completion bash)"          # in ~/.bashrc',
        'eval "$(secretsvc completion zsh)"           # in ~/.zshrc, after compinit',
        "secretsvc completion fish > ~/.config/fish/completions/secretsvc.fish",
    ]
}
_BASH = """_secretsvc() {{
    local word=${{COMP_WORDS[COMP_CWORD]}} command= one
    for one in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
        case $one in -*) ;; *) command=$one; break;; esac
    done
    COMPREPLY=()
    case $command in
{cases}
    *) COMPREPLY=($(compgen -W "{commands}" -- "$word"));;
    esac
}}
complete -o default -F _secretsvc secretsvc
"""
_ZSH = """_secretsvc() {{
    local -a commands flags
    commands=(
{commands}
    )
    if (( CURRENT == 2 )); then
        _describe command commands
        return
    fi
    case ${{words[2]}} in
{cases}
    esac
    _describe flag flags
    _files
}}
compdef _secretsvc secretsvc
"""


def configure(_name: str, parser: argparse.ArgumentParser) -> None:
    """Adds the command's own arguments."""
    parser.add_argument("shell", choices=("bash", "zsh", "fish"))


def completion(call: Call) -> int:
    """Prints the script of a shell."""
    print({"bash": bash, "zsh": zsh, "fish": fish}[call.args.shell](), end="")
    return 0


def flags_of(command: str) -> dict[str, str]:
    """The long flags of a command, with their help."""
    actions = parser_of(command)._actions
    return {
        flag: (action.help or "")
        for action in actions
        for flag in action.option_strings
        if flag.startswith("--")
    }


def bash() -> str:
    """For `eval` in bash."""
    cases = "\n".join(
        f'    {name}) COMPREPLY=($(compgen -W "{" ".join(flags_of(name))}" -- "$word"));;'
        for name in COMMANDS
    )
    return _BASH.format(cases=cases, commands=" ".join(COMMANDS))


def zsh() -> str:
    """For `eval` in zsh."""
    commands = "\n".join(f"        '{name}:{_plain(summary)}'" for name, (_, summary) in COMMANDS.items())
    cases = "\n".join(f"    {name}) flags=({_described(name)});;" for name in COMMANDS)
    return _ZSH.format(commands=commands, cases=cases)


def _described(name: str) -> str:
    return " ".join(f"'{flag}:{_plain(what)}'" for flag, what in flags_of(name).items())


def fish() -> str:
    """For a file among fish's completions."""
    lines = ["complete -c secretsvc -f -n __fish_use_subcommand"]
    for name, (_, summary) in COMMANDS.items():
        lines.append(f"complete -c secretsvc -f -n __fish_use_subcommand -a {name} -d '{_plain(summary)}'")
        seen = f"'__fish_seen_subcommand_from {name}'"
        lines += [
            f"complete -c secretsvc -n {seen} -l {flag[2:]} -d '{_plain(what)}'"
            for flag, what in flags_of(name).items()
        ]
    return "\n".join(lines) + "\n"


def _plain(what: str) -> str:
    """A text without what quotes or ends a description."""
    return what.replace("'", "").replace(":", ",").replace("%%", "%")


RUN = {"completion": completion}
