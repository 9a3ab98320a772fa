"""The recipes of docs/use and docs/identity, and a machine to run them on."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

from built import single_file
from hostile import closed_port

DOCS = Path(__file__).parents[2] / "docs"
URL = 'postgresql://ä\'$x:"s3cr%t"@db/shop'
KEY = "-----BEGIN PRIVATE KEY-----\nMIIE+/=\n\n-----END PRIVATE KEY-----\n"
TAIL = "{{ 7 * 7 }}, a space and a line feed at the end \n"
VALUES = {
    "DATABASE_URL": URL,
    "API_KEY": "k1",
    "TLS_KEY": KEY,
    "GREETING": TAIL,
    "SETTINGS": '{"hosts": ["a", "b"]}',
    "TF_VAR_database_url": URL,
    "TF_VAR_tls_key": KEY,
    "TF_VAR_greeting": TAIL,
}
#: A program that prints the values it has as JSON.
SHOW = f"""#!/usr/bin/env python3
import json, os
print(json.dumps({{key: os.environ[key] for key in {list(VALUES)!r}}}))
"""
DOWN = {"SECRETSVC_URL": f"http://127.0.0.1:{closed_port()}"}
SECONDS = 120.0


def blocks(page: str, language: str) -> list[str]:
    """Return the blocks of a page that are of a language."""
    return re.findall(rf"(?ms)^ *```{language}\n(.*?)^ *```$", (DOCS / page).read_text("utf-8"))


class Machine:
    """A folder with the client among its programs, and a service with the secrets of shop/prod."""

    def __init__(self, folder: Path, url: str, token: str) -> None:
        self.folder, self.url = folder, url
        self.bin = folder / "bin"
        self.bin.mkdir()
        single_file(folder).rename(self.bin / "secretsvc")
        (self.bin / "python3").symlink_to(os.path.realpath(sys.executable))
        self.token = folder / "token"
        self.token.write_text(token)
        self.scope = {"SECRETSVC_URL": url, "SECRETSVC_PROJECT": "shop", "SECRETSVC_ENVIRONMENT": "prod"}
        self.variables = {**os.environ, "PATH": f"{self.bin}:{os.environ['PATH']}"}

    def program(self, name: str, script: str = SHOW) -> str:
        """Write a program, by default one that prints its values, and return its path."""
        path = self.bin / name
        path.write_text(script)
        path.chmod(0o755)
        return str(path)

    def run(
        self, command: list[str] | str, stdin: str = "", **variables: str
    ) -> subprocess.CompletedProcess[str]:
        """Run a command, or a script of sh, with the client's usual variables and without empty ones."""
        usual = {**self.variables, **self.scope, "SECRETSVC_TOKEN_FILE": str(self.token), **variables}
        environment = {name: value for name, value in usual.items() if value}
        command = ["sh", "-c", command] if isinstance(command, str) else command
        return subprocess.run(
            command,
            cwd=self.folder,
            env=environment,
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
            timeout=SECONDS,
        )

    def shown(self, command: list[str] | str, **variables: str) -> dict[str, str]:
        """Return the values that a command printed by `SHOW`."""
        done = self.run(command, **variables)
        assert done.returncode == 0, done.stderr
        found: dict[str, str] = json.loads(done.stdout)
        return found
