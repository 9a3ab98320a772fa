"""Fills an application: people first, then what they do over some weeks, each in their own name."""

from __future__ import annotations

import os
from collections.abc import Callable
from random import Random
from typing import Any

from demo.caller import Caller, load
from demo.catalogue import (
    COMING,
    ENVIRONMENTS,
    PROJECTS,
    PROTECTED,
    UNREADABLE,
    Project,
    common,
    keys_of,
    present_in,
    value_of,
)
from demo.clock import DAY, HOUR, Clock
from demo.people import (
    ADMIN,
    BUILDER,
    DEPARTED,
    DEPLOYER,
    GRANTS,
    GROUP_GRANTS,
    GROUPS,
    NAMES,
    NEWCOMER,
    PEOPLE,
    STRANGER,
    SUPPORT,
    WRITERS,
    Grant,
    may_write,
)
from secretsvc.kernel.crypto import generate_master_key

SEED = 20_260_301
#: How long ago it began, in days.
DAYS = 40
REASONS = (
    "Rotated on schedule",
    "Vendor moved to a new endpoint",
    "OPS-412",
    "After the incident of Tuesday",
    "Larger pool for the sale",
)
#: What happens at a time.
Event = tuple[int, Callable[[], object]]


class Organisation:
    """The demo, in the hands of its administrator; `ini` is the application's file."""

    def __init__(self, ini: str) -> None:
        self.ini, self.app, self.random = ini, load(ini), Random(SEED)
        self.admin = Caller(self.app, ADMIN)
        self.clock = Clock(DAYS)

    def is_there(self) -> bool:
        """Whether the demo was made before, be it in part."""
        return self.admin.exists(f"/projects/{PROJECTS[0].slug}")

    def fill(self) -> None:
        """Makes everything, in the order of time."""
        with self.clock:
            for project in PROJECTS:
                self._project(project)
                self.clock.to(self.clock.now + 3 * HOUR)
            self._grants()
            self._protect()
            events = [event for project in PROJECTS for event in self._history(project)]
            for at, event in sorted([*events, *self._reads(), *self._loose_ends()], key=lambda one: one[0]):
                self.clock.to(at)
                event()

    def _ago(self, days: float) -> int:
        return self.clock.present - int(days * DAY)

    def _project(self, project: Project) -> None:
        base = f"/projects/{project.slug}"
        names = {"slug": project.slug, "name": project.name, "description": project.description}
        self.admin.post("/projects", names)
        keys = keys_of(project, self.random)
        for slug in project.environments:
            name, description = ENVIRONMENTS[slug]
            self.admin.post(f"{base}/environments", {"slug": slug, "name": name, "description": description})
            known = keys | COMING if (project.slug, slug) == ("payments", "staging") else keys
            present = [*present_in(slug, list(keys), self.random), *(known.keys() - keys.keys())]
            values = {key: value_of(key, f"{project.slug}-{slug}", self.random) for key in present}
            values |= common(present)
            described = {key: known[key] for key in present if known[key]}
            self._write(
                self.admin, f"{base}/environments/{slug}", "Moved from .env files", set=values,
                descriptions=described,
            )  # fmt: skip

    @staticmethod
    def _write(writer: Caller, base: str, reason: str, **changes: object) -> None:
        writer.post(f"{base}/secrets:batch", {"mode": "merge", "reason": reason, **changes})

    def _grants(self) -> None:
        identities = {who: Caller(self.app, who).get("/whoami")["identity"]["id"] for who in (ADMIN, *PEOPLE)}
        for who, name in NAMES.items():
            self.admin.ask("PATCH", f"/identities/{identities[who]}", {"display_name": name})
        groups = {}
        for group in GROUPS:
            body = {"slug": group.slug, "name": group.name, "description": group.description}
            groups[group.slug] = self.admin.post("/groups", body)["id"]
            for member in group.members:
                self.admin.post(f"/groups/{groups[group.slug]}/members", {"identity_id": identities[member]})
        for grant in GRANTS:
            body = self._terms(grant) | {"identity_id": identities[grant.holder]}
            self.admin.post("/grants", body)
        for grant in GROUP_GRANTS:
            self.admin.post(f"/groups/{groups[grant.holder]}/grants", self._terms(grant))
        self.admin.ask("PATCH", f"/identities/{identities[DEPARTED]}", {"disabled": True})

    def _protect(self) -> None:
        for project in PROJECTS:
            path = f"/projects/{project.slug}/environments/{PROTECTED}"
            self.admin.ask("PATCH", path, {"protected": True})

    def _history(self, project: Project) -> list[Event]:
        """Later versions by those who may write there, a read or two, something undone, something removed."""
        found: list[Event] = []
        for slug in project.environments:
            base, host = f"/projects/{project.slug}/environments/{slug}", f"{project.slug}-{slug}"
            keys = [one["key"] for one in self.admin.get(f"{base}/secrets")["items"]]
            keys = [key for key in keys if key not in (UNREADABLE, *COMING)]
            may = [Caller(self.app, who) for who in WRITERS if may_write(who, f"{project.slug}/{slug}")]
            removed, back, *_ = self.random.sample(keys, 4)
            for _ in range(self.random.randint(3, 6)):
                changed = self.random.sample(
                    [key for key in keys if key != removed], self.random.randint(1, 4)
                )
                found.append(
                    (self._working_time(), self._change(base, host, self.random.choice(may), changed))
                )
            latest = self._ago(self.random.uniform(0.1, 1.5))
            again = {"key": back, "to_version": 1, "reason": "The vendor refused the new one"}
            writer = self.random.choice(may)
            found.append((latest - 5 * HOUR, self._change(base, host, writer, [back])))
            found.append((latest, _later(writer.post, f"{base}/secrets:rollback", again)))
            if slug != PROTECTED:
                gone = _later(self._write, may[-1], base, "No longer used", delete=[removed])
                found.append((self._working_time(), gone))
        return found

    def _change(self, base: str, host: str, writer: Caller, keys: list[str]) -> Callable[[], object]:
        reason = self.random.choice(REASONS)
        values = {key: value_of(key, host, self.random) for key in keys}

        def change() -> None:
            self._write(writer, base, reason, set=values)
            self.clock.to(self.clock.now + HOUR // 10)
            writer.get(f"{base}/secrets/{keys[0]}?reason=reveal")

        return change

    def _working_time(self) -> int:
        """A time of one of the last weeks, when people are at work."""
        midnight = self.clock.present // DAY * DAY - self.random.randint(1, DAYS - 5) * DAY
        return midnight + int(self.random.triangular(7, 18, 10) * HOUR)

    def _reads(self) -> list[Event]:
        """Deployments and builds that read, day by day."""
        found: list[Event] = []
        visits = (
            (DEPLOYER, "webshop/environments/production"), (DEPLOYER, "payments/environments/production"),
            (BUILDER, "mobile-api/environments/preview"), (BUILDER, "webshop/environments/preview"),
        )  # fmt: skip
        for _ in range(70):
            who, path = self.random.choice(visits)
            at = self._ago(self.random.uniform(0.06, 7))
            get = _later(Caller(self.app, who).get, f"/projects/{path}/secrets:export?reason=run")
            found.append((at, get))
        return found

    def _loose_ends(self) -> list[Event]:
        """Somebody unknown who tries to read, a refusal, a value that nobody can open, tokens that end."""
        stranger, newcomer = Caller(self.app, STRANGER), Caller(self.app, NEWCOMER)
        path = "/projects/webshop/environments/production"
        ask = {"method": "GET", "path": f"{path}/secrets", "expected": 404}
        other = {"method": "GET", "path": "/projects/webshop/environments/staging/secrets", "expected": 404}
        body = {"mode": "merge", "set": {"SMTP_HOST": "fake"}, "reason": "A customer asked"}
        sam = {"method": "POST", "path": f"{path}/secrets:batch", "body": body, "expected": 403}
        return [
            *((self._ago(days), _later(stranger.ask, **ask)) for days in (4.2, 4.19, 1.1)),
            *((self._ago(0.03 + days / 100), _later(newcomer.ask, **other)) for days in range(6)),
            (self._ago(0.3), _later(Caller(self.app, SUPPORT).ask, **sam)),
            (self._ago(0.05), self._lose),
            (self._ago(6.5), self._tokens),
            *((self._ago(days), _later(self.admin.get, used)) for days, used in self._used()),
        ]

    @staticmethod
    def _used() -> list[tuple[float, str]]:
        """What the administrator looked at, and how many days ago: the first page leads back to it."""
        keys = "/projects/webshop/environments/production/secrets"
        return [
            (0.7, f"{keys}/SMTP_PASSWORD?reason=reveal"),
            (1.6, f"{keys}/DATABASE_URL?reason=reveal"),
            (2.4, "/projects/payments/environments/staging/secrets:export"),
        ]

    def _lose(self) -> None:
        """Writes a key with a master key of which later nobody knows."""
        kept = {name: os.environ.get(name) for name in ("MASTER_KEY", "MASTER_KEY_OLD")}
        os.environ |= {"MASTER_KEY": generate_master_key(), "MASTER_KEY_OLD": kept["MASTER_KEY"] or ""}
        try:
            values = {UNREADABLE: value_of(UNREADABLE, "webshop-production", self.random)}
            base = "/projects/webshop/environments/production"
            self._write(Caller(load(self.ini), WRITERS[1]), base, "New certificate", set=values)
        finally:
            for name, value in kept.items():
                os.environ.pop(name)
                os.environ |= {name: value} if value is not None else {}

    def _tokens(self) -> None:
        """Service tokens of the robots, where there are any."""
        services = self.admin.get("/identities?limit=100")["items"]
        ids = {one["subject"]: one["id"] for one in services if one["kind"] == "service"}
        for subject, name, days in (("deploy-bot", "Deployments", 200), ("ci-runner", "Builds", 12)):
            path = f"/identities/{ids[subject]}/tokens"
            if self.admin.exists(path):
                self.admin.post(path, {"name": name, "expires_at": self.clock.present + days * DAY})

    def _terms(self, grant: Grant) -> dict[str, Any]:
        """A grant's terms as the API takes them."""
        project, _, environment = grant.scope.partition("/")
        found: dict[str, Any] = {"role": grant.role, "scope_type": "global"}
        if project:
            found |= {"scope_type": "project", "project": project}
        if environment:
            found |= {"scope_type": "environment", "environment": environment}
        if grant.days is not None:
            found["expires_at"] = self.clock.present + grant.days * DAY
        return found


def _later(act: Callable[..., object], *arguments: Any, **named: Any) -> Callable[[], object]:
    return lambda: act(*arguments, **named)
