"""Clients that are generated from the description: each compiles, and makes the same calls of a real server.

The calls are those of tests/generators/calls.json, with what each gives; a driver beside the generator's pins
makes them in its language. What is missing on the machine, a test says (docs/use/generated-clients.md).
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from extent import sample
from server import served
from service import ADMIN, API, Service
from toolchains import (
    go_folder,
    installed_by_maven,
    installed_by_npm,
    installed_by_pip,
    node_of,
    program_of,
)

GENERATORS = Path(__file__).parent.parent / "generators"
CALLS: dict[str, Any] = json.loads((GENERATORS / "calls.json").read_text("utf-8"))
SECONDS = 600
#: A program of Java that ends soon gains nothing from what is compiled twice, nor from several collectors.
BRIEF = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
#: Its models refuse fields that they do not know unless they are told otherwise.
GO_OPTIONS = "withGoMod=false,disallowAdditionalPropertiesIfNotPresent=false"
#: Makes a client of the description in a folder of its own, and gives the command that runs its driver.
Make = Callable[[Path, Path], list[str]]


def run(command: list[str | Path], folder: Path, **more: str) -> str:
    """What it says; fails with what it complains of."""
    env = {name: os.environ[name] for name in ("PATH", "HOME", "JAVA_HOME") if name in os.environ} | more
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=env, timeout=SECONDS)
    assert done.returncode == 0, f"{command[0]}: {done.stdout[-3000:]}{done.stderr[-3000:]}"
    return done.stdout


def openapi_typescript(description: Path, folder: Path) -> list[str]:
    node = node_of("20")
    shutil.copytree(installed_by_npm(GENERATORS / "openapi-typescript"), folder, symlinks=True)
    programs = folder / "node_modules" / ".bin"
    run(
        [
            programs / "openapi-typescript",
            description,
            "--default-non-nullable=false",
            "--output",
            "api.d.ts",
        ],
        folder,
    )
    run([programs / "tsc"], folder)
    return [node, str(folder / "built" / "driver.js")]


def oapi_codegen(description: Path, folder: Path) -> list[str]:
    go = go_folder(GENERATORS / "oapi-codegen", folder)
    code = run(
        [go, "tool", "oapi-codegen", "-generate", "types,client", "-package", "main", description], folder
    )
    (folder / "api.go").write_text(code)
    run([go, "build", "-mod=readonly", "-o", "driver", "."], folder)
    return [str(folder / "driver")]


def openapi_python_client(description: Path, folder: Path) -> list[str]:
    python = installed_by_pip(GENERATORS / "openapi-python-client")
    shutil.copytree(GENERATORS / "openapi-python-client", folder)
    options = ["--path", str(description), "--output-path", "client", "--meta", "none"]
    run([python, "-m", "openapi_python_client", "generate", *options], folder)
    return [str(python), str(folder / "driver.py")]


def generated(description: Path, language: str, output: Path, *options: str) -> None:
    """By openapi-generator, which is for many languages."""
    java = program_of("Java", "java")
    (jar,) = (installed_by_maven(GENERATORS / "openapi-generator" / "jar") / "jars").glob("*.jar")
    run(
        [java, *BRIEF, "-jar", jar, "generate", "-i", description, "-g", language, "-o", output, *options],
        output.parent,
    )


def openapi_generator_python(description: Path, folder: Path) -> list[str]:
    python = installed_by_pip(GENERATORS / "openapi-generator" / "python")
    folder.mkdir()
    generated(description, "python", folder)
    shutil.copy(GENERATORS / "openapi-generator" / "python" / "driver.py", folder)
    return [str(python), str(folder / "driver.py")]


def openapi_generator_go(description: Path, folder: Path) -> list[str]:
    go = go_folder(GENERATORS / "openapi-generator" / "go", folder)
    client = folder / "client"
    generated(description, "go", client, "--additional-properties", GO_OPTIONS)
    shutil.rmtree(client / "test")
    run([go, "build", "-mod=readonly", "-o", "driver", "."], folder)
    return [str(folder / "driver")]


def openapi_generator_java(description: Path, folder: Path) -> list[str]:
    java, javac = program_of("Java", "java"), program_of("Java", "javac")
    needed = installed_by_maven(GENERATORS / "openapi-generator" / "java")
    folder.mkdir()
    generated(description, "java", folder, "--library", "native")
    sources = sorted((folder / "src" / "main" / "java").rglob("*.java"))
    classes = os.pathsep.join([str(folder / "classes"), *map(str, sorted((needed / "jars").glob("*.jar")))])
    run(
        [
            javac,
            *(f"-J{option}" for option in BRIEF),
            "-nowarn",
            "-d",
            "classes",
            "-cp",
            classes,
            *sources,
            needed / "Driver.java",
        ],
        folder,
    )
    return [java, "-cp", classes, "Driver"]


def openapi_generator_typescript(description: Path, folder: Path) -> list[str]:
    node = node_of("20")
    source = installed_by_npm(GENERATORS / "openapi-generator" / "typescript")
    shutil.copytree(source, folder, symlinks=True)
    generated(
        description,
        "typescript-fetch",
        folder / "client",
        "--additional-properties",
        "importFileExtension=.js",
    )
    run([folder / "node_modules" / ".bin" / "tsc"], folder)
    return [node, str(folder / "built" / "driver.js")]


@pytest.fixture(scope="module")
def service(sqlite_databases: Any, issuer: Any) -> Iterator[Service]:
    made = Service(sqlite_databases.create(), issuer)
    yield made
    made.close()


@pytest.fixture(scope="module")
def description(service: Service, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("description") / "openapi.json"
    path.write_bytes(service.nobody().get("/openapi.json").body)
    return path


GENERATORS_OF_CLIENTS = [
    openapi_typescript,
    oapi_codegen,
    openapi_python_client,
    openapi_generator_python,
    openapi_generator_go,
    openapi_generator_java,
    openapi_generator_typescript,
]


@pytest.mark.long
@pytest.mark.parametrize("make", sample(GENERATORS_OF_CLIENTS, 3))
def test_a_generated_client_compiles_and_makes_its_calls(
    make: Make, description: Path, sqlite_databases: Any, issuer: Any, tmp_path: Path
) -> None:
    command = make(description, tmp_path / "generated")
    service = Service(sqlite_databases.create(), issuer)
    try:
        with served(service.app) as port:
            told = run([*command, f"http://127.0.0.1:{port}{API}", issuer.sign(ADMIN)], tmp_path)
    finally:
        service.close()
    assert json.loads(told) == CALLS


def test_there_are_fourteen_calls() -> None:
    assert len(CALLS) == 14


@pytest.mark.parametrize("linter", ["spectral", "redocly"])
def test_a_linter_finds_no_error(linter: str, description: Path, tmp_path: Path) -> None:
    node_of("20")
    folder = installed_by_npm(GENERATORS / "linters")
    ruleset = ["--ruleset", folder / "spectral.yaml"] if linter == "spectral" else []
    run([folder / "node_modules" / ".bin" / linter, "lint", description, *ruleset], tmp_path)
