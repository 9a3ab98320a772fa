"""The secrets of one environment as a client meets them, and ways to damage what lies behind them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from service import Client, Service
from sqlalchemy import select
from webtest import TestResponse

from secretsvc.secrets.models import secret, secret_version
from secretsvc.secrets.queries.origins import origin_digest
from secretsvc.secrets.write.description_digests import description_digest
from secretsvc.secrets.write.sealing import DIGESTS
from secretsvc.tables.projects import environment, project

CANONICAL = "/projects/shop/environments/prod"
ALIAS = "/p/shop/e/prod"
BOTH_SPELLINGS = pytest.mark.parametrize("spelling", [CANONICAL, ALIAS], ids=["canonical", "alias"])

PLAINTEXT_HEADERS = {
    "Cache-Control": "no-store, no-cache, must-revalidate, private",
    "Edge-CDN-Cache-Control": "no-store",
    "Vary": "Proxy-Access-Jwt-Assertion",
}


class Vault:
    """One client's requests to the secrets of one environment."""

    def __init__(self, client: Client, base: str = CANONICAL) -> None:
        self.client, self.base = client, base

    def get(self, path: str, status: int = 200, **options: Any) -> TestResponse:
        return self.client.get(f"{self.base}/{path}", status, **options)

    def post(self, verb: str, body: Any, status: int | str = 200, **options: Any) -> TestResponse:
        return self.client.post(f"{self.base}/secrets:{verb}", body, status, **options)

    def batch(self, status: int = 200, *, headers: Any = (), **body: Any) -> TestResponse:
        return self.post("batch", {"mode": "merge", **body}, status, headers=headers)

    def load(self, content: str, status: int = 200, *, headers: Any = (), **body: Any) -> TestResponse:
        """An import; dotenv and merging unless told otherwise."""
        body = {"format": "env", "mode": "merge", "content": content, **body}
        return self.post("import", body, status, headers=headers)

    def rename(self, source: str, target: str, status: int = 200, **options: Any) -> TestResponse:
        return self.post("rename", {"from": source, "to": target}, status, **options)

    def rollback(self, key: str, to_version: Any, status: int = 200, **body: Any) -> TestResponse:
        return self.post("rollback", {"key": key, "to_version": to_version, **body}, status)

    def set(self, **values: str) -> int:
        """Sets values; the revision that this made."""
        return self.batch(set=values).json["rev"]

    def value(self, key: str) -> str:
        return self.get(f"secrets/{key}").json["value"]

    def values(self) -> dict[str, str]:
        return self.get("secrets:export").json["secrets"]

    def listed(self) -> dict[str, Any]:
        return {item["key"]: item for item in self.get("secrets").json["items"]}

    def versions(self, key: str) -> list[Any]:
        return self.get(f"secrets/{key}/versions").json["items"]

    @property
    def rev(self) -> int:
        return self.get("secrets").json["rev"]


def environment_ids(service: Service, slug: str = "prod") -> dict[str, Any]:
    """The ids under which audit rows of an environment are found."""
    found = service.rows(environment, environment.c.slug == slug)
    return {"project_id": service.rows(project)[0]["id"], "environment_id": found[0]["id"]}


def state(service: Service) -> Any:
    """Everything that a write of secrets can change."""
    history = sorted(map(repr, service.rows(secret_version)))
    return service.rows(environment), sorted(map(repr, service.rows(secret))), history


def records(service: Service) -> list[Any]:
    """The audit rows of secrets, oldest first."""
    return [row for row in service.audit() if row["action"].startswith("secret.")]


def detail(row: Any) -> Any:
    return json.loads(row["detail"])


def digests(service: Service, slug: str = "prod", **descriptions: str | None) -> dict[str, Any]:
    """What a record says of the descriptions that its write sets: digests under the active key."""
    ring = service.app.registry.load_ring()
    key, within = ring.subkey(DIGESTS), environment_ids(service, slug)["environment_id"]
    digests = {name: description_digest(key, within, name, text) for name, text in descriptions.items()}
    kid = ring.active_kid if any(digests.values()) else None
    return {"descriptions": {"kid": kid, "digests": digests}}


def origins(service: Service, slug: str = "prod", **versions: int) -> dict[str, Any]:
    """What a record says of the origins that are stored with these versions of an environment."""
    within = environment_ids(service, slug)["environment_id"]
    ids = {row["key"]: row["id"] for row in service.rows(secret, secret.c.environment_id == within)}
    rows = {(row["secret_id"], row["version"]): row for row in service.rows(secret_version)}
    found = {key: rows[ids[key], number] for key, number in versions.items()}
    return {
        "origins": {
            key: origin_digest(row["origin_environment_id"], row["origin_secret_id"], row["origin_version"])
            for key, row in found.items()
        }
    }


def version_row(service: Service, key: str, version: int = 1) -> Any:
    """One version of a key of the one environment that has it."""
    with service.engine.connect() as connection:
        statement = select(secret_version).join(secret, secret.c.id == secret_version.c.secret_id)
        statement = statement.where(secret.c.key == key, secret_version.c.version == version)
        return connection.execute(statement).mappings().one()


def overwrite(service: Service, key: str, *, version: int = 1, **columns: Any) -> None:
    """Changes a version behind the service's back."""
    row = version_row(service, key, version)
    service.execute(
        secret_version.update()
        .where(secret_version.c.secret_id == row["secret_id"], secret_version.c.version == version)
        .values(**columns)
    )


def tamper(service: Service, key: str, *, version: int = 1, at: int = -1) -> None:
    """Flips one bit of an envelope."""
    envelope = bytearray(version_row(service, key, version)["envelope"])
    envelope[at] ^= 1
    overwrite(service, key, version=version, envelope=bytes(envelope))


def block_audit(service: Service) -> None:
    """From now on the database refuses audit rows of secrets."""
    if service.engine.name == "sqlite":
        service.execute(
            "CREATE TRIGGER blocked BEFORE INSERT ON audit_record WHEN NEW.action LIKE 'secret.%'"
            " BEGIN SELECT RAISE(ABORT, 'blocked'); END"
        )
        return
    service.execute(
        "CREATE FUNCTION blocked() RETURNS trigger LANGUAGE plpgsql AS"
        " $$ BEGIN RAISE EXCEPTION 'blocked'; END $$"
    )
    service.execute(
        "CREATE TRIGGER blocked BEFORE INSERT ON audit_record FOR EACH ROW"
        " WHEN (NEW.action LIKE 'secret.%') EXECUTE FUNCTION blocked()"
    )


def block_commit(service: Service) -> None:
    """From now on a transaction that wrote an audit row of secrets fails in its COMMIT, and no sooner."""
    service.execute("CREATE TABLE target (id INTEGER PRIMARY KEY)")
    service.execute("CREATE TABLE debt (id INTEGER REFERENCES target (id) DEFERRABLE INITIALLY DEFERRED)")
    if service.engine.name == "sqlite":
        service.execute(
            "CREATE TRIGGER indebted AFTER INSERT ON audit_record WHEN NEW.action LIKE 'secret.%'"
            " BEGIN INSERT INTO debt VALUES (1); END"
        )
        return
    service.execute(
        "CREATE FUNCTION indebted() RETURNS trigger LANGUAGE plpgsql AS"
        " $$ BEGIN INSERT INTO debt VALUES (1); RETURN NULL; END $$"
    )
    service.execute(
        "CREATE TRIGGER indebted AFTER INSERT ON audit_record FOR EACH ROW"
        " WHEN (NEW.action LIKE 'secret.%') EXECUTE FUNCTION indebted()"
    )
