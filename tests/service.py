"""The service as tests meet it: the real application, a real database, real commits."""

from __future__ import annotations

import base64
import os
from collections.abc import Callable
from contextlib import suppress
from json import dumps as to_json
from typing import Any
from uuid import UUID

from application_pool import READ_LATE, applications, dispose_engine
from conformance import conformance_of
from sqlalchemy import Engine, func, select, text
from tokens import TestIssuer
from webtest import TestApp, TestResponse

import secretsvc
from secretsvc.audit.models import audit_record
from secretsvc.db.base import Base
from secretsvc.db.engine import write_transaction
from secretsvc.db.fast.prepared import Prepared
from secretsvc.kernel.clock import now_ms
from secretsvc.kernel.errors import ServerMisconfigured
from secretsvc.kernel.ids import new_id
from secretsvc.kernel.parsers import master_key
from secretsvc.kernel.settings import Setting, Settings
from secretsvc.sealedlog.models import audit_unsealed
from secretsvc.tables.grants import grant, group, group_member
from secretsvc.tables.identities import identity
from secretsvc.tables.projects import environment, project

API = "/api/v1"
HEADER = "Proxy-Access-Jwt-Assertion"
ADMIN = "root@example.com"
#: The key by which it takes a sixth of the time to sign. Tests of authentication say which they mean.
QUICK = "ec-1"
MASTER_KEY = base64.b64encode(bytes(range(32))).decode()


class Client:
    """One identity's requests to the API; `token` may also be None for none at all."""

    def __init__(self, app: Any, token: str | None, prefix: str = API) -> None:
        self.app = TestApp(app)
        self.token, self.prefix = token, prefix

    def request(
        self, method: str, path: str, json: Any = None, *, status: int | str | None = None, **options: Any
    ) -> TestResponse:
        """A request below the prefix; any status passes unless one is named."""
        headers = dict(options.pop("headers", {}))
        if self.token is not None:
            headers.setdefault(HEADER, self.token)
        arguments: dict[str, Any] = {"method": method, "headers": headers, **options}
        if json is not None:
            arguments["body"] = to_json(json).encode()
            arguments.setdefault("content_type", "application/json")
        response = self.app.request(self.prefix + path, status=status or "*", **arguments)
        if self.prefix == API:
            conformance_of(self.app.app.registry).judge(method, path, response)
        return response

    def get(self, path: str, status: int = 200, **options: Any) -> TestResponse:
        return self.request("GET", path, status=status, **options)

    def post(self, path: str, json: Any, status: int | str = 200, **options: Any) -> TestResponse:
        return self.request("POST", path, json, status=status, **options)

    def patch(self, path: str, json: Any, status: int = 200, **options: Any) -> TestResponse:
        return self.request("PATCH", path, json, status=status, **options)

    def delete(self, path: str, status: int = 204, **options: Any) -> TestResponse:
        return self.request("DELETE", path, status=status, **options)


_KEYS = {"MASTER_KEY", "MASTER_KEY_OLD"}
#: Settings with which the pool has applications; with any other a test gets an application of its own.
_POOLED = READ_LATE - _KEYS | {"SERVICE_TOKENS"}
_VARIABLES = {one.variable for one in vars(Settings).values() if isinstance(one, Setting)}


def _are_keys(values: dict[str, str | None]) -> bool:
    """Whether the master keys are what a ring takes; others are told of at the start."""
    with suppress(ValueError):
        return bool([master_key(values[name] or "") for name in sorted(_KEYS & values.keys())])
    return False


def _is_whole(name: str) -> bool:
    """Whether it is a key of the ini as it is; those of workload issuers have dots too."""
    return "." in name and not name.startswith("WORKLOAD.")


