"""Random histories: whatever was written, the service tells of it what a plain model does (contract 5)."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
import reference_model
from examples import share
from hypothesis import HealthCheck, given, settings
from reference_model import Model, histories
from secrets_client import Vault
from service import Client

pytestmark = pytest.mark.both_engines

_numbers = itertools.count()


def fresh(admin: Client) -> Vault:
    """An environment of its own."""
    slug = f"e{next(_numbers)}"
    admin.post("/projects/shop/environments", {"slug": slug, "name": slug}, 201)
    return Vault(admin, f"/projects/shop/environments/{slug}")


def perform(vault: Vault, model: Model, verb: str, asked: Any) -> None:
    """One write of both; the service refuses or leaves alone what changes nothing in the model."""
    before = vault.rev
    if verb == "batch":
        changed = reference_model.batch(model, asked)
        vault.batch(**asked)
    elif verb == "import":
        changed = reference_model.load(model, asked)
        content = json.dumps(asked["set"])
        vault.load(content, format="json", mode=asked["mode"], reason=asked["reason"])
    elif verb == "rename":
        changed = reference_model.rename(model, *asked)
        vault.post("rename", dict(zip(("from", "to"), asked, strict=True)), 200 if changed else "4*")
    else:
        changed = reference_model.rollback(model, *asked)
        vault.post("rollback", dict(zip(("key", "to_version"), asked, strict=True)), 200 if changed else "4*")
    assert vault.rev == before + changed


def compare(vault: Vault, model: Model) -> None:
    """Every state, every revision, every version and what is deleted."""
    assert vault.rev == model.rev
    for rev in range(model.rev + 1):
        items = vault.get(f"secrets?rev={rev}").json["items"]
        assert {one["key"]: (one["version"], one["description"]) for one in items} == model.listed(rev)
        assert vault.get(f"secrets:export?rev={rev}").json["secrets"] == model.exported(rev)
    assert vault.values() == model.exported(model.rev)
    made = [(one["action"], one["reason"], one["changes"]) for one in vault.get("revisions").json["items"]]
    assert made == [tuple(one) for one in reversed(model.revisions)]
    deleted = vault.get("secrets:deleted").json["items"]
    assert {one["key"]: one["version"] for one in deleted} == model.deleted()
    for key, values in model.values.items():
        for version, value in enumerate(values, 1):
            answer = vault.get(f"secrets/{key}?version={version}", 404 if value is None else 200)
            assert value is None or answer.json["value"] == value


@pytest.mark.slow
@settings(
    max_examples=share(15),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(history=histories)
def test_a_history_is_told_as_the_model_tells_it(admin, history):
    vault, model = fresh(admin), Model()
    for verb, asked in history:
        perform(vault, model, verb, asked)
    compare(vault, model)


@pytest.mark.parametrize("key", ["A", "B"])
def test_a_long_history_of_one_key_is_told_as_the_model_tells_it(admin, key):
    vault, model = fresh(admin), Model()
    for number in range(6):
        body = {
            "mode": "merge",
            "set": {key: f"v{number}"},
            "descriptions": {key: f"d{number}"},
            "delete": [],
        }
        perform(vault, model, "batch", body | {"reason": None})
        perform(
            vault, model, "batch", body | {"set": {}, "descriptions": {}, "delete": [key], "reason": "gone"}
        )
        if number % 2:
            perform(vault, model, "rollback", (key, 1))
    compare(vault, model)
