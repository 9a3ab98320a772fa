"""Three issuers beside each other whose keys are alike: the access proxy and two of machines."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from jwks_server import KeyServer
from token_fixtures import ALGORITHMS, LEEWAY, NOW, Scene
from tokens import TestIssuer, ec_key, rsa_key

from secretsvc.authentication.assertions import AssertionVerifier
from secretsvc.authentication.issuers import Issuers
from secretsvc.authentication.jwks import KeyCache
from secretsvc.authentication.workload_issuers import issuers
from secretsvc.kernel.settings import Settings

PROXY, FIRST, SECOND = "proxy", "first", "second"
NAMES = (PROXY, FIRST, SECOND)
#: How the keys of the three are alike.
OWN, EQUAL_KIDS, EQUAL_KEYS = "keys of their own", "equal kids", "equal keys"
ALIKE = (OWN, EQUAL_KIDS, EQUAL_KEYS)


class Neighbour(TestIssuer):
    """An issuer whose keys are others, unless they are to be equal."""

    def __init__(self, directory: Path, name: str, alike: str) -> None:
        self.name, self.alike = name, alike
        super().__init__(directory, f"https://{name}.example.com", f"audience of {name}")

    def add_rsa(self, kid: str, alg: str = "RS256") -> None:
        self.keys[kid] = (alg, rsa_key(kid if self._shared else f"{self.name} {kid}"))

    def add_ec(self, kid: str, alg: str = "ES256") -> None:
        self.keys[kid] = (alg, ec_key(kid if self._shared else f"{self.name} {kid}", alg))

    @property
    def _shared(self) -> bool:
        return self.alike == EQUAL_KEYS

    def published(self) -> bytes:
        """Its keys, among them one whose kid no other issuer has where kids are their own."""
        keys = json.loads(self.jwks())["keys"]
        if self.alike == OWN:
            keys = [{**key, "kid": f"{self.name}-{key['kid']}"} for key in keys] + keys
        return json.dumps({"keys": keys}).encode()


@dataclass
class Street:
    """The three by their names, what judges their tokens, and their key servers."""

    issuers: dict[str, Neighbour]
    judge: Issuers
    servers: dict[str, KeyServer]
    keys: dict[str, KeyCache]

    def scene(self, name: str) -> Scene:
        """One of them as the scene of the catalogue of forgeries."""
        return Scene(self.issuers[name], self.servers[name], self.keys[name], self.judge)


@contextmanager
def street(directory: Path, alike: str) -> Iterator[Street]:
    """The people of all three are named by `email`, so that a token of one would do for another."""
    made: dict[str, Neighbour] = {}
    with ExitStack() as stack:
        servers = {}
        for name in NAMES:
            folder = directory / name
            folder.mkdir()
            made[name] = Neighbour(folder, name, alike)
            made[name].clock = lambda: NOW
            servers[name] = stack.enter_context(KeyServer(made[name].published()))
        environ = made[PROXY].environment(
            ACCESS_JWKS_URL=servers[PROXY].url,
            ACCESS_LEEWAY=str(LEEWAY),
            ACCESS_JWKS_COOLDOWN="3600",
            WORKLOAD_ISSUERS=f"{FIRST},{SECOND}",
        )
        for name in (FIRST, SECOND):
            environ |= made[name].workload_environment(name, JWKS_URL=servers[name].url, SUBJECT="{email}")
        settings, caches = Settings({}, environ), []

        def judge(verifier: AssertionVerifier, keys: KeyCache) -> AssertionVerifier:
            caches.append(keys)
            return verifier

        proxy_keys = KeyCache(servers[PROXY].url, ALGORITHMS, cooldown=3600)
        found = Issuers(issuers(settings, proxy_keys, judge))
        for name in NAMES:
            found.verify(made[name].sign(), NOW)
        yield Street(made, found, servers, dict(zip(NAMES, caches, strict=True)))
