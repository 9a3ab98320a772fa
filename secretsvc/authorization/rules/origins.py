"""Which identities a token of an issuer can be: those that first came by it, and new ones (contract 17.5)."""

from __future__ import annotations

from sqlalchemy import Connection, bindparam, literal, select, update

from secretsvc.authentication.assertions import TokenRejected
from secretsvc.authorization.rules.snapshot import KnownIdentity
from secretsvc.kernel.actors import Principal
from secretsvc.kernel.rejections import RejectionReason
from secretsvc.kernel.workloads import variable_prefix
from secretsvc.tables.identities import identity


class OtherIssuer(TokenRejected):
    """A genuine token names an identity, or the beginning of a name, that is another issuer's."""


def check_origin(connection: Connection, principal: Principal, known: KnownIdentity | None) -> None:
    """Raises `OtherIssuer` for a token that is not of the workload issuer by which `known` first came.

    One of the access proxy is refused each name that begins like those of a workload issuer by which an
    identity came, configured or not; that is one statement, for names with a colon alone.
    """
    name = principal.issuer_name
    if name is None:
        return
    if principal.issuer is None:
        if connection.execute(_RESERVED, {"name": name}).first():
            raise OtherIssuer(RejectionReason.RESERVED)
    elif known is not None and known.issuer not in (None, principal.issuer):
        raise OtherIssuer(RejectionReason.OTHER_ISSUER, variable_prefix(name))


def columns_of_origin(principal: Principal) -> dict[str, object]:
    """What the row of an identity has that first comes by the principal's token."""
    if principal.issuer is None:
        return {}
    return {"issuer": principal.issuer, "issuer_name": principal.issuer_name}


def lacks_origin(principal: Principal, known: KnownIdentity | None) -> bool:
    """Whether the identity was announced, or came before issuers were kept, and now comes by one."""
    return principal.issuer is not None and known is not None and known.issuer is None


def keep_origin(connection: Connection, principal: Principal) -> None:
    """Writes the issuer of an identity that has none yet: the first token of a workload issuer decides."""
    row, columns = identity.c, columns_of_origin(principal)
    if columns:
        caller = (row.kind == principal.kind.value, row.subject == principal.subject, row.issuer.is_(None))
        connection.execute(update(identity).where(*caller).values(columns))


_RESERVED = select(literal(1)).where(identity.c.issuer_name == bindparam("name")).limit(1)
