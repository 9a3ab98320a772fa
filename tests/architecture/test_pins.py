"""The pins serve every supported version of Python, not only the one that they were made with."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

CONSTRAINTS = Path(__file__).parents[2] / "constraints"
LATER = re.findall(r"^([a-z][\w-]*)", (CONSTRAINTS / "later.in").read_text(encoding="utf-8"), re.MULTILINE)


@pytest.mark.parametrize("pins", ["run.txt", "dev.txt"])
def test_what_only_later_versions_need_is_pinned_for_them_alone(pins):
    text = (CONSTRAINTS / pins).read_text(encoding="utf-8")
    assert LATER
    for name in LATER:
        (line,) = re.findall(rf"^{name}==.*$", text, re.MULTILINE)
        assert re.fullmatch(r'[\w-]+==[\w.]+ ; python_version >= "3\.\d+" \\', line)


def test_what_redis_needs_is_pinned_the_same_for_tests_and_deployments():
    texts = [(CONSTRAINTS / name).read_text(encoding="utf-8") for name in ("redis.txt", "dev.txt")]
    for pattern in (r"redis==\S+", r'async-timeout==\S+ ; python_full_version < "3\.11\.3"'):
        (deployed,), tested = (re.findall(rf"(?m)^{pattern} \\\n(?:    .*\n)+", text) for text in texts)
        assert [deployed] == tested


@pytest.mark.parametrize(("pins", "least"), [("run.txt", 30), ("dev.txt", 30), ("redis.txt", 2)])
def test_every_pin_is_exact_and_has_a_hash(pins, least):
    text = (CONSTRAINTS / pins).read_text(encoding="utf-8").replace("\\\n", "")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    assert len(lines) >= least
    assert [line for line in lines if not re.match(r"[\w-]+==\S+ .*--hash=sha256:[0-9a-f]{64}", line)] == []
