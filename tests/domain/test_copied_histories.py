"""Random histories of two environments: comparing, copying and restoring do what a plain model does."""

from __future__ import annotations

import copy
from typing import Any

import copy_reference
import pytest
from copy_reference import both_histories
from domain.test_histories import compare, fresh, perform
from examples import share
from hypothesis import HealthCheck, given, settings
from reference_model import Model
from secrets_client import Vault

CHANGES = ("key", "kind")


def told(answer: Any) -> list[tuple[Any, ...]]:
    return [tuple(one[name] for name in CHANGES) for one in answer.json["changes"]]


def expected(model: Model) -> list[tuple[Any, ...]]:
    return [tuple(one[name] for name in CHANGES) for one in model.revisions[-1].changes]


def slugs(vault: Vault) -> dict[str, str]:
    parts = vault.base.split("/")
    return {"project": parts[2], "environment": parts[4]}


def write(
    vault: Vault, model: Model, verb: str, body: dict[str, Any], changed: bool | None, after: Model
) -> Model:
    """One copy or restore; the model as it is afterwards, which a dry run leaves as it was."""
    asked = {name: value for name, value in body.items() if value is not None}
    answer = vault.post(verb, asked, "4*" if changed is None else 200)
    if changed is not None:
        assert told(answer) == (expected(after) if changed else [])
        assert answer.json["rev"] == (model.rev if asked["dry_run"] else after.rev)
    kept = model if asked["dry_run"] or changed is None else after
    assert vault.rev == kept.rev
    return kept


def step(vaults: list[Vault], models: list[Model], side: int, verb: str, asked: Any) -> None:
    vault, model = vaults[side], models[side]
    if verb == "copy":
        body = dict(asked)
        at = side if body.pop("same") else 1 - side
        after = copy.deepcopy(model)
        changed = copy_reference.copy(after, after if at == side else models[at], body)
        models[side] = write(vault, model, verb, {"from": slugs(vaults[at]), **body}, changed, after)
    elif verb == "restore":
        after = copy.deepcopy(model)
        changed = copy_reference.restore(after, asked["to_rev"], asked["reason"])
        models[side] = write(vault, model, verb, asked, changed, after)
    elif verb == "compare":
        compare_two(vaults, models, side, *asked)
    else:
        perform(vault, model, verb, asked)


def compare_two(vaults: list[Vault], models: list[Model], side: int, rev: int, with_rev: int) -> None:
    here, there = models[side], models[1 - side]
    other = "&".join(f"{name}={slug}" for name, slug in slugs(vaults[1 - side]).items())
    late = rev > here.rev or with_rev > there.rev
    answer = vaults[side].get(f"secrets:compare?{other}&rev={rev}&with_rev={with_rev}", 404 if late else 200)
    if not late:
        due = copy_reference.compare(here.states[rev], there.states[with_rev])
        assert [tuple(item.values()) for item in answer.json["items"]] == due
    if rev <= here.rev:
        answer = vaults[side].get(f"secrets:compare?rev={rev}")
        due = copy_reference.compare(here.states[rev], here.present)
        assert [tuple(item.values()) for item in answer.json["items"]] == due


@pytest.mark.slow
@settings(
    max_examples=share(20),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(history=both_histories)
def test_a_history_of_two_environments_is_what_the_model_makes_of_it(admin, history):
    vaults, models = [fresh(admin), fresh(admin)], [Model(), Model()]
    for side, (verb, asked) in history:
        step(vaults, models, side, verb, asked)
    for vault, model in zip(vaults, models, strict=True):
        compare(vault, model)
