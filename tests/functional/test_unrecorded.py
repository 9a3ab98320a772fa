"""A change that cannot be recorded is not made, and does no harm to the next (specification, "Events")."""

from __future__ import annotations

import pytest
from fault_injection import refuse_inserts

from secretsvc.tables.grants import grant, group, group_member
from secretsvc.tables.identities import identity
from secretsvc.tables.projects import project

pytestmark = pytest.mark.both_engines

ADA = "ada@example.com"
TABLES = (grant, group, group_member, identity, project)
CHANGES = {
    "identity": ("PATCH", "/identities/{ada}", {"display_name": "Ada", "disabled": True}),
    "grant": ("POST", "/grants", {"scope_type": "global", "role": "reader", "identity_id": "{ada}"}),
    "changed grant": ("PATCH", "/grants/{grant}", {"role": "writer"}),
    "removed grant": ("DELETE", "/grants/{grant}", None),
    "group": ("POST", "/groups", {"slug": "new", "name": "New"}),
    "changed group": ("PATCH", "/groups/{team}", {"name": "New"}),
    "removed group": ("DELETE", "/groups/{team}", None),
    "member": ("POST", "/groups/{team}/members", {"identity_id": "{ada}"}),
    "removed member": ("DELETE", "/groups/{team}/members/{bob}", None),
    "group's grant": ("POST", "/groups/{team}/grants", {"scope_type": "global", "role": "reader"}),
    "changed group's grant": ("PATCH", "/groups/{team}/grants/{shared}", {"role": "writer"}),
    "removed group's grant": ("DELETE", "/groups/{team}/grants/{shared}", None),
    "project": ("PATCH", "/projects/shop", {"name": "New"}),
}


def changeable(service):
    """All rows, less the time of a visit: that is written by itself, before the change."""
    rows = (row for table in TABLES for row in service.rows(table))
    return [{name: value for name, value in row.items() if name != "last_seen_at"} for row in rows]


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_that_cannot_be_recorded_is_not_made(service, admin, change):
    team = service.group("team", "bob@example.com")
    names = {
        "ada": service.identity_id(ADA),
        "bob": service.identity_id("bob@example.com"),
        "team": team,
        "grant": service.grant(ADA, "reader", "shop"),
        "shared": service.grant(team, "reader", "shop", group=True),
    }
    method, path, body = CHANGES[change]
    path = path.format(**names)
    body = body and {k: v.format(**names) if isinstance(v, str) else v for k, v in body.items()}
    before = changeable(service)
    refuse_inserts(service, "audit_record")
    assert admin.request(method, path, body, status=500).json["code"] == "INTERNAL"
    assert changeable(service) == before
    on = "" if service.engine.name == "sqlite" else " ON audit_record"
    service.execute(f"DROP TRIGGER refuse_audit_record{on}")
    assert admin.request(method, path, body).status_int in (200, 201, 204)
