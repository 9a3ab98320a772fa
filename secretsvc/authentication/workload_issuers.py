"""Verifiers for the tokens of each issuer that the settings name (contract 6.3)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from secretsvc.authentication.assertions import (
    ACCESS_TOKEN,
    JWT,
    PROXY_GROUP,
    AssertionVerifier,
    Keys,
    TokenRejected,
    check_email_verified,
    classify_assertion,
)
from secretsvc.authentication.issuers import Issuer, Verifying, reject_overlapping
from secretsvc.authentication.jwks import KeyCache
from secretsvc.authentication.jwks_source import Credentials
from secretsvc.kernel.actors import Kind, Principal
from secretsvc.kernel.claims import ClaimGivenTwice
from secretsvc.kernel.errors import ServerMisconfigured
from secretsvc.kernel.rejections import RejectionReason
from secretsvc.kernel.settings import Settings
from secretsvc.kernel.subjects import exact_subject
from secretsvc.kernel.workloads import Workload, workloads

T = TypeVar("T")
Judge = Callable[[AssertionVerifier, KeyCache], Verifying]


def classify_workload(workload: Workload, claims: dict[str, object]) -> Principal:
    """Whom the claims of a workload's token name. Raises `TokenRejected`."""
    check_email_verified(claims)
    try:
        if not all(required.holds(claims) for required in workload.require):
            raise TokenRejected(RejectionReason.REQUIRED_CLAIM)
        subject = exact_subject(workload.prefix + workload.subject.fill(claims))
    except ClaimGivenTwice:
        raise TokenRejected(RejectionReason.CLAIM_TWICE) from None
    except ValueError:
        raise TokenRejected(RejectionReason.TEMPLATE) from None
    return Principal(Kind.SERVICE, subject, workload.issuer)


def proxy_verifier(settings: Settings, keys: Keys) -> AssertionVerifier:
    """The access proxy's. Raises `ServerMisconfigured`."""
    reserved = tuple(one.prefix for one in workloads(settings))
    return AssertionVerifier(
        keys,
        settings.access_issuer,
        settings.access_audience,
        settings.access_algorithms,
        settings.access_leeway,
        partial(classify_assertion, reserved=reserved),
    )


def workload_verifier(settings: Settings, workload: Workload, keys: Keys) -> AssertionVerifier:
    """A workload issuer's. Raises `ServerMisconfigured`."""
    # Settings that its tokens will need must be well-formed now.
    _ = workload.require, workload.subject
    return AssertionVerifier(
        keys,
        workload.issuer,
        workload.audience,
        workload.algorithms,
        settings.access_leeway,
        partial(classify_workload, workload),
        types=(JWT, ACCESS_TOKEN),
    )


def workload_keys(settings: Settings, workload: Workload) -> KeyCache:
    """The cache of its keys. Raises `ServerMisconfigured`."""
    return KeyCache(
        workload.jwks_url,
        workload.algorithms,
        settings.access_jwks_cooldown,
        credentials=Credentials(workload.ca_file, workload.token_file),
        issuer_label=f"the workload issuer {workload.name}",
    )


def issuers(settings: Settings, proxy_keys: KeyCache, judge: Judge) -> list[Issuer]:
    """The access proxy and each workload issuer, with what `judge` makes of a verifier and its keys.

    Raises `ServerMisconfigured` for what is wrong with the access proxy, or with `WORKLOAD_ISSUERS` itself.
    """
    proxy = judge(proxy_verifier(settings, proxy_keys), proxy_keys)
    found = [Issuer(PROXY_GROUP, settings.access_issuer, frozenset(settings.access_audience), proxy)]
    named = workloads(settings)
    times = Counter(one.variable_prefix for one in named)
    for one in named:
        verifier = None
        if times[one.variable_prefix] == 1:
            verifier = _unless_misconfigured(partial(_judged, settings, one, judge))
        else:
            settings.complain(f"setting WORKLOAD_ISSUERS names {one.name} twice")
        found.append(_issuer(one, verifier))
    return reject_overlapping(found, settings.complain)


def _judged(settings: Settings, workload: Workload, judge: Judge) -> Verifying:
    keys = workload_keys(settings, workload)
    return judge(workload_verifier(settings, workload, keys), keys)


def _issuer(workload: Workload, verifier: Verifying | None) -> Issuer:
    """Return the issuer, with the settings of its pairs that are well-formed."""
    audiences = _unless_misconfigured(lambda: frozenset(workload.audience))
    name = _unless_misconfigured(lambda: workload.issuer)
    return Issuer(workload.variable_prefix, name, audiences, verifier)


def _unless_misconfigured(make: Callable[[], T]) -> T | None:
    try:
        return make()
    except ServerMisconfigured:
        return None
