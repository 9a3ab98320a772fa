"""What the operations of access and audit cost: a number of statements that no amount of data changes."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from resource_fields import log
from service import Client, Service
from sqlalchemy import insert
from statements import recorded

from secretsvc.kernel.ids import new_id
from secretsvc.tables.grants import grant, group, group_member
from secretsvc.tables.identities import identity

pytestmark = pytest.mark.both_engines

ADA, TARGET = "ada@example.com", "target@example.com"
PROJECT = {"scope_type": "project", "project": "shop", "role": "admin"}

#: Beside the one of authentication, BEGIN and COMMIT: method, path, body, SQLite, PostgreSQL.
COSTS = [
    ("GET", "/identities", None, 1, 1),
    ("GET", "/identities?limit=5", None, 1, 1),
    ("GET", "/identities/{target}/effective-permissions", None, 3, 3),
    # It met nothing anywhere.
    ("GET", "/identities/{target}/exposure", None, 2, 2),
    ("GET", "/grants", None, 1, 1),
    ("GET", "/groups", None, 1, 1),
    ("GET", "/groups/{group}", None, 1, 1),
    ("GET", "/groups/{group}/members", None, 2, 2),
    ("GET", "/groups/{group}/grants", None, 2, 2),
    ("GET", "/access/unknown-identities", None, 1, 1),
    # Global admins are told the indexes of what there is, too.
    ("GET", "/audit", None, 2, 2),
    ("GET", "/audit?limit=500", None, 2, 2),
    ("GET", "/audit?project=shop", None, 4, 4),
    ("GET", "/audit?project=shop&environment=prod", None, 3, 3),
    ("GET", "/audit?environment=prod", None, 3, 3),
    ("GET", "/audit?project=shop&environment=prod&key=KEY", None, 2, 2),
    ("GET", "/whoami", None, 1, 1),
    # The guard adds its question, and on PostgreSQL its lock.
    ("PATCH", "/identities/{target}", {"display_name": "T"}, 5, 6),
    ("PATCH", "/identities/{target}", {}, 1, 1),
    ("POST", "/grants", PROJECT | {"identity_id": "{fresh}"}, 4, 4),
    ("POST", "/groups", {"slug": "brand-new", "name": "New"}, 2, 2),
    ("PATCH", "/groups/{group}", {"name": "G"}, 3, 3),
    ("POST", "/groups/{group}/members", {"identity_id": "{fresh}"}, 4, 4),
    ("POST", "/groups/{group}/grants", PROJECT, 4, 4),
    ("PATCH", "/grants/{grant}", {"expires_at": 2**52}, 4, 5),
    ("PATCH", "/groups/{group}/grants/{shared}", {"expires_at": 2**52}, 4, 5),
    ("DELETE", "/grants/{grant}", None, 4, 5),
    ("DELETE", "/groups/{group}/grants/{shared}", None, 4, 5),
    ("DELETE", "/groups/{group}/members/{target}", None, 3, 4),
    ("DELETE", "/groups/{group}", None, 4, 5),
]
#: The same for an admin of one project, whose lists are narrowed.
NARROW_COSTS = [
    ("GET", "/grants", None, 1, 1),
    ("GET", "/identities/{target}/effective-permissions", None, 3, 3),
    ("GET", "/groups/{group}/grants", None, 2, 2),
    ("GET", "/access/unknown-identities", None, 2, 2),
    ("GET", "/audit", None, 2, 2),
    ("GET", "/audit?project=shop", None, 3, 3),
]


def fill(service: Service, count: int) -> dict[str, str]:
    """As many identities, groups, members, grants and records, around one target and one group."""
    team = service.group("team", TARGET)
    prod = service.scope("shop/prod")
    names = {
        "target": str(service.identity_id(TARGET)),
        "fresh": str(service.identity_id("fresh@example.com")),
        "group": str(team),
        "grant": str(service.grant(TARGET, "reader", "shop")),
        "shared": str(service.grant(team, "reader", "shop", group=True)),
    }
    people = [new_id() for _ in range(count)]
    groups = [new_id() for _ in range(count)]
    common = {"created_at": 1, "role": "writer", "expires_at": None, **prod}
    service.execute(
        insert(identity),
        [
            {
                "id": one,
                "kind": "user",
                "subject": f"{one}@x",
                "disabled": False,
                "created_at": 1,
                "last_seen_at": 1,
            }
            for one in people
        ],
    )
    service.execute(
        insert(group),
        [{"id": one, "slug": f"g-{one}", "name": "G", "created_at": 1, "updated_at": 1} for one in groups],
    )
    members = [{"group_id": team, "identity_id": one, "created_at": 1} for one in people]
    members += [{"group_id": one, "identity_id": UUID(names["target"]), "created_at": 1} for one in groups]
    service.execute(insert(group_member), members)
    rows = [{"id": new_id(), "identity_id": one, "group_id": None, **common} for one in people]
    rows += [{"id": new_id(), "identity_id": None, "group_id": one, **common} for one in groups]
    service.execute(insert(grant), rows)
    log(service, count, outcome="denied", environment_id=prod["environment_id"])
    return names


def costs(client: Client, service: Service, names: dict[str, str], table: list[Any]) -> dict[str, int]:
    """The statements of each row of a table."""
    found = {}
    client.get("/whoami")
    for method, path, body, *_ in table:
        target = path.format(**names)
        filled = body and {k: v.format(**names) if isinstance(v, str) else v for k, v in body.items()}
        with recorded(service.engine) as statements:
            answer = client.request(method, target, filled)
        assert answer.status_int < 300, (method, path, answer.json)
        # One is authentication's.
        found[f"{method} {path} {body}"] = len(statements) - 1
    return found


def expected(service: Service, table: list[Any]) -> dict[str, int]:
    column = 3 if service.engine.name == "sqlite" else 4
    return {f"{row[0]} {row[1]} {row[2]}": row[column] for row in table}


@pytest.mark.slow
@pytest.mark.parametrize("count", [10, 300])
def test_a_global_admins_requests_cost_what_they_cost_whatever_there_is(make_service, count):
    service = prepared(make_service)
    names = fill(service, count)
    assert costs(service.user(), service, names, COSTS) == expected(service, COSTS)


@pytest.mark.parametrize("count", [10, 300])
def test_a_project_admins_requests_cost_what_they_cost_whatever_there_is(make_service, count):
    service = prepared(make_service)
    names = fill(service, count)
    service.grant(ADA, "admin", "shop")
    assert costs(service.user(ADA), service, names, NARROW_COSTS) == expected(service, NARROW_COSTS)


def prepared(make_service: Any) -> Service:
    """A service that touches each identity once and then no more, and has no list to lean on."""
    service: Service = make_service(LAST_SEEN_RESOLUTION="3600000")
    admin = service.user()
    admin.post("/projects", {"slug": "shop", "name": "Shop"}, 201)
    admin.post("/projects/shop/environments", {"slug": "prod", "name": "Prod"}, 201)
    service.close()
    return make_service(BOOTSTRAP_ADMINS="", LAST_SEEN_RESOLUTION="3600000")
