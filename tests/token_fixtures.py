"""An issuer, a key source over HTTP and the verifier between them: what assertion tests play on."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from jwks_server import KeyServer
from tokens import TestIssuer

from secretsvc.authentication.assertions import AssertionVerifier
from secretsvc.authentication.issuers import Issuers
from secretsvc.authentication.jwks import KeyCache
from secretsvc.kernel.actors import Principal
from secretsvc.kernel.errors import Unauthenticated

ALGORITHMS = ("RS256", "ES256")
LEEWAY = 30
NOW = int(time.time())


@dataclass
class Scene:
    """An issuer, the service's verifier of it, and how often the keys were fetched."""

    issuer: TestIssuer
    server: KeyServer
    keys: KeyCache
    verifier: AssertionVerifier | Issuers

    def bearer(self, token: str, now: float = NOW) -> Principal:
        return self.verifier.verify(token, now).principal

    def refuses(self, token: str, now: float = NOW) -> bool:
        """Refused by the one answer there is, and for at most one more fetch in the cool-down."""
        before = self.server.hits
        with pytest.raises(Unauthenticated) as caught:
            self.verifier.verify(token, now)
        bare = (caught.value.message, caught.value.hint, caught.value.issues)
        assert bare == (Unauthenticated.default_message, None, ())
        assert self.server.hits - before <= 1
        assert self.server.hits <= 2
        return True


@contextmanager
def lone_scene(directory: Path) -> Iterator[Scene]:
    """An access proxy beside which nobody is trusted."""
    issuer = TestIssuer(directory)
    # The one moment at which these tests judge, however long the suite has been running by then.
    issuer.clock = lambda: NOW
    with KeyServer(issuer.jwks()) as server:
        keys = KeyCache(server.url, ALGORITHMS, cooldown=3600)
        verifier = AssertionVerifier(keys, issuer.issuer, [issuer.audience], ALGORITHMS, LEEWAY)
        verifier.verify(issuer.sign(), NOW)
        yield Scene(issuer, server, keys, verifier)
