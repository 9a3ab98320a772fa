"""The world of the access matrix: two projects, every caller with its grants, and the way back to it."""

from __future__ import annotations

from collections import defaultdict
from typing import Any, NamedTuple
from uuid import UUID

from access_expectations import CALLERS, Caller, Route, Verdict, fill
from service import ADMIN, Client, Service, arrange
from sqlalchemy import delete, insert, select
from webtest import TestResponse

from secretsvc.audit.models import audit_record
from secretsvc.db.engine import write_transaction
from secretsvc.kernel.ids import new_id
from secretsvc.secrets.models import revision, secret, secret_version
from secretsvc.tables.grants import grant, group, group_member
from secretsvc.tables.identities import identity
from secretsvc.tables.projects import environment, project

TABLES = (project, environment, secret, secret_version, revision, group, group_member, grant)
#: The condition of an identity that was announced and did not come.
UNSEEN = identity.c.last_seen_at.is_(None)
LISTED = ("listed@example.com", "disabled-though-listed@example.com")


class Asked(NamedTuple):
    """An answer, and the id that its request bore."""

    answer: TestResponse
    request_id: UUID


class World:
    """Arranged once; `restore` undoes what a request did to anything but the log and who was seen."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self._asked: dict[str, Asked] = {}
        self._recorded: dict[str, list[Any]] = defaultdict(list)
        self._unread: list[UUID] = []
        self._arrange_things()
        self.clients = {name: self._arrange(name, caller) for name, caller in CALLERS.items()}
        for client in self.clients.values():
            client.request("GET", "/whoami")
        while service.app.registry.audit_sealer.step():
            pass
        with service.engine.connect() as connection:
            self._rows = [[dict(row) for row in connection.execute(select(t)).mappings()] for t in TABLES]
            unseen = select(identity).where(UNSEEN)
            self._unseen = [dict(row) for row in connection.execute(unseen).mappings()]

    def _arrange_things(self) -> None:
        service = self.service
        root = arrange(service, "shop", "prod", "dev")
        arrange(service, "depot", "prod")
        for value in ("one", "two"):
            path = "/projects/shop/environments/prod/secrets:batch"
            root.post(path, {"mode": "merge", "set": {"KEY": value}})
        root.post(path.replace("prod", "dev"), {"mode": "merge", "set": {"KEY": "other"}})
        root.post(path, {"mode": "merge", "set": {"GONE": "x"}})
        root.post(path, {"mode": "merge", "delete": ["GONE"]})
        crew = service.group("crew", "member@example.com")
        subject = "subject@example.com"
        announced = root.post("/identities", {"kind": "service", "subject": "announced"}, 201).json["id"]
        self.names = {
            "announced": announced,
            "project": "shop",
            "env": "prod",
            "dev": "dev",
            "identity": str(service.identity_id(subject)),
            "member": str(service.identity_id("member@example.com")),
            "group": str(crew),
            "global_grant": str(service.grant(subject, "reader")),
            "shop_grant": str(service.grant(subject, "writer", "shop")),
            "prod_grant": str(service.grant(subject, "admin", "shop/prod")),
            "group_shop_grant": str(service.grant(crew, "writer", "shop", group=True)),
            "group_prod_grant": str(service.grant(crew, "writer", "shop/prod", group=True)),
        }
        self.absent = {name: str(new_id()) for name in self.names}
        self.absent |= dict.fromkeys(("project", "env", "dev"), "absent")
        self.columns = {
            path: {column: service.scope(path)[column] for column in ("project_id", "environment_id")}
            for path in ("global", "shop", "shop/prod", "shop/dev")
        }

    def _arrange(self, name: str, caller: Caller) -> Client:
        service = self.service
        if not caller.token:
            return service.nobody()
        subject = "".join(char if char.isalnum() else "-" for char in name)
        if not caller.robot:
            subject += "@example.com"
        holder = service.identity_id(subject, "service" if caller.robot else "user")
        if caller.through_group:
            holder = service.group(subject.partition("@")[0], subject)
        # The listed get their grant from the service itself.
        for role, _, scope in (held.partition(" at ") for held in caller.grants if not caller.listed):
            expires_at = 1 if caller.expired else None
            service.grant(holder, role, scope, expires_at=expires_at, group=caller.through_group)
        if caller.disabled:
            service.disable(subject)
        return service.robot(subject) if caller.robot else service.user(subject)

    def ask(self, name: str, route: Route, path: str, names: dict[str, str]) -> Asked:
        """A caller's request, sent once."""
        method, path, body = route.method, fill(path, names), fill(route.body, names)
        key = f"{name} {method} {path} {body}"
        if key not in self._asked:
            marker = new_id()
            self._unread.append(marker)
            answer = self.clients[name].request(method, path, body, headers={"X-Request-Id": str(marker)})
            if method != "GET" and answer.status_int < 300:
                self.restore()
            self._asked[key] = Asked(answer, marker)
        return self._asked[key]

    def rows(self, asked: Asked) -> list[Any]:
        """The audit rows that a request left; those of all since the last look are read at once."""
        if self._unread:
            sent = {str(marker) for marker in self._unread}
            for row in self.service.rows(audit_record, audit_record.c.id > self._unread[0]):
                assert row["request_id"] in sent
                self._recorded[row["request_id"]].append(row)
            self._unread.clear()
        return self._recorded[str(asked.request_id)]

    def denial(self, verdict: Verdict) -> list[tuple[Any, ...]]:
        """The denial of a verdict as its row's columns; an environment's names no project (spec)."""
        if verdict.denial is None:
            return []
        action, scope = verdict.denial
        columns = self.columns[scope]
        project_id = None if columns["environment_id"] else columns["project_id"]
        return [(action, "denied", project_id, columns["environment_id"])]

    def restore(self) -> None:
        """Everything as it was, ids included."""
        with write_transaction(self.service.engine) as connection:
            for table in reversed(TABLES):
                connection.execute(delete(table))
            connection.execute(delete(identity).where(UNSEEN))
            connection.execute(insert(identity), self._unseen)
            for table, rows in zip(TABLES, self._rows, strict=True):
                connection.execute(insert(table), rows)


def make_world(url: str, issuer: Any) -> World:
    return World(Service(url, issuer, BOOTSTRAP_ADMINS=",".join([ADMIN, *LISTED]), DENIAL_LIMIT=""))
