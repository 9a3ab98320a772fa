"""The page of operations: the key ring, moving rows to the active key, the limits in force."""

from __future__ import annotations

from limits import RateLimitItem

from secretsvc.kernel.authorization import Role
from secretsvc.kernel.release import VERSION
from secretsvc.keyring import domain, schemas
from secretsvc.keyring.resources import Admin
from secretsvc.web.config import ServiceConfigurator
from secretsvc.web.pages.directives import PageOptions, redirect_after_form
from secretsvc.web.pages.html_helpers import database
from secretsvc.web.request import ServiceRequest
from secretsvc.web.tree import PAGES

#: A record that waits longer to be sealed is worth a look: nobody seals, or with the wrong key.
LATE_MS = 60_000
#: How many rows a page of rekeying may move; the first is the usual one.
PAGE_SIZES = (500, 100, 1000)


def operations(_context: Admin, request: ServiceRequest) -> object:
    """The rotation, the key ring with its envelopes, the limits and how far they are used."""
    request.form.label("limit", "Envelopes at a time")
    limits, ring = domain.limits_in_force(request.call), domain.key_ring(request.call)
    return {
        "ring": ring,
        "signing_key": ring.log.signing_key(request.call.settings.audit_origin),
        "late": ring.log.lag(request.call.now) > LATE_MS,
        "adoptions": domain.adoptions(request.call),
        "fullest": domain.fullest_environment(request.call),
        "size": size,
        "rate": rate_text,
        "written": written,
        "limits": limits,
        "page_sizes": PAGE_SIZES,
        "version": VERSION,
        "database": database(limits.database),
    }


def size(number: int) -> str:
    """A number of bytes as people read it: "64 KiB"."""
    for unit, length in (("MiB", 1 << 20), ("KiB", 1 << 10)):
        if number >= length:
            return f"{number / length:,.1f} {unit}".replace(".0 ", " ")
    return f"{number:,} bytes"


def rate_text(limit: RateLimitItem | None) -> str:
    """A rate as people read it: "6,000 a minute"."""
    return "no limit" if limit is None else f"{limit.amount:,} {_per(limit)}"


def written(limit: RateLimitItem | None) -> str:
    """A rate of bytes as people read it: "64 MiB a day"."""
    return "no limit" if limit is None else f"{size(limit.amount)} {_per(limit)}"


def _per(limit: RateLimitItem) -> str:
    unit = limit.GRANULARITY.name
    article = "an" if unit == "hour" else "a"
    return f"{article} {unit}" if limit.multiples == 1 else f"in {limit.multiples} {unit}s"


def rekey(context: Admin, request: ServiceRequest) -> object:
    """Moves one page to the active key, and shows what remains."""
    moved = domain.rekey(request.call, **request.form.read(schemas.RekeyForm(), "limit"))
    return redirect_after_form(
        f"{context.path(PAGES)}/keyring", "rekeyed" if moved.rekeyed else "nothing-to-move"
    )


def includeme(config: ServiceConfigurator) -> None:
    config.add_assets("secretsvc.keyring")
    page: PageOptions[Admin] = {"context": Admin, "template": "secretsvc.keyring:templates/operations.pt"}
    config.add_page(operations, name="keyring", role=Role.ADMIN, **page)
    config.add_form(rekey, name="rekey", role=Role.ADMIN, rerender=operations, **page)
    config.add_flash_message("rekeyed", "Moved envelopes to the active key.")
    config.add_flash_message("nothing-to-move", "Every envelope that can be opened is under the active key.")
    config.add_navigation("Operations", "/admin/keyring", role=Role.ADMIN, order=70, icon="activity")
