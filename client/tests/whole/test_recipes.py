"""The recipes of docs/use, run as far as this machine can."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
import yaml
from built import single_file
from hostile import Hostile, closed_port, told
from server import served
from service import ADMIN

DOCS = Path(__file__).parents[3] / "docs" / "use"
URL = 'postgresql://ä\'$x:"s3cr%t"@db/shop'
VALUES = {"DATABASE_URL": URL, "API_KEY": "k1", "TF_VAR_database_url": URL}
SECONDS = 120.0


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", (DOCS / page).read_text("utf-8"), re.DOTALL)


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

    def program(self, name: str, script: str) -> str:
        path = self.bin / name
        path.write_text(script)
        path.chmod(0o755)
        return str(path)

    def run(self, command: list[str] | str, **variables: str) -> subprocess.CompletedProcess[str]:
        """A command, or a script of sh, with the client's usual variables and without empty ones."""
        usual = {**self.variables, **self.scope, "SECRETSVC_TOKEN_FILE": str(self.token), **variables}
        environment = {name: value for name, value in usual.items() if value}
        command = ["sh", "-c", command] if isinstance(command, str) else command
        return subprocess.run(
            command,
            cwd=self.folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=SECONDS,
        )


@pytest.fixture
def machine(service, home, tmp_path):
    body = {"mode": "merge", "set": VALUES}
    service.user().post("/projects/shop/environments/prod/secrets:batch", body)
    with served(service.app) as port:
        yield Machine(tmp_path, f"http://127.0.0.1:{port}", service.issuer.sign(ADMIN))


DOWN = {"SECRETSVC_URL": f"http://127.0.0.1:{closed_port()}"}
SHOW = '#!/bin/sh\nprintf %s "$DATABASE_URL"\n'


def test_the_shell_has_the_values_or_stops(machine):
    values, one = blocks("machines.md", "bash")
    show = 'printf %s "$DATABASE_URL"'
    assert machine.run(["bash", "-c", values + show]).stdout == URL
    stopped = machine.run(["bash", "-c", values + "echo went on"], **DOWN)
    assert (stopped.returncode, stopped.stdout) == (3, "")
    assert machine.run(["bash", "-c", one]).stdout == "1\n"


def test_the_image_starts_its_command_through_the_client(machine):
    (dockerfile,) = blocks("machines.md", "dockerfile")
    entrypoint = machine.program("entrypoint.sh", blocks("machines.md", "sh")[0])
    shown = machine.program("show", SHOW)
    assert machine.run([entrypoint, shown]).stdout == URL
    assert machine.run([entrypoint, shown], **DOWN).returncode == 125
    lines = dict(line.split(" ", 1) for line in dockerfile.splitlines() if line.startswith(("ENTRY", "CMD")))
    assert json.loads(lines["ENTRYPOINT"]) == ["/entrypoint.sh"]
    assert json.loads(lines["CMD"])


def test_compose_hands_the_token_over_as_a_file(machine):
    (compose,) = (yaml.safe_load(one) for one in blocks("machines.md", "yaml"))
    shop = compose["services"]["shop"]
    given = {**shop["environment"], "SECRETSVC_URL": machine.url}
    assert given["SECRETSVC_TOKEN_FILE"] == f"/run/secrets/{shop['secrets'][0]}"
    given["SECRETSVC_TOKEN_FILE"] = str(machine.token)
    assert machine.run(["secretsvc", "run", "--", machine.program("show", SHOW)], **given).stdout == URL


def test_the_unit_is_valid_and_its_command_gets_the_secrets(machine):
    (unit,) = blocks("machines.md", "ini")
    shown = machine.program("show", SHOW)
    unit = unit.replace("/usr/local/bin/secretsvc", str(machine.bin / "secretsvc")).replace(
        "/usr/local/bin/shop", shown
    )
    file = machine.folder / "shop.service"
    file.write_text(unit)
    if shutil.which("systemd-analyze"):
        verified = machine.run(["systemd-analyze", "verify", "--man=no", str(file)])
        assert "shop.service" not in verified.stderr, verified.stderr
    command = re.search(r"ExecStart=(.*)", unit)[1].replace("${CREDENTIALS_DIRECTORY}", str(machine.folder))
    assert machine.run(shlex.split(command), SECRETSVC_TOKEN_FILE="").stdout == URL


