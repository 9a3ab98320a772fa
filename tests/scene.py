"""An issuer, a key source over HTTP and the verifier between them: what assertion tests play on."""

from __future__ import annotations

import time
from dataclasses import dataclass

import pytest
from jwks_server import KeyServer
from tokens import TestIssuer

from secretsvc.authentication.assertions import Verifier
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
    verifier: Verifier

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
