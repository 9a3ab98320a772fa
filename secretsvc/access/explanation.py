"""The explainer: what a set of grants amounts to at each scope that it names, and by which grant."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from secretsvc.kernel.authorization import Address, GrantSnapshot, HeldGrant, Role, ScopeType

_WIDTH = {ScopeType.GLOBAL: 0, ScopeType.PROJECT: 1, ScopeType.ENVIRONMENT: 2}


@dataclass(frozen=True, slots=True)
class Explained:
    """A scope, the effective role there, every grant that covers it, and the one that decides."""

    at: Address
    role: Role | None
    sources: tuple[HeldGrant, ...]
    decisive: HeldGrant | None


def explain(snapshot: GrantSnapshot) -> list[Explained]:
    """One entry for each scope that a live grant names, widest first.

    A disabled identity has its sources and no role (specification, "Access"). What it says equals what
    `decide` enforces.
    """
    return [_explained(snapshot, at) for at in _named_scopes(snapshot.grants)]


def scope_of(held: HeldGrant) -> Address:
    """The address that a grant names."""
    return Address(held.project, held.environment)


def _named_scopes(grants: Iterable[HeldGrant]) -> list[Address]:
    scopes = {scope_of(held) for held in grants}
    return sorted(scopes, key=lambda at: (at.project or "", at.environment or ""))


def _explained(snapshot: GrantSnapshot, at: Address) -> Explained:
    sources = tuple(sorted((held for held in snapshot.grants if held.covers(at)), key=_precedence))
    if snapshot.disabled:
        return Explained(at, None, sources, None)
    return Explained(at, sources[0].role, sources, sources[0])


def _precedence(held: HeldGrant) -> tuple[int, int, bool, str]:
    """The greatest role first; of equal ones the widest, then a direct one, then the oldest (contract 2)."""
    return -held.role.rank, _WIDTH[held.scope_type], held.group_id is not None, str(held.grant_id or "")
