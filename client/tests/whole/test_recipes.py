"""The recipes of docs/use, run by the programs that they are written for."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess

import pytest
import yaml
from hostile import Hostile, told
from recipes import DOCS, DOWN, VALUES, blocks


def test_the_shell_has_the_values_or_stops(machine):
    values, one = blocks("use/machines.md", "bash")
    machine.program("show")
    for shell in ("bash", "sh"):
        assert machine.shown([shell, "-c", f"set -a\n{values}\nshow"]) == VALUES
    stopped = machine.run(["bash", "-c", values + "echo went on"], **DOWN)
    assert (stopped.returncode, stopped.stdout) == (3, "")
    assert machine.run(["bash", "-c", one]).stdout == "1\n"


def test_compose_hands_the_token_over_as_a_file(machine):
    (compose,) = (yaml.safe_load(one) for one in blocks("use/machines.md", "yaml"))
    shop = compose["services"]["shop"]
    given = {**shop["environment"], "SECRETSVC_URL": machine.url}
    assert given["SECRETSVC_TOKEN_FILE"] == f"/run/secrets/{shop['secrets'][0]}"
    given["SECRETSVC_TOKEN_FILE"] = str(machine.token)
    assert machine.shown(["secretsvc", "run", "--", machine.program("show")], **given) == VALUES


def test_the_composite_action_runs_its_command_with_the_jobs_token(machine):
    action, job = (yaml.safe_load(one) for one in blocks("use/pipelines.md", "yaml")[:2])
    given = job["jobs"]["deploy"]["steps"][1]["with"]
    assert given.keys() == action["inputs"].keys()
    given |= {"url": machine.url, "command": machine.program("show")}
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
        assert machine.shown(["bash", "-euo", "pipefail", "-c", step["run"]], **variables) == VALUES
        assert machine.run(["bash", "-c", step["run"]], **{**variables, **DOWN}).returncode == 125
    assert github.paths[0] == "/?v=2&audience=https%3A%2F%2Fsecrets.example.com"


def test_a_job_of_gitlab_runs_with_its_own_token(machine):
    job = yaml.safe_load(blocks("use/pipelines.md", "yaml")[2])["deploy"]
    (script,) = job["script"]
    shutil.copy(machine.bin / "secretsvc", machine.folder / "secretsvc.pyz")
    shutil.copy(machine.program("show"), machine.folder / "deploy.sh")
    (token,) = job["id_tokens"]
    given = {**job["variables"], "SECRETSVC_URL": machine.url, "SECRETSVC_TOKEN_FILE": ""}
    assert machine.shown(script, **given, **{token: machine.token.read_text()}) == VALUES


@pytest.fixture(scope="session")
def go_cache():
    """Where Go keeps what it compiled, in the home of the tests' user; a home of one test has nothing."""
    if shutil.which("go") is None:
        return ""
    return subprocess.run(["go", "env", "GOCACHE"], capture_output=True, text=True, check=True).stdout.strip()


@pytest.mark.parametrize(("number", "language"), [(0, "python"), (1, "javascript"), (2, "go")])
def test_a_program_reads_its_environment(go_cache, machine, number, language):
    command = blocks("use/languages.md", "sh")[0].splitlines()[number]
    program, file = shlex.split(command)[3], shlex.split(command)[-1]
    if shutil.which(program) is None:
        pytest.skip(f"{program} is missing")
    machine.variables["GOCACHE"] = go_cache
    source = blocks("use/languages.md", language)[0]
    for key in ("TLS_KEY", "GREETING", "DATABASE_URL"):
        (machine.folder / file).write_text(source.replace("DATABASE_URL", key))
        done = machine.run(command)
        assert done.stdout.split()[1:] == ["has", str(len(VALUES[key]))], done.stderr
    assert machine.run(command, **DOWN).returncode == 125
    alone = machine.run(shlex.join(shlex.split(command)[3:]))
    assert alone.returncode != 0


@pytest.mark.parametrize("page", sorted(path.name for path in (DOCS / "use").glob("*.md")))
def test_every_link_of_the_pages_leads_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)\)", (DOCS / "use" / page).read_text("utf-8")):
        assert "://" in target or (DOCS / "use" / target).exists(), target
