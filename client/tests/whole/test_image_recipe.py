"""The Dockerfile of docs/use/machines.md, built by buildah and run."""

from __future__ import annotations

import json
import os
import shutil
import subprocess

import pytest
from built import single_file
from built_image import VOLUME, BuiltImage, NotBuildableHereError
from recipes import DOWN, SHOW, VALUES, blocks
from toolchains import program_of


@pytest.fixture
def image(tmp_path):
    program_of("the image", "buildah")
    if os.geteuid() != 0:
        pytest.skip("to build and to mount an image takes root here")
    (dockerfile,) = blocks("use/machines.md", "dockerfile")
    source = tmp_path / "source"
    source.mkdir()
    single_file(source)
    (source / "server.py").write_text(SHOW)
    (source / "Dockerfile").write_text(dockerfile)
    made = BuiltImage(tmp_path)
    try:
        made.provide(dockerfile.split()[1])
        made.build(source, "shop")
    except NotBuildableHereError as error:
        pytest.skip(f"buildah cannot build here: {error}")
    yield made
    made.remove()


def test_the_image_starts_its_command_with_the_secrets_or_not_at_all(machine, image, tmp_path):
    volume = tmp_path / "volume"
    volume.mkdir()
    if subprocess.run(["unshare", "--mount", "true"], check=False).returncode:
        pytest.skip("to mount takes root, with the right to do so")
    shutil.copy(machine.token, volume / "token")
    settings = {**machine.scope, "SECRETSVC_TOKEN_FILE": f"{VOLUME}/token"}
    command = image.config["Cmd"]
    done = image.run(volume, settings, *command)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == VALUES
    stopped = image.run(volume, {**settings, **DOWN}, *command)
    assert stopped.returncode != 0
    assert stopped.stdout == ""
