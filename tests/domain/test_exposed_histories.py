"""Random histories of ten identities and three environments: exposure is what a plain model remembers."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from examples import share
from exposure_reference import ENVIRONMENTS, FIRST_ROLES, PEOPLE, READER, ROBOT, ROOT, WRITER, Model, stories
from hypothesis import HealthCheck, given, settings
from secrets_client import Vault
from service import Client, Service
from stopped_clock import StoppedClock

from secretsvc.exposure import domain

_numbers = itertools.count()
ROLES = {READER: "reader", WRITER: "writer"}


class Theatre:
    """A project of its own, in which the model's requests are made."""

    def __init__(self, service: Service, clock: StoppedClock) -> None:
        self.service, self.clock, self.slug = service, clock, f"p{next(_numbers)}"
        self.root = service.user()
        self.root.post("/projects", {"slug": self.slug, "name": "P"}, 201)
        for at in ENVIRONMENTS:
            path = f"/projects/{self.slug}/environments"
            self.root.post(path, {"slug": f"e{at}", "name": "E"}, 201)
        self.people = [self._person(who) for who in PEOPLE]
        self.ids = [client.get("/whoami").json["identity"]["id"] for client in self.people]
        self.grants: dict[tuple[int, int], str] = {}

    def _person(self, who: int) -> Client:
        if who == ROOT:
            return self.root
        return self.service.robot() if who == ROBOT else self.service.user(f"u{who}@example.com")

    def perform(self, who: int, at: int, verb: str, asked: Any) -> bool:
        """Whether the service let it pass."""
        self.clock.now += 1
        if verb == "grant":
            return self._grant(who, at, *asked)
        if verb == "replace":
            return self._replace(at)
        vault = Vault(self.people[who], f"/projects/{self.slug}/environments/e{at}")
        return getattr(self, f"_{verb}")(vault, *asked).status_int < 400

    def _grant(self, who: int, at: int, role: int) -> bool:
        old = self.grants.pop((who, at), None)
        if old is not None:
            self.root.delete(f"/grants/{old}")
        if role:
            scope = {"scope_type": "environment", "project": self.slug, "environment": f"e{at}"}
            body = {**scope, "role": ROLES[role], "identity_id": self.ids[who]}
            self.grants[who, at] = self.root.post("/grants", body, 201).json["id"]
        return True

    def _replace(self, at: int) -> bool:
        path = f"/projects/{self.slug}/environments"
        self.root.delete(f"{path}/e{at}")
        self.root.post(path, {"slug": f"e{at}", "name": "E"}, 201)
        for who, role in FIRST_ROLES.items():
            self.grants.pop((who, at), None)
            self._grant(who, at, role)
        return True

    def _reveal(self, vault: Vault, key: str, version: int | None) -> Any:
        return vault.get(f"secrets/{key}{'' if version is None else f'?version={version}'}", "*")

    def _export(self, vault: Vault, rev: int | None) -> Any:
        return vault.get(f"secrets:export{'' if rev is None else f'?rev={rev}'}", "*")

    def _batch(self, vault: Vault, values: dict[str, str], delete: list[str]) -> Any:
        return vault.batch("*", set=values, delete=[key for key in delete if key not in values])

    def _rename(self, vault: Vault, source: str, target: str) -> Any:
        return vault.rename(source, target, "*")

    def _rollback(self, vault: Vault, key: str, version: int) -> Any:
        return vault.rollback(key, version, "*")

    def _restore(self, vault: Vault, rev: int) -> Any:
        return vault.post("restore", {"to_rev": rev}, "*")

    def _copy(self, vault: Vault, source: int, named: list[str] | None, rev: int | None, mode: str) -> Any:
        scope = {"project": self.slug, "environment": f"e{source}"}
        asked = {"from": scope, "keys": named, "from_rev": rev, "mode": mode}
        return vault.post("copy", {name: one for name, one in asked.items() if one is not None}, "*")

    def exposure(self, who: int, limit: int) -> list[tuple[Any, ...]]:
        """As the model has it, from pages, all of which are full but the last."""
        found: list[Any] = []
        cursor = ""
        while cursor is not None:
            path = f"/identities/{self.ids[who]}/exposure?limit={limit}"
            answer = self.root.get(f"{path}{cursor and f'&cursor={cursor}'}").json
            found += answer["items"]
            cursor = answer["next_cursor"]
            assert len(answer["items"]) == limit or cursor is None
            assert answer["items"] or not found
        names = ("key", "version", "seen_at", "current")
        return [
            (int(one["environment"][1:]), *(one[name] for name in names))
            for one in found
            if one["project"] == self.slug
        ]


@pytest.mark.slow
@settings(
    max_examples=share(15),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(story=stories)
def test_exposure_is_what_the_model_remembers(service, story):
    filled, steps = story
    with pytest.MonkeyPatch.context() as patch:
        theatre, model = Theatre(service, StoppedClock(patch)), Model()
        opening = [(who, at, ("grant", (role,))) for who, role in FIRST_ROLES.items() for at in ENVIRONMENTS]
        opening += [(ROOT, at, ("batch", (values, []))) for at, values in enumerate(filled)]
        for who, at, (verb, asked) in [*opening, *steps]:
            if verb == "grant" and who == ROOT:
                continue
            model.now = theatre.clock.now + 1
            passes = getattr(model, verb)(who, at, *asked)
            assert theatre.perform(who, at, verb, asked) is (passes is not False), (who, at, verb, asked)
        for who in PEOPLE:
            assert theatre.exposure(who, 1 + who * 5) == model.exposure(who), who
        who = len(steps) % len(PEOPLE)
        # Of small passes each page takes several.
        for name, bound in (("ENVIRONMENTS", 1), ("KEYS", 2), ("VERSIONS", 2)):
            patch.setattr(domain, name, bound)
        whole = model.exposure(who)
        for limit in range(1, len(whole) + 2):
            assert theatre.exposure(who, limit) == whole, (who, limit)
        theatre.root.delete(f"/projects/{theatre.slug}")
        assert theatre.exposure(1, 100) == []
