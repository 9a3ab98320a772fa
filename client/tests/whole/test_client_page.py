"""The blocks of docs/use/client.md, formats.md and generated-clients.md, run as they stand."""

from __future__ import annotations

import json
import re

import pytest
from hostile import Hostile, closed_port, told
from recipes import DOCS, VALUES, blocks
from toolchains import program_of

#: Without what a folder, a file of the user or `login` shows.
NOTHING = {
    "SECRETSVC_URL": "",
    "SECRETSVC_PROJECT": "",
    "SECRETSVC_ENVIRONMENT": "",
    "SECRETSVC_TOKEN_FILE": "",
}


def test_the_first_commands_start_an_application(machine):
    (recipe,) = blocks("use/client.md", "sh")
    (machine.folder / "server").symlink_to(machine.program("show"))
    script = recipe.replace("https://secrets.example.com", machine.url)
    done = machine.run(script, **NOTHING, SECRETSVC_TOKEN=machine.token.read_text())
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == VALUES


def test_the_users_configuration_names_a_command_that_prints_the_token(machine, home):
    (recipe,) = blocks("use/client.md", "toml")
    machine.program("cloudflared", f'#!/bin/sh\necho "$*" >&2\ncat {machine.token}\n')
    file = home / ".config" / "secretsvc" / "config.toml"
    file.parent.mkdir(parents=True)
    here = recipe.replace("https://secrets.example.com", machine.url)
    file.write_text(here.replace("cf-access-token", "Proxy-Access-Jwt-Assertion"))
    done = machine.run(["secretsvc", "whoami", "--json"], **NOTHING)
    assert json.loads(done.stdout)["identity"]["subject"] == "root@example.com", done.stderr


def test_bash_completes_the_clients_commands(machine):
    (recipe,) = blocks("use/client.md", "bash")
    done = machine.run(["bash", "-c", f"{recipe}\ncomplete -p secretsvc"])
    assert done.stdout.rstrip().endswith(" secretsvc"), done.stderr


def test_a_shell_has_the_values_by_curl_or_stops(machine):
    (recipe,) = blocks("use/formats.md", "bash")
    machine.program("show")
    given = {
        "TOKEN": machine.token.read_text(),
        "prod": f"{machine.url}/api/v1/projects/shop/environments/prod",
    }
    assert machine.shown(["bash", "-c", f"{recipe}\nshow"], **given) == VALUES
    stopped = machine.run(["bash", "-c", f"{recipe}\necho went on"], **{**given, "TOKEN": "ssv_bad"})
    assert (stopped.returncode, stopped.stdout) == (22, "")


def test_the_description_for_generators_is_had_by_curl(machine):
    (recipe,) = blocks("use/generated-clients.md", "bash")
    assert machine.run(recipe.replace("https://secrets.example.com", machine.url)).returncode == 0
    assert json.loads((machine.folder / "openapi.json").read_text())["openapi"].startswith("3.1")


def test_docker_reads_each_line_of_an_export_as_it_is(machine):
    program_of("Docker", "docker")
    file = machine.folder / "shop.docker"
    refused = machine.run(["secretsvc", "export", "--format", "docker", "--output", str(file)])
    assert refused.returncode == 6
    removed = machine.run(["secretsvc", "unset", "TLS_KEY", "GREETING", "TF_VAR_tls_key", "TF_VAR_greeting"])
    assert removed.returncode == 0, removed.stderr
    assert machine.run("printf %s ' #quoted ' | secretsvc set SPACES").returncode == 0
    assert machine.run(["secretsvc", "export", "--format", "docker", "--output", str(file)]).returncode == 0
    kept = {key: value for key, value in VALUES.items() if "\n" not in value} | {"SPACES": " #quoted "}
    with Hostile(told(200, {}, "Api-Version: 1.50"), told(201, {"Id": "made"})) as daemon:
        create = ["docker", "create", "--pull", "never", "--env-file", str(file), "image"]
        done = machine.run(create, DOCKER_HOST=daemon.url.replace("http:", "tcp:"))
    assert done.returncode == 0, done.stderr
    body = json.loads(daemon.requests[-1].partition(b"\r\n\r\n")[2])
    assert dict(line.split("=", 1) for line in body["Env"]) == kept


@pytest.mark.parametrize(("size", "is_refused"), [(65_535, False), (65_536, True)])
def test_docker_reads_no_line_above_the_limit_of_the_page(machine, size, is_refused):
    program_of("Docker", "docker")
    assert "65,535 bytes" in (DOCS / "use" / "formats.md").read_text("utf-8")
    file = machine.folder / "shop.docker"
    file.write_text("KEY=".ljust(size, "x") + "\n")
    create = ["docker", "create", "--env-file", str(file), "image"]
    done = machine.run(create, DOCKER_HOST=f"tcp://127.0.0.1:{closed_port()}")
    assert ("token too long" in done.stderr) is is_refused


def test_the_page_of_the_client_names_every_command_flag_and_code():
    from secretsvc_client.cli import VALUED
    from secretsvc_client.commands.completion import flags_of

    text = (DOCS / "use" / "client.md").read_text("utf-8")
    asked = {flag for flag in flags_of("run") if flag not in {"--help", *VALUED}}
    assert [flag for flag in sorted(asked | {"--token-file", "--timeout"}) if flag not in text] == []
    codes = re.findall(r"(?m)^\| (\d+) \|", text)
    assert codes == ["0", "2", "3", "4", "5", "6", "1", "125", "126", "127"]
