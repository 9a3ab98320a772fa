"""`login`, `whoami` and `use`: where the service is, who asks, which environment is meant."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import stat
from pathlib import Path

from secretsvc_client import output
from secretsvc_client.api import Json, Service, environment_path, text
from secretsvc_client.cli import Call
from secretsvc_client.errors import Failure, WrongUse
from secretsvc_client.folder_file import FOLDER_FILE, is_open_to_everybody
from secretsvc_client.grammar import checked_slug, printable
from secretsvc_client.origins import origin_of
from secretsvc_client.private import replace_file
from secretsvc_client.profiles import Profile, credential_of, read_profiles, write_profiles
from secretsvc_client.settings import kept_credential, profiles_file

EXAMPLES = {
    "login": [
        "secretsvc login https://secrets.example.com",
        "secretsvc login https://secrets.example.com --header cf-access-token \\",
        "    --command 'cloudflared access token -app=https://secrets.example.com'",
        "secretsvc login https://secrets.example.com --command 'gcloud auth print-identity-token'",
        "secretsvc login https://secrets.example.com --token-file /run/secrets/secretsvc",
    ],
    "whoami": ["secretsvc whoami", "secretsvc whoami --json"],
    "use": ["secretsvc use shop prod"],
}


def configure(name: str, parser: argparse.ArgumentParser) -> None:
    """Adds the command's own arguments."""
    if name == "login":
        parser.add_argument("address", metavar="URL", help="where the service is")
        parser.add_argument("--command", help="a program that prints headers or a token, with its arguments")
        parser.add_argument(
            "--no-check", action="store_true", help="ask nothing, and keep the credential untried"
        )
        parser.add_argument(
            "--header", help="the header that carries the token (default Authorization: Bearer)"
        )
    if name == "use":
        parser.add_argument("slug", metavar="PROJECT")
        parser.add_argument("environment_slug", metavar="ENVIRONMENT")


def login(call: Call) -> int:
    """Probe the URL without a credential, try the credential, and keep both if the service accepts it."""
    origin = origin_of(call.args.address)
    path = profiles_file(os.environ)
    if path is None:
        raise WrongUse("there is no home folder to keep the configuration in")
    profiles = read_profiles(path)
    table = _credential_table(call)
    # A token of the environment is not kept, and so not tried.
    credential = credential_of(table, path) if table else kept_credential(os.environ, str(origin))
    service = Service(call.settings._replace(url=str(origin), credential=credential), os.environ)
    in_front = None if call.args.no_check else probe(service)
    found = service.get("/whoami") if in_front and credential.has_source else None
    identity = {} if found is None else _identity_of(found)
    known = profiles.known.get(origin.server)
    write_profiles(path, profiles.added(Profile(str(origin), table or (known.credential if known else {}))))
    role = found.get("global_role") if found else None
    if call.settings.is_json:
        kept = {"url": str(origin), "in_front": in_front, "configuration": str(path)}
        output.print_json({**kept, "subject": identity.get("subject"), "global_role": role})
        return 0
    print(f"{origin} is kept in {printable(path)}")
    if found:
        _print_identity(identity, role)
    if in_front == "nothing" or (in_front and not found):
        for line in ADVICE[in_front]:
            (output.warn if in_front == "nothing" else print)(line.replace("URL", str(origin)))
    return 0


#: What to do next, by what stands in front of the service.
ADVICE = {
    "nothing": [
        "NO ACCESS PROXY STANDS IN FRONT OF THIS SERVICE: /health answers whoever asks.",
        "That is right on your own machine and where only machines with tokens ask; else put one there.",
    ],
    "cloudflare": [
        "Cloudflare Access stands in front of it. To get in: secretsvc login URL --header cf-access-token"
        " --command 'cloudflared access token -app=URL'",
    ],
    "google": [
        "Google stands in front of it. To get in: secretsvc login URL"
        " --command 'gcloud auth print-identity-token'",
    ],
    "proxy": [
        "An access proxy stands in front of it. Say with --command or --token-file how it lets you in.",
    ],
}


