"""The software bill of materials of what `make dist` made: CycloneDX 1.6, from the list to install it by.

    python constraints/bill.py dist

It says the same for the same list: it has no time, and its serial number is made of what it says.
"""

from __future__ import annotations

import json
import re
import sys
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

#: A package with its exact version, where it is wanted if not everywhere, and its hashes.
PIN = re.compile(
    r"(?m)^([\w.-]+)==([^\s;]+)(?: *; *([^\\\n]+?))? *\\\n((?:    --hash=sha256:\w+(?: \\)?\n?)+)"
)
#: What the wheel carries that is not a package.
CARRIED = (("Inter", "OFL-1.1"), ("Lucide", "ISC"))


def bill(requirements: str) -> dict[str, Any]:
    """The bill of a list to install by, whose last package is the product."""
    *pins, product = PIN.findall(requirements)
    name, version, _, hashes = product
    digests = re.findall(r"sha256:(\w+)", hashes)
    subject = {**_package(name, version), "type": "application"}
    subject["hashes"] = [{"alg": "SHA-256", "content": digest} for digest in digests]
    packages = [_wanted(_package(pin[0], pin[1]), pin[2]) for pin in pins]
    carried = [
        {"type": "file", "bom-ref": one, "name": one, "licenses": [{"license": {"id": terms}}]}
        for one, terms in CARRIED
    ]
    components = packages + carried
    said = {
        "metadata": {"component": subject},
        "components": components,
        "dependencies": [{"ref": subject["bom-ref"], "dependsOn": [one["bom-ref"] for one in components]}],
    }
    serial = uuid5(NAMESPACE_URL, json.dumps(said, sort_keys=True))
    head = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{serial}",
        "version": 1,
    }
    return head | said


def _package(name: str, version: str) -> dict[str, Any]:
    url = f"pkg:pypi/{re.sub(r'[-_.]+', '-', name).lower()}@{version}"
    found = {"type": "library", "bom-ref": url, "name": name, "version": version, "purl": url}
    try:
        terms = metadata(name)["License-Expression"]
    except PackageNotFoundError:
        terms = None
    # Where a package does not say it so that a program can read it, nothing is guessed.
    return found | ({"licenses": [{"expression": terms}]} if terms else {})


def _wanted(package: dict[str, Any], where: str) -> dict[str, Any]:
    """A package that only some environments get says which."""
    if not where:
        return package
    return package | {"scope": "optional", "properties": [{"name": "python:marker", "value": where}]}


def main(folder: Path) -> None:
    """Writes it beside the list that it is read from."""
    made = bill((folder / "requirements.txt").read_text("utf-8"))
    subject = made["metadata"]["component"]
    path = folder / f"{subject['name']}-{subject['version']}.cdx.json"
    path.write_text(json.dumps(made, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
