"""The recipes of docs/use/kubernetes.md, run by two users, by kubectl and by the operator's provider."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from base64 import b64decode
from pathlib import Path

import pytest
import yaml
from recipes import DOCS, DOWN, KEY, TAIL, URL, VALUES, blocks
from toolchains import built_by_go_if_quick, program_of

READER = DOCS.parent / "tests" / "readers" / "external-secrets"
APPLICATION_USER = 1000


def containers(number):
    """The pod of a recipe, its init container and its application's container."""
    pod = yaml.safe_load(blocks("use/kubernetes.md", "yaml")[number])
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
    command = here(shop, machine, **{"/client": machine.folder, "/shop": machine.program("show")})
    assert machine.shown(command, **given) == VALUES
    (token,) = (one for one in pod["spec"]["volumes"] if "projected" in one)
    assert token["projected"]["sources"][0]["serviceAccountToken"]["audience"] == "secretsvc"


@pytest.fixture
def volume():
    """A folder that every user can write and enter, as an `emptyDir` is."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o777)
        yield Path(name)


def test_another_user_reads_the_file_that_the_init_container_writes_as_root(machine, volume):
    if os.geteuid() != 0:
        pytest.skip("two users take root")
    _, secrets, shop = containers(1)
    given = {**environment_of(secrets, machine), "SECRETSVC_TOKEN_FILE": ""}
    command = here(secrets, machine, **{"/secrets": volume})
    assert machine.run(command, **{**given, **DOWN}).returncode != 0
    assert list(volume.iterdir()) == []
    assert machine.run(command, **given).returncode == 0
    file = volume / Path(shop["args"][1]).name
    users = {"user": APPLICATION_USER, "group": APPLICATION_USER, "extra_groups": []}
    read = subprocess.run(["cat", file], capture_output=True, check=False, **users)
    assert read.returncode == 0, read.stderr
    assert json.loads(read.stdout) == VALUES


def test_kubectl_reads_the_secret_that_the_client_exports(machine):
    program_of("Kubernetes", "kubectl")
    (recipe,) = blocks("use/kubernetes.md", "sh")
    # The same kubectl, which reads what it would send and asks no cluster.
    local = recipe.replace("apply --server-side -f -", "label --local -f - read=yes -o json")
    assert local != recipe
    done = machine.run(local)
    secret = json.loads(done.stdout)
    assert (secret["kind"], secret["metadata"]["name"]) == ("Secret", "shop")
    assert {key: b64decode(value).decode() for key, value in secret["data"].items()} == VALUES
    stopped = machine.run(recipe, **DOWN)
    assert (stopped.returncode, stopped.stderr.splitlines()[-1]) == (1, "error: no objects passed to apply")


@pytest.fixture(scope="session")
def reader():
    return built_by_go_if_quick(READER) / "reader"


def operated(reader, machine, token, *manifests):
    """What the operator's provider makes of each ExternalSecret, with the page's Secret for a token."""
    secret, *stores = blocks("use/kubernetes.md", "yaml")[2:]
    given = "---\n".join([secret.replace("ssv_…", token), *(manifests or stores)])
    given = given.replace("https://secrets.example.com", machine.url)
    done = machine.run([str(reader)], stdin=given)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def data_of(result):
    assert result["Error"] == ""
    return {key: b64decode(value).decode() for key, value in result["Data"].items()}


@pytest.mark.long
def test_the_operators_own_provider_reads_an_environment_and_a_secret(machine, reader):
    found = operated(reader, machine, machine.token.read_text())
    assert data_of(found["shop"]) == VALUES
    assert data_of(found["shop-database"]) == {"DATABASE_URL": URL}
    _, _, single = blocks("use/kubernetes.md", "yaml")[2:]
    for key, value in {"TLS_KEY": KEY, "GREETING": TAIL}.items():
        found = operated(reader, machine, machine.token.read_text(), single.replace("DATABASE_URL", key))
        assert data_of(found["shop-database"]) == {key: value}


@pytest.mark.long
def test_the_operators_own_provider_takes_a_revoked_grant_but_no_bad_token_for_a_deletion(
    machine, reader, issuer
):
    no_grant = operated(reader, machine, issuer.sign("eve@example.com"))
    assert [one["IsMissing"] for one in no_grant.values()] == [True, True]
    bad_token = operated(reader, machine, "ssv_bad")
    assert [one["IsMissing"] for one in bad_token.values()] == [False, False]
    assert ["401" in one["Error"] for one in bad_token.values()] == [True, True]
    secrets = [one for text in blocks("use/kubernetes.md", "yaml")[3:] for one in yaml.safe_load_all(text)]
    policies = [one["spec"]["target"]["deletionPolicy"] for one in secrets if one["kind"] == "ExternalSecret"]
    assert policies == ["Retain", "Retain"]


@pytest.mark.long
def test_the_operators_own_provider_refuses_a_token_without_the_label(machine, reader):
    secret, *stores = blocks("use/kubernetes.md", "yaml")[2:]
    assert "    external-secrets.io/type: webhook\n" in secret
    unlabelled = secret.replace("    external-secrets.io/type: webhook\n", "    app: shop\n")
    given = "---\n".join([unlabelled, *stores])
    done = machine.run([str(reader)], stdin=given)
    assert ["label" in one["Error"] for one in json.loads(done.stdout).values()] == [True, True]