def containers(number):
    """The pod of a recipe, its init containers and its containers."""
    pod = yaml.safe_load(blocks("kubernetes.md", "yaml")[number])
    return pod, pod["spec"]["initContainers"][0], pod["spec"]["containers"][0]


def environment_of(container, machine):
    return {**{one["name"]: one["value"] for one in container["env"]}, "SECRETSVC_URL": machine.url}


def here(container, machine, **paths):
    """The command of a container with its paths on this machine."""
    text = json.dumps(container["command"])
    for before, after in {"/var/run/secretsvc/token": machine.token, **paths}.items():
        text = text.replace(before, str(after))
    return json.loads(text)


def test_the_pod_starts_its_application_through_the_client(machine):
    pod, copying, shop = containers(0)
    paths = {"/usr/local/bin/secretsvc": machine.bin / "secretsvc", "/client": machine.folder}
    assert machine.run(here(copying, machine, **paths)).returncode == 0
    given = {**environment_of(shop, machine), "SECRETSVC_TOKEN_FILE": ""}
    command = here(shop, machine, **{"/client": machine.folder, "/shop": machine.program("show", SHOW)})
    assert machine.run(command, **given).stdout == URL
    (token,) = (one for one in pod["spec"]["volumes"] if "projected" in one)
    assert token["projected"]["sources"][0]["serviceAccountToken"]["audience"] == "secretsvc"


def test_the_init_container_writes_the_file_that_the_application_reads(machine):
    _, secrets, shop = containers(1)
    given = {**environment_of(secrets, machine), "SECRETSVC_TOKEN_FILE": ""}
    command = here(secrets, machine, **{"/secrets": machine.folder})
    assert machine.run(command, **{**given, **DOWN}).returncode == 125
    assert machine.run(command, **given).returncode == 0
    assert json.loads((machine.folder / Path(shop["args"][1]).name).read_text()) == VALUES


def test_the_operators_provider_reads_a_value_and_keeps_what_is_revoked(machine):
    store, secret = yaml.safe_load_all(blocks("kubernetes.md", "yaml")[2])
    webhook = store["spec"]["provider"]["webhook"]
    key = secret["spec"]["data"][0]["remoteRef"]["key"]
    url = (
        webhook["url"]
        .replace("{{ .remoteRef.key }}", key)
        .replace("https://secrets.example.com", machine.url)
    )
    header = webhook["headers"]["Authorization"].replace("{{ .auth.token }}", machine.token.read_text())
    request = urllib.request.Request(url, headers={"Authorization": header})  # noqa: S310 - loopback
    with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310 - loopback
        assert json.load(answer)[webhook["result"]["jsonPath"].removeprefix("$.")] == URL
    assert secret["spec"]["target"]["deletionPolicy"] == "Retain"


def test_the_composite_action_runs_its_command_with_the_jobs_token(machine):
    action, job = (yaml.safe_load(one) for one in blocks("pipelines.md", "yaml")[:2])
    given = job["jobs"]["deploy"]["steps"][1]["with"]
    assert given.keys() == action["inputs"].keys()
    given |= {"url": machine.url, "command": 'printf %s "$DATABASE_URL"'}
    (step,) = action["runs"]["steps"]
    variables = {name: given[re.search(r"inputs\.(\w+)", text)[1]] for name, text in step["env"].items()}
    shutil.copy(machine.bin / "secretsvc", machine.folder / "secretsvc.pyz")
    with Hostile(told(200, {"value": machine.token.read_text()})) as github:
        variables |= {
            "SECRETSVC_TOKEN_FILE": "",
            "GITHUB_ACTION_PATH": str(machine.folder),
            "ACTIONS_ID_TOKEN_REQUEST_URL": f"{github.url}/?v=2",
            "ACTIONS_ID_TOKEN_REQUEST_TOKEN": "of-the-job",
        }
        assert machine.run(["bash", "-euo", "pipefail", "-c", step["run"]], **variables).stdout == URL
        assert machine.run(["bash", "-c", step["run"]], **{**variables, **DOWN}).returncode == 125
    assert github.paths[0] == "/?v=2&audience=https%3A%2F%2Fsecrets.example.com"