class Service:
    """An application over one database, and what tests arrange in it behind its back."""

    def __init__(self, url: str, issuer: TestIssuer, *, lent: bool = True, **settings: str | None) -> None:
        """`lent` is whether the application may have served other databases before."""
        self.url, self.issuer = url, issuer
        usual = {
            "SQLALCHEMY.URL": url,
            "MASTER_KEY": MASTER_KEY,
            "BOOTSTRAP_ADMINS": ADMIN,
            "RATE_LIMIT": "",
            **issuer.environment(),
        }
        values = usual | settings
        self.settings = {
            name.lower() if _is_whole(name) else f"secretsvc.{name.lower()}": value
            for name, value in values.items()
            if value is not None
        }
        # Other settings of a test's own may count, or fail, or name a package of its own.
        own = {name for name, value in values.items() if value != usual.get(name)}
        # As to what `arrange` leaves in the database.
        self.is_usual = own <= _POOLED - {"BOOTSTRAP_ADMINS"} and not _VARIABLES & os.environ.keys()
        pooled = _POOLED | _KEYS if _are_keys(values) else _POOLED
        self.is_lent = lent and own <= pooled and not _VARIABLES & os.environ.keys()
        self.app = (
            applications.acquire(self.settings) if self.is_lent else secretsvc.main({}, **self.settings)
        )
        self.others: list[Service] = []

    @property
    def engine(self) -> Engine:
        return self.app.registry.database.engine

    def close(self) -> None:
        if self.is_lent:
            applications.release(self.app, self.settings)
        else:
            with suppress(ServerMisconfigured):
                self.engine.dispose()
        for other in self.others:
            other.close()

    def restarted(self, **settings: str | None) -> Service:
        """Another process, so to say, over the same database; a setting that is None is left out."""
        mine = {name.removeprefix("secretsvc.").upper(): value for name, value in self.settings.items()}
        lent = bool(settings) and settings.keys() <= _POOLED | _KEYS
        self.others.append(Service(self.url, self.issuer, lent=lent, **mine | settings))
        return self.others[-1]

    def user(self, email: str = ADMIN, **claims: Any) -> Client:
        return Client(self.app, self.issuer.sign(email, **{"kid": QUICK, **claims}))

    def robot(self, name: str = "robot.access") -> Client:
        return Client(self.app, self.issuer.service(name, kid=QUICK))

    def nobody(self) -> Client:
        return Client(self.app, None)

    def rows(self, table: Any, *conditions: Any) -> list[Any]:
        """Rows in the order of the primary key: PostgreSQL moves a row that is updated."""
        statement = select(table).where(*conditions).order_by(*table.primary_key.columns)
        with self.engine.connect() as connection:
            return list(connection.execute(statement).mappings())

    def audit(self, action: str | None = None) -> list[Any]:
        """Audit rows, oldest first."""
        rows = sorted(self.rows(audit_record), key=lambda row: row["id"])
        return [row for row in rows if action is None or row["action"] == action]

    def denials(self) -> list[Any]:
        return [row for row in self.audit() if row["outcome"] == "denied"]

    def execute(self, statement: Any, *arguments: Any) -> Any:
        with write_transaction(self.engine) as connection:
            statement = text(statement) if isinstance(statement, str) else statement
            return connection.execute(statement, *arguments)

    def identity_id(self, subject: str, kind: str = "user") -> UUID:
        """The id of an identity, which is made if it is not there."""
        found = self.rows(identity, identity.c.subject == subject, identity.c.kind == kind)
        if found:
            return found[0]["id"]
        made = new_id()
        row = {
            "id": made,
            "kind": kind,
            "subject": subject,
            "disabled": False,
            "created_at": 1,
            "last_seen_at": 1,
        }
        self.execute(identity.insert(), row)
        return made

    def scope(self, path: str) -> dict[str, Any]:
        """The columns of a scope written `global`, `project` or `project/environment`."""
        if path == "global":
            return {"scope_type": "global", "project_id": None, "environment_id": None}
        project_slug, _, environment_slug = path.partition("/")
        project_id = self.rows(project, project.c.slug == project_slug)[0]["id"]
        if not environment_slug:
            return {"scope_type": "project", "project_id": project_id, "environment_id": None}
        found = self.rows(
            environment, environment.c.slug == environment_slug, environment.c.project_id == project_id
        )
        return {"scope_type": "environment", "project_id": project_id, "environment_id": found[0]["id"]}

    def grant(
        self,
        holder: str | UUID,
        role: str,
        path: str = "global",
        *,
        expires_at: int | None = None,
        group: bool = False,
    ) -> UUID:
        """Grants a role at a scope to a user's subject, an identity's id, or a group's id."""
        holder_id = self.identity_id(holder) if isinstance(holder, str) else holder
        made = new_id()
        self.execute(
            grant.insert(),
            {
                "id": made,
                "identity_id": None if group else holder_id,
                "group_id": holder_id if group else None,
                "role": role,
                "expires_at": expires_at,
                "created_at": now_ms(),
                "created_by": None,
                **self.scope(path),
            },
        )
        return made

    def group(self, slug: str, *subjects: str) -> UUID:
        """A group of users."""
        made = new_id()
        row = {"id": made, "slug": slug, "name": slug, "created_at": 1, "updated_at": 1}
        self.execute(group.insert(), row)
        for subject in subjects:
            member = {"group_id": made, "identity_id": self.identity_id(subject), "created_at": 1}
            self.execute(group_member.insert(), member)
        return made

    def disable(self, subject: str) -> None:
        self.execute(identity.update().where(identity.c.subject == subject).values(disabled=True))

    def count(self, table: Any) -> int:
        with self.engine.connect() as connection:
            return connection.execute(select(func.count()).select_from(table)).scalar_one()


def arrange(service: Service, slug: str = "shop", *environments: str) -> Client:
    """A project with its environments, made by the administrator, who is returned."""
    admin = service.user()
    admin.post("/projects", {"slug": slug, "name": slug.title()}, 201)
    for name in environments or ("prod",):
        admin.post(f"/projects/{slug}/environments", {"slug": name, "name": name.title()}, 201)
    return admin


class Furniture:
    """What `arrange` leaves in a database, to be put into others: three requests take ten times as long."""

    def __init__(self, databases: Any, issuer: TestIssuer) -> None:
        url = databases.create()
        service = Service(url, issuer)
        arrange(service, "shop", "prod", "dev")
        # Prepared: what SQLAlchemy does for an INSERT takes longer than to execute it.
        self._inserts = [
            (table is identity, Prepared(table.insert()), [dict(row) for row in service.rows(table)])
            for table in _tables(service)
        ]
        service.close()
        dispose_engine(service.app)
        databases.drop(url)

    def put_into(self, service: Service) -> Client:
        """The administrator, who was seen just now."""
        with write_transaction(service.engine) as connection:
            for of_identities, insert, rows in self._inserts:
                seen = {"last_seen_at": now_ms()} if of_identities else {}
                for row in rows:
                    insert.run(connection, row | seen)
        return service.user()


def _tables(service: Service) -> list[Any]:
    registered = service.app.registry.models.tables
    # What a trigger fills is filled again by what it watches.
    return [
        table for table in Base.metadata.sorted_tables if table in registered and table is not audit_unsealed
    ]


Maker = Callable[..., Service]
