"""The recipes of docs/use/provisioning.md, run by Terraform and Ansible."""

from __future__ import annotations

import shutil
from hashlib import sha256

import pytest
import yaml
from recipes import DOCS, DOWN, VALUES, blocks
from toolchains import installed_by_pip

KEYS = ("TLS_KEY", "GREETING", "SETTINGS")
ANSIBLE = DOCS.parent / "tests" / "readers" / "ansible"
#: Terraform prints digests of values that a state may have.
DIGESTS = """
variable "tls_key" { type = string }
variable "greeting" { type = string }
output "tls_key" { value = sha256(var.tls_key) }
output "greeting" { value = sha256(var.greeting) }
"""


def test_terraform_has_its_variables(machine):
    if shutil.which("terraform") is None:
        pytest.skip("terraform is missing")
    (machine.folder / "main.tf").write_text(blocks("use/provisioning.md", "hcl")[0])
    (machine.folder / "digests.tf").write_text(DIGESTS)
    assert machine.run(["terraform", "init", "-input=false"]).returncode == 0
    done = machine.run(blocks("use/provisioning.md", "sh")[0])
    assert done.returncode == 0, done.stderr
    assert "has_database = true" in done.stdout
    for name in ("tls_key", "greeting"):
        assert f'{name} = "{sha256(VALUES[f"TF_VAR_{name}"].encode()).hexdigest()}"' in done.stdout
    assert "s3cr%t" not in done.stdout + (machine.folder / "terraform.tfstate").read_text()
    assert machine.run(blocks("use/provisioning.md", "sh")[0], **DOWN).returncode == 125


@pytest.fixture
def playing(machine):
    """A machine with Ansible, for plays that write to a folder of its own."""
    python = installed_by_pip(ANSIBLE)
    machine.program("ansible-playbook", f'#!/bin/sh\nexec {python} -m ansible playbook "$@"\n')
    machine.variables |= {"ANSIBLE_LOCALHOST_WARNING": "false", "ANSIBLE_NOCOLOR": "1"}
    (machine.folder / "hosts").write_text(
        f"shop ansible_connection=local ansible_python_interpreter={python}\n"
    )
    return machine


def played(machine, play, lookup, command, **variables):
    """What the play's task leaves in a file, for each of the keys; `lookup` is that of TLS_KEY."""
    (task,) = play["tasks"]
    tasks = []
    for key in KEYS:
        target = machine.folder / key
        target.unlink(missing_ok=True)
        copied = {**task["ansible.builtin.copy"], "dest": str(target)}
        tasks.append(
            {**task, "ansible.builtin.copy": copied, "vars": {"tls_key": lookup.replace("TLS_KEY", key)}}
        )
    (machine.folder / "site.yml").write_text(
        yaml.safe_dump([{"hosts": play["hosts"], "gather_facts": False, "tasks": tasks}])
    )
    done = machine.run(f"{command} -i hosts", **variables)
    assert "PRIVATE KEY" not in done.stdout + done.stderr
    written = {key: machine.folder / key for key in KEYS if (machine.folder / key).exists()}
    assert (done.returncode == 0) == bool(written), done.stdout + done.stderr
    return {key: path.read_bytes().decode() for key, path in written.items()}


def test_the_lookups_of_a_play_read_values_exactly(playing):
    (play,) = yaml.safe_load(blocks("use/provisioning.md", "yaml")[0])
    _, started = blocks("use/provisioning.md", "sh")
    assert play["tasks"][0]["no_log"] is True
    expected = {key: VALUES[key] for key in KEYS}
    lookup = play["vars"]["tls_key"]
    assert played(playing, play, lookup, "ansible-playbook site.yml") == expected
    assert played(playing, play, lookup, "ansible-playbook site.yml", **DOWN) == {}
    variable = "{{ lookup('ansible.builtin.env', 'TLS_KEY') }}"
    assert variable.strip("{ }") in (DOCS / "use" / "provisioning.md").read_text("utf-8")
    assert played(playing, play, variable, started.strip()) == expected
