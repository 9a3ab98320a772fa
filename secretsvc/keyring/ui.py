"""The page of operations: the key ring, moving rows to the active key, the limits in force."""

from __future__ import annotations

from typing import Any

from secretsvc.kernel.authorization import Role
from secretsvc.kernel.release import VERSION
from secretsvc.keyring import domain, schemas
from secretsvc.keyring.resources import Admin
from secretsvc.web.pages import see_other
from secretsvc.web.tree import PAGES

#: How many rows a page of rekeying may move; the first is the usual one.
PAGE_SIZES = (500, 100, 1000)
DATABASES = {"sqlite": "SQLite", "postgresql": "PostgreSQL"}


def operations(_context: Admin, request: Any) -> Any:
    """The key ring with its rows, and the limits."""
    limits = domain.limits_in_force(request.call)
    return {
        "ring": domain.key_ring(request.call),
        "limits": limits,
        "page_sizes": PAGE_SIZES,
        "version": VERSION,
        "database": DATABASES.get(limits.database, limits.database),
    }


def rekey(context: Admin, request: Any) -> Any:
    """Moves one page to the active key, and shows what remains."""
    moved = domain.rekey(request.call, **request.form.read(schemas.RekeyForm(), "limit"))
    return see_other(f"{context.path(PAGES)}/keyring", "rekeyed" if moved.rekeyed else "unchanged")


def includeme(config: Any) -> None:
    """Declares the page and its form."""
    config.add_assets("secretsvc.keyring")
    page = {"context": Admin, "template": "secretsvc.keyring:templates/operations.pt", "role": Role.ADMIN}
    config.add_page(operations, name="keyring", **page)
    config.add_form(rekey, name="rekey", redraw=operations, **page)
    config.add_done("rekeyed", "Moved one page to the active key.")
    config.add_navigation("Operations", "/admin/keyring", role=Role.ADMIN, order=70)
