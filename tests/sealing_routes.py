"""Every route that may seal a value, as a client and as a browser would ask for it."""

from __future__ import annotations

from typing import Any

from pages import Browser, words
from rotation import PROD
from secrets_client import state
from service import Client, Service

from secretsvc.secrets.models import master_key, secret_version

#: By the API: the path and the body. They fit an environment that `fill` has filled.
CALLS: dict[str, tuple[str, Any]] = {
    "batch": (f"{PROD}/secrets:batch", {"mode": "merge", "set": {"KEY_0": "x", "NEW": "y"}}),
    "import": (f"{PROD}/secrets:import", {"format": "env", "content": "KEY_0=x", "mode": "merge"}),
    "rename": (f"{PROD}/secrets:rename", {"from": "KEY_0", "to": "OTHER"}),
    "rollback": (f"{PROD}/secrets:rollback", {"key": "KEY_1", "to_version": 1}),
    "copy": (f"{PROD}/secrets:copy", {"from": {"project": "shop", "environment": "prod"}, "from_rev": 1}),
    "restore": (f"{PROD}/secrets:restore", {"to_rev": 1}),
    "rekey": ("/admin/rekey", {"limit": 3}),
}
#: By the pages: the path and the fields.
FORMS: dict[str, tuple[str, dict[str, str]]] = {
    "write-apply": (f"{PROD}/secrets/KEY_0/write-apply", {"value.KEY_0": "x", "rev": "3", "reason": ""}),
    "rename": (f"{PROD}/secrets/KEY_0/rename", {"to": "OTHER"}),
    "rollback": (f"{PROD}/secrets/KEY_1/rollback", {"to_version": "1"}),
    "restore": (f"{PROD}/restore", {"to_rev": "1"}),
    "edit-apply": (f"{PROD}/edit-apply", {"value.KEY_0": "x", "rev": "3"}),
    "import-apply": (
        f"{PROD}/import-apply",
        {"content": "KEY_0=x", "format": "env", "mode": "merge", "rev": "3"},
    ),
    "text-apply": (f"{PROD}/text-apply", {"content": "KEY_0=x", "rev": "3"}),
    "rekey": ("/admin/rekey", {"limit": "100"}),
}


def token_of(browser: Browser) -> str:
    """What the forms of a person bear, from a page of the same process."""
    found: str = browser.open(f"{PROD}/import").html.find("input", {"name": "csrf"})["value"]
    return found


def refusals(client: Client, browser: Browser) -> tuple[dict[str, str], dict[str, str]]:
    """The codes and, of the pages, the messages that each route refuses with."""
    codes = {name: client.post(*call, 500).json["code"] for name, call in CALLS.items()}
    token, told = token_of(browser), {}
    for name, (path, fields) in FORMS.items():
        page = browser.post(path, {"csrf": token, **fields}, status=500)
        told[name] = words(page)
    return codes, told


def kid_of(service: Service) -> str:
    """The kid of the service's active key."""
    found: str = service.app.registry.load_ring().active_kid
    return found


def adopted(service: Service) -> list[tuple[str, bool]]:
    """The adopted kids in their order, each with whether it may seal."""
    rows = sorted(service.rows(master_key), key=lambda row: row["place"])
    return [(row["kid"], row["retired_at"] is None) for row in rows]


def sealed_by(service: Service) -> set[str]:
    """The kids that envelopes name."""
    return {row["kid"] for row in service.rows(secret_version, secret_version.c.kid.is_not(None))}


def everything(service: Service) -> Any:
    """All that a write or an adoption can change, records included."""
    return state(service), adopted(service), service.audit()
