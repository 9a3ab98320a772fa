"""The wheel holds what an installation needs beside the code: migrations, samples, exact versions."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from processes import ROOT
from wheels import copy_source, make_dist, wheel_in

from secretsvc.deployment.init import DEPLOY
from secretsvc.deployment.package_data import shipped

#: What whoever starts containers keeps beside the files of deploy/.
PRIVATE = {".env", "master-key"}
FILES = sorted(
    str(path.relative_to(ROOT))
    for pattern in ("alembic/**/*.py", "alembic/*.mako", "*.ini", "constraints/run.txt")
    for path in ROOT.glob(pattern)
)
SHIPPED = sorted([*FILES, *(f"deploy/{name}" for name in DEPLOY)])


def contents(wheel: Path) -> dict[str, bytes]:
    """What a wheel would install, by its path."""
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist() if "dist-info/" not in name}


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    return copy_source(tmp_path_factory.mktemp("wheel") / "source")


@pytest.fixture(scope="module")
def dist(source):
    return make_dist(source)


def test_the_wheel_holds_the_migrations_the_samples_and_the_exact_versions(dist):
    found = contents(wheel_in(dist))
    inside = {name.removeprefix("secretsvc/shipped/") for name in found if "/shipped/" in name}
    assert sorted(inside) == SHIPPED
    assert {"alembic/env.py", "alembic/versions/0001_the_first_schema.py", "production.ini"} <= inside
    for name in SHIPPED:
        assert found[f"secretsvc/shipped/{name}"] == (ROOT / name).read_bytes()


def test_the_wheel_holds_every_file_of_the_package(dist):
    package = [path for path in (ROOT / "secretsvc").rglob("*") if path.is_file()]
    files = {str(path.relative_to(ROOT)) for path in package if "__pycache__" not in path.parts}
    assert {name for name in files if not name.endswith(".md")} <= set(contents(wheel_in(dist)))


def test_the_wheel_of_a_source_distribution_is_the_same(source, dist, tmp_path):
    build = "from setuptools import build_meta as build; build.build_{}(r'{}')"
    made = tmp_path / "made"
    options = {"check": True, "capture_output": True}
    subprocess.run([sys.executable, "-c", build.format("sdist", made)], cwd=source, **options)
    shutil.unpack_archive(next(made.glob("*.tar.gz")), tmp_path, filter="data")
    (unpacked,) = tmp_path.glob("secretsvc-*")
    subprocess.run([sys.executable, "-c", build.format("wheel", made)], cwd=unpacked, **options)
    assert contents(wheel_in(made)) == contents(wheel_in(dist))


def test_what_an_earlier_build_or_a_deployment_left_does_not_go_into_the_wheel(source, dist):
    left = source / "build" / "lib" / "secretsvc" / "left.py"
    left.parent.mkdir(parents=True, exist_ok=True)
    left.touch()
    for name in PRIVATE:
        (source / "deploy" / name).write_text("of containers that were started there")
    found = {name.rpartition("/")[2] for name in contents(wheel_in(make_dist(source)))}
    assert not {"left.py", *PRIVATE} & found


def bytes_of(dist: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in dist.iterdir()}


def test_another_build_makes_every_file_the_same_byte_for_byte(source, dist):
    first = bytes_of(dist)
    for path in source.rglob("*"):
        os.utime(path, (1_700_000_000, 1_700_000_000))
    before = os.umask(0o077)
    try:
        second = bytes_of(make_dist(source))
    finally:
        os.umask(before)
    assert second == first


def test_the_files_of_a_build_have_the_time_of_the_last_commit(tmp_path):
    folder = copy_source(tmp_path / "source")
    environment = {**os.environ, "GIT_COMMITTER_DATE": "1700000000 +0000", "GIT_CONFIG_GLOBAL": os.devnull}
    environment.pop("SOURCE_DATE_EPOCH", None)
    person = ["-c", "user.name=a", "-c", "user.email=a@example.test"]
    for command in (["init", "--quiet"], ["add", "Makefile"], [*person, "commit", "--quiet", "-m", "a"]):
        subprocess.run(["git", *command], cwd=folder, env=environment, check=True)
    for given, expected in (({}, "1700000000"), ({"SOURCE_DATE_EPOCH": "1600000000"}, "1600000000")):
        command = ["make", "--dry-run", "dist", f"VENV={sys.prefix}", "-o", f"{sys.prefix}/run.done"]
        told = subprocess.run(
            command, cwd=folder, env={**environment, **given}, capture_output=True, text=True, check=True
        )
        assert f"SOURCE_DATE_EPOCH={expected} " in told.stdout


def test_the_list_to_install_by_has_every_pin_and_the_hash_of_the_wheel(dist):
    text = (dist / "requirements.txt").read_text("utf-8")
    assert text.startswith((ROOT / "constraints" / "run.txt").read_text("utf-8"))
    digest = hashlib.sha256(wheel_in(dist).read_bytes()).hexdigest()
    assert re.search(rf"^secretsvc==[\d.]+ \\\n    --hash=sha256:{digest}$", text, re.MULTILINE)


def test_the_bill_of_materials_has_every_pin_and_the_wheel_and_is_the_same_again(dist):
    (path,) = dist.glob("*.cdx.json")
    made = json.loads(path.read_text("utf-8"))
    requirements = (dist / "requirements.txt").read_text("utf-8")
    pins = dict(re.findall(r"(?m)^([\w.-]+)==([^\s;]+)", requirements))
    subject = made["metadata"]["component"]
    assert path.name == f"secretsvc-{pins['secretsvc']}.cdx.json"
    assert subject["hashes"][0]["content"] == hashlib.sha256(wheel_in(dist).read_bytes()).hexdigest()
    listed = {one["name"]: one["version"] for one in made["components"] if one["type"] == "library"}
    assert listed | {"secretsvc": subject["version"]} == pins
    assert [one["name"] for one in made["components"] if one.get("scope") == "optional"] == ["legacy-cgi"]
    refs = [one["bom-ref"] for one in made["components"]]
    assert made["dependencies"] == [{"ref": subject["bom-ref"], "dependsOn": refs}]
    again = subprocess.run(
        [sys.executable, ROOT / "constraints" / "bill.py", dist], capture_output=True, check=False
    )
    assert (again.returncode, json.loads(path.read_text("utf-8"))) == (0, made)


def test_no_file_for_operators_is_left_out():
    assert {path.name for path in (ROOT / "deploy").iterdir()} - PRIVATE == {*DEPLOY}


def test_a_source_tree_is_served_from_its_own_top_level():
    assert shipped("alembic") == ROOT / "alembic"
    assert not (ROOT / "secretsvc" / "shipped").exists()