def probe(service: Service) -> str:
    """What an unauthenticated `/health` tells of what stands in front: a key of `ADVICE`.

    Raises `Failure` where neither the service nor a proxy answers.
    """
    try:
        found = service.answer("GET", "/health", anonymous=True)
    except Failure as failure:
        if failure.status in (401, 403) or (failure.status is not None and 300 <= failure.status < 400):
            return _proxy_of(failure.message)
        raise
    return _health(found.body)


def _health(body: bytes) -> str:
    try:
        told = json.loads(body)
    except (ValueError, RecursionError):
        told = None
    if isinstance(told, dict) and told.get("service") == "secretsvc":
        return "nothing"
    if b"<html" in body[:4096].lower():
        return "proxy"
    raise Failure("what answers there is not secretsvc", "Look at the URL.")


def _proxy_of(message: str) -> str:
    host = message.lower()
    if "cloudflareaccess.com" in host:
        return "cloudflare"
    return "google" if "accounts.google.com" in host else "proxy"


def _credential_table(call: Call) -> Json:
    """The credential of a profile that the flags give; raises `WrongUse` for a header without a source."""
    args = call.args
    given: Json = {
        "token_file": args.token_file,
        "header": args.header,
        "github_audience": args.github_audience,
    }
    if args.token_file:
        given["token_file"] = os.path.abspath(args.token_file)
    if args.command:
        given["command"] = shlex.split(args.command)
    if args.header and not (args.command or args.token_file or args.github_audience):
        raise WrongUse(
            "--header has no credential to carry",
            "Give --command, --token-file or --github-audience with it.",
        )
    return {name: value for name, value in given.items() if value}


def whoami(call: Call) -> int:
    """The identity, and its role everywhere."""
    found = call.service.get("/whoami")
    identity = _identity_of(found)
    if call.settings.is_json:
        output.print_json(found)
    else:
        _print_identity(identity, found.get("global_role"))
    return 0


def _identity_of(found: Json) -> Json:
    identity = found.get("identity")
    if not isinstance(identity, dict) or not isinstance(identity.get("subject"), str):
        raise Failure(
            "the answer lacks identity, which the client needs", "Is the client newer than the service?"
        )
    return identity


def _print_identity(identity: Json, role: object) -> None:
    disabled = " (disabled)" if identity.get("disabled") else ""
    print(f"{printable(identity.get('kind'))} {printable(text(identity, 'subject'))}{disabled}")
    print(f"role everywhere: {printable(role or 'none')}")


def use(call: Call) -> int:
    """Write `.secretsvc.toml` here once the environment is read; raises `WrongUse` if it would not count."""
    project = checked_slug(call.args.slug, "project")
    environment = checked_slug(call.args.environment_slug, "environment")
    path = Path.cwd() / FOLDER_FILE
    if path.is_symlink():
        # Another user's folder could link it to any file of this user.
        raise WrongUse(f"{printable(path)} is a symbolic link", "Remove the link and run the command again.")
    if is_open_to_everybody(path.parent):
        raise WrongUse(
            f"{printable(path)} would not count: everybody can write its folder",
            f"Run chmod o-w on {printable(path.parent)}, or choose another folder.",
        )
    settings = call.settings._replace(project=project, environment=environment, distrust=None)
    text(Service(settings, os.environ).get(environment_path(settings)), "slug")
    replace_file(path, f'project = "{project}"\nenvironment = "{environment}"\n'.encode(), _shared_mode(path))
    if call.settings.is_json:
        output.print_json({"project": project, "environment": environment, "file": str(path)})
    else:
        print(f"{printable(path)} says {project}/{environment}; it holds no secret and may be committed")
    return 0


def _shared_mode(path: Path) -> int:
    """Return the mode of the file, or of a new one. Others cannot write to it: it would not count."""
    if path.exists():
        return stat.S_IMODE(path.stat().st_mode) & ~0o022
    mask = os.umask(0)
    os.umask(mask)
    return 0o644 & ~mask


RUN = {"login": login, "whoami": whoami, "use": use}
