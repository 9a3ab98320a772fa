"""Every use case that takes a slug, through a slug that changes hands between the snapshot and the load.

The caller has grants on the old owner of the slug. Nothing of the new owner comes out, nothing is written.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from typing import Any
from uuid import UUID

import pytest
from calls import call_of
from secrets_client import Vault
from service import ADMIN, Service, arrange
from slugged import USES, Scene, Use, use_cases_by_slug
from sqlalchemy import Connection, select, update

from secretsvc.access.rules.holders import FoundHolder
from secretsvc.db.base import Base
from secretsvc.db.engine import set_mode
from secretsvc.kernel.authorization import ScopePath
from secretsvc.kernel.errors import SecretsvcError
from secretsvc.kernel.transaction_mode import Mode
from secretsvc.tables.projects import environment, project

pytestmark = pytest.mark.both_engines

ADA = "ada@example.com"
#: Marks of the new owner: `heir` is in everything that its readers see, `ward` in what only its admins see.
HEIR, WARD = "heir", "ward"
#: Use cases whose answer names nothing of the environment, and one of a log of which nothing is sealed.
NAMELESS = {"missing_reason", "revision_if_known", "secret_versions", "read_sealed"}
#: Use cases that say nothing of the environment itself.
AROUND = {"get_project", "missing_in", "same_key_elsewhere"}


def furnish(service: Service, project_slug: str, environment_slug: str, mark: str, ward: str) -> None:
    """Values, a history, a deleted key, grants, reads and denials, which all bear one of two marks."""
    at = f"{project_slug}/{environment_slug}"
    base = f"/projects/{project_slug}/environments/{environment_slug}"
    for subject, role in ((f"{mark}-admin@example.com", "admin"), (f"{ward}-reader@example.com", "reader")):
        service.grant(subject, role, at)
    vault = Vault(service.user(f"{mark}-admin@example.com"), base)
    gone, kept = f"{mark}_GONE".upper(), f"{mark}_KEY".upper()
    vault.batch(set={"KEY": f"{mark} first", gone: "x", kept: "x"}, descriptions={"KEY": mark})
    vault.batch(set={"KEY": f"{mark} second"}, delete=[gone])
    vault.batch(set={kept: mark})
    Vault(service.user(f"{ward}-reader@example.com"), base).get("secrets/KEY?reason=run")
    service.user(f"{ward}-denied@example.com").get(base, 404)


class World:
    """`shop/prod`, and a project `heir` or an environment `shop/heir` that is to have its slug."""

    def __init__(self, service: Service, *, whole: bool) -> None:
        self.service = service
        self.at = ScopePath("heir", "prod") if whole else ScopePath("shop", "heir")
        self.table, self.slug = (project, "shop") if whole else (environment, "prod")
        admin = arrange(service, "shop", "dev", "prod", *(() if whole else ("heir",)))
        furnish(service, "shop", "prod", "old", "past")
        service.grant("old-admin@example.com", "admin", "shop")
        arrange(service, "depot", "prod")
        Vault(admin, "/projects/depot/environments/prod").set(KEY="x")
        if whole:
            arrange(service, "heir", "dev", "prod")
            service.grant("ward-reader@example.com", "reader", "heir")
            service.grant("heir-admin@example.com", "admin", "heir")
            service.user("ward-denied@example.com").patch("/projects/heir", {"name": "x"}, 404)
        furnish(service, str(self.at.project), str(self.at.environment), HEIR, WARD)
        of_heir = (
            environment.c.slug == "heir" if not whole else environment.c.project_id == self._project("heir")
        )
        service.execute(update(environment).where(of_heir).values(name=HEIR))
        self.group = service.group("team")
        self.holder = service.identity_id("ward-reader@example.com")

    def change_hands(self) -> None:
        slug = self.table.c.slug
        inside = True if self.table is project else environment.c.project_id == self._project("shop")
        for before, after in ((self.slug, "former"), ("heir", self.slug)):
            self.service.execute(update(self.table).where(slug == before, inside).values(slug=after))

    @staticmethod
    def _project(slug: str) -> Any:
        return select(project.c.id).where(project.c.slug == slug).scalar_subquery()


@contextmanager
def scene_of(world: World, subject: str, at: ScopePath, *, changes: bool) -> Iterator[Any]:
    """Makes scenes of one snapshot, each with a transaction that is undone."""
    with call_of(world.service, subject) as call:
        call.connection.rollback()
        call.__dict__.pop("connection")
        if changes:
            world.change_hands()

        @contextmanager
        def scene() -> Iterator[tuple[Scene, Connection]]:
            with world.service.engine.connect() as connection:
                own = call.__class__(
                    call.actor,
                    call.snapshot,
                    call.now,
                    "a-test",
                    call.settings,
                    lambda _mode: set_mode(connection, Mode.WRITE),
                    connection.rollback,
                    call.load_ring,
                )
                holder = FoundHolder("user", "somebody", world.holder, "somebody")
                addresses = ScopePath(at.project), at, ScopePath("depot", "prod")
                yield Scene(own, *addresses, holder, world.group), connection
                connection.rollback()

        yield scene


def stored(connection: Connection) -> dict[str, list[str]]:
    """All rows of all tables."""
    return {
        table.name: sorted(map(repr, connection.execute(select(table)).all()))
        for table in Base.metadata.sorted_tables
    }


def everything(service: Service) -> dict[str, list[str]]:
    with service.engine.connect() as connection:
        return stored(connection)


def words_of(answer: Any) -> Iterator[str]:
    """All that an answer has in it, also what no representation shows."""
    if is_dataclass(answer) and not isinstance(answer, type):
        for one in fields(answer):
            yield from words_of(getattr(answer, one.name))
    elif isinstance(answer, dict):
        yield from words_of([*answer, *answer.values()])
    elif isinstance(answer, (list, tuple, set, frozenset)):
        for each in answer:
            yield from words_of(each)
    elif isinstance(answer, bytes):
        yield answer.decode(errors="replace").lower()
    elif not isinstance(answer, UUID):
        yield str(answer).lower()


def outcome(make_scene: Any, use: Use, before: dict[str, list[str]]) -> tuple[str, set[str]]:
    """What an answer or a refusal says, and the tables that were written to."""
    with make_scene() as (scene, connection):
        try:
            answer = use(scene)
        except SecretsvcError as refused:
            answer = [refused.message, refused.hint, refused.issues]
        after = stored(connection)
    return " ".join(words_of(answer)), {name for name in after if after[name] != before[name]}


def test_every_use_case_that_takes_a_slug_is_listed() -> None:
    assert use_cases_by_slug() == USES.keys()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("whole", "silent"), [(True, NAMELESS), (False, NAMELESS | AROUND)], ids=["project", "environment"]
)
def test_each_says_or_writes_something_where_no_slug_changes_hands(
    service: Service, whole: bool, silent: set[str]
) -> None:
    world = World(service, whole=whole)
    found = set()
    with scene_of(world, ADMIN, world.at, changes=False) as make_scene:
        before = everything(service)
        for use_case, uses in USES.items():
            outcomes = [outcome(make_scene, use, before) for use in uses]
            if not any(written or HEIR in said or WARD in said for said, written in outcomes):
                found.add(use_case.__name__)
    assert found == silent


#: The grants of the caller, and the marks that must not come out.
CALLERS = [
    pytest.param(True, ["admin shop"], (HEIR, WARD), id="admin of the project"),
    pytest.param(True, ["admin shop/prod"], (HEIR, WARD), id="admin of an environment"),
    pytest.param(True, ["admin shop", "reader heir"], (WARD,), id="admin that reads the new project"),
    pytest.param(False, ["admin shop/prod"], (HEIR, WARD), id="admin of the environment"),
    pytest.param(False, ["admin shop/prod", "reader shop"], (WARD,), id="admin that reads the new one"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("whole", "grants", "hidden"), CALLERS)
def test_nothing_of_the_new_owner_comes_out_or_is_written(
    service: Service, whole: bool, grants: list[str], hidden: tuple[str, ...]
) -> None:
    world = World(service, whole=whole)
    for one in ["admin depot", *grants]:
        role, at = one.split()
        service.grant(ADA, role, at)
    service.user(ADA).get("/whoami")
    leaked = []
    with scene_of(world, ADA, ScopePath("shop", "prod"), changes=True) as make_scene:
        before = everything(service)
        for use_case, uses in USES.items():
            for number, use in enumerate(uses):
                said, written = outcome(make_scene, use, before)
                # What the caller may read of the new one is recorded.
                if hidden == (WARD,):
                    written -= {"audit_record", "audit_unsealed"}
                if written or any(mark in said for mark in hidden):
                    leaked.append(
                        (use_case.__name__, number, written, {one for one in hidden if one in said})
                    )
    assert leaked == []
