"""Fills an application: people first, then what they do, each in their own name."""

from __future__ import annotations

import time
from random import Random
from typing import Any

from demo.caller import Caller
from demo.catalogue import ENVIRONMENTS, PROJECTS, Project, keys_of, present_in, value_of
from demo.people import (
    ADMIN,
    DEPARTED,
    DEPLOYER,
    GRANTS,
    GROUP_GRANTS,
    GROUPS,
    PEOPLE,
    STRANGER,
    SUPPORT,
    WRITERS,
    Grant,
    may_write,
)

DAY_MS = 86_400_000
SEED = 20_260_301
REASONS = (
    "Rotated on schedule",
    "Vendor moved to a new endpoint",
    "OPS-412",
    "After the incident of Tuesday",
    "Larger pool for the sale",
)


class Organisation:
    """The demo, in the hands of its administrator."""

    def __init__(self, app: Any) -> None:
        self.app, self.random = app, Random(SEED)
        self.admin = Caller(app, ADMIN)

    def is_there(self) -> bool:
        """Whether the demo was made before, be it in part."""
        return self.admin.exists(f"/projects/{PROJECTS[0].slug}")

    def fill(self) -> None:
        """Makes everything."""
        for project in PROJECTS:
            self._project(project)
        self._grants()
        for project in PROJECTS:
            for environment in project.environments:
                self._history(project.slug, environment)
        self._loose_ends()

    def _project(self, project: Project) -> None:
        base = f"/projects/{project.slug}"
        names = {"slug": project.slug, "name": project.name, "description": project.description}
        self.admin.post("/projects", names)
        keys = keys_of(project, self.random)
        for slug in project.environments:
            name, description = ENVIRONMENTS[slug]
            self.admin.post(f"{base}/environments", {"slug": slug, "name": name, "description": description})
            present = present_in(slug, list(keys), self.random)
            values = {key: value_of(key, f"{project.slug}-{slug}", self.random) for key in present}
            described = {key: keys[key] for key in present if keys[key]}
            body = {
                "mode": "merge",
                "set": values,
                "descriptions": described,
                "reason": "Moved from .env files",
            }
            self.admin.post(f"{base}/environments/{slug}/secrets:batch", body)

    def _grants(self) -> None:
        identities = {who: Caller(self.app, who).get("/whoami")["identity"]["id"] for who in PEOPLE}
        groups = {}
        for group in GROUPS:
            body = {"slug": group.slug, "name": group.name, "description": group.description}
            groups[group.slug] = self.admin.post("/groups", body)["id"]
            for member in group.members:
                self.admin.post(f"/groups/{groups[group.slug]}/members", {"identity_id": identities[member]})
        for grant in GRANTS:
            self.admin.post("/grants", terms(grant) | {"identity_id": identities[grant.holder]})
        for grant in GROUP_GRANTS:
            self.admin.post(f"/groups/{groups[grant.holder]}/grants", terms(grant))
        self.admin.ask("PATCH", f"/identities/{identities[DEPARTED]}", {"disabled": True})

    def _history(self, project: str, environment: str) -> None:
        """Later versions by those who may write there, and a read or two."""
        base, host = f"/projects/{project}/environments/{environment}", f"{project}-{environment}"
        keys = [item["key"] for item in self.admin.get(f"{base}/secrets")["items"]]
        may = [Caller(self.app, who) for who in WRITERS if may_write(who, f"{project}/{environment}")]
        changed: list[str] = []
        for _ in range(self.random.randint(2, 5)):
            writer, reason = self.random.choice(may), self.random.choice(REASONS)
            changed = self.random.sample(keys, self.random.randint(1, 4))
            values = {key: value_of(key, host, self.random) for key in changed}
            writer.post(f"{base}/secrets:batch", {"mode": "merge", "set": values, "reason": reason})
            writer.get(f"{base}/secrets/{changed[0]}?reason=reveal")
        back = {"key": changed[0], "to_version": 1, "reason": "The vendor refused the new one"}
        may[0].post(f"{base}/secrets:rollback", back)
        removed = self.random.choice([key for key in keys if key not in changed])
        body = {"mode": "merge", "delete": [removed], "reason": "No longer used"}
        may[-1].post(f"{base}/secrets:batch", body)

    def _loose_ends(self) -> None:
        """Deployments that read, and somebody unknown who tries to."""
        deployer = Caller(self.app, DEPLOYER)
        for base in ("webshop/environments/production", "payments/environments/production"):
            deployer.get(f"/projects/{base}/secrets:export?reason=run")
        stranger = Caller(self.app, STRANGER)
        for _ in range(3):
            stranger.get("/projects/webshop/environments/production/secrets", expected=404)
        sam = Caller(self.app, SUPPORT)
        body = {"mode": "merge", "set": {"SMTP_HOST": "fake"}}
        sam.ask("POST", "/projects/webshop/environments/production/secrets:batch", body, expected=403)


def terms(grant: Grant) -> dict[str, Any]:
    """A grant's terms as the API takes them."""
    project, _, environment = grant.scope.partition("/")
    found: dict[str, Any] = {"role": grant.role, "scope_type": "global"}
    if project:
        found |= {"scope_type": "project", "project": project}
    if environment:
        found |= {"scope_type": "environment", "environment": environment}
    if grant.days is not None:
        found["expires_at"] = int(time.time() * 1000) + grant.days * DAY_MS
    return found