def test_a_job_of_gitlab_runs_with_its_own_token(machine):
    job = yaml.safe_load(blocks("pipelines.md", "yaml")[2])["deploy"]
    (script,) = job["script"]
    shutil.copy(machine.bin / "secretsvc", machine.folder / "secretsvc.pyz")
    shutil.copy(machine.program("show", SHOW), machine.folder / "deploy.sh")
    (token,) = job["id_tokens"]
    given = {**job["variables"], "SECRETSVC_URL": machine.url, "SECRETSVC_TOKEN_FILE": ""}
    assert machine.run(script, **given, **{token: machine.token.read_text()}).stdout == URL


def test_terraform_has_its_variables(machine):
    if shutil.which("terraform") is None:
        pytest.skip("terraform is missing")
    (machine.folder / "main.tf").write_text(blocks("provisioning.md", "hcl")[0])
    assert machine.run(["terraform", "init", "-input=false"]).returncode == 0
    done = machine.run(blocks("provisioning.md", "sh")[0])
    assert done.returncode == 0, done.stderr
    assert "has_database = true" in done.stdout
    assert "s3cr%t" not in done.stdout + (machine.folder / "terraform.tfstate").read_text()
    assert machine.run(blocks("provisioning.md", "sh")[0], **DOWN).returncode == 125


def test_the_lookup_of_the_playbook_reads_a_value(machine):
    (play,) = yaml.safe_load(blocks("provisioning.md", "yaml")[0])
    command = re.search(r"pipe', '(.*?)'", play["vars"]["database_url"])[1]
    assert machine.run(command).stdout == URL
    assert machine.run(command, **DOWN).returncode == 3
    assert play["tasks"][0]["no_log"] is True


@pytest.mark.parametrize(("number", "language"), [(0, "python"), (1, "javascript"), (2, "go")])
def test_a_program_reads_its_environment(machine, number, language):
    command = blocks("languages.md", "sh")[0].splitlines()[number]
    program, file = shlex.split(command)[3], shlex.split(command)[-1]
    if shutil.which(program) is None:
        pytest.skip(f"{program} is missing")
    (machine.folder / file).write_text(blocks("languages.md", language)[0])
    done = machine.run(command)
    assert done.stdout.split()[1:] == ["has", str(len(URL))], done.stderr
    assert machine.run(command, **DOWN).returncode == 125
    alone = machine.run(shlex.join(shlex.split(command)[3:]))
    assert alone.returncode != 0


@pytest.mark.parametrize("page", sorted(path.name for path in DOCS.glob("*.md")))
def test_every_link_of_the_pages_leads_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)\)", (DOCS / page).read_text("utf-8")):
        assert "://" in target or (DOCS / target).exists(), target


def test_the_page_of_the_client_names_every_command_flag_and_code():
    from secretsvc_client.cli import VALUED
    from secretsvc_client.commands.completion import flags_of

    text = (DOCS / "client.md").read_text("utf-8")
    asked = {flag for flag in flags_of("run") if flag not in {"--help", *VALUED}}
    assert [flag for flag in sorted(asked | {"--token-file", "--timeout"}) if flag not in text] == []
    codes = re.findall(r"(?m)^\| (\d) \|", text)
    assert codes == ["0", "2", "3", "4", "5", "6", "1"]
