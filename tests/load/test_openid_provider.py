"""The tokens of a real OpenID provider, of people and of machines, also while it changes its keys under load.

They run on SQLite alone: nothing of it depends on the engine.
"""

from __future__ import annotations

import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import quantiles

import jwt
import pytest
from databases import SqliteDatabases
from openid_provider import (
    ANN,
    BILLING,
    BRIEF,
    BRIEFLY,
    BY_EC,
    BY_RSA,
    CARL,
    MACHINES,
    OTHER,
    OpenIdProvider,
    openid_provider,
)
from processes import Deployment, HttpClient
from service import ADMIN
from tokens import TestIssuer
from waiting import PATIENCE, eventually

from secretsvc.authentication.jwks import DEADLINE

VALUE = "/projects/shop/environments/prod/secrets/KEY"
MACHINE = f"sso:{MACHINES[0]}"
# Long enough for a busy machine to bring a new key within one.
COOLDOWN = 8.0
#: Seconds between two reads of one client: many are within each cool-down.
PAUSE = 0.1
# What two busy cores add to a deadline; the provider hangs for longer.
SLACK = 4.0
ROTATIONS = 3


@pytest.fixture
def provider(tmp_path: Path) -> Iterator[OpenIdProvider]:
    with openid_provider(tmp_path) as started:
        yield started


@pytest.fixture
def deployment(
    provider: OpenIdProvider, sqlite_databases: SqliteDatabases, issuer: TestIssuer, tmp_path: Path
) -> Iterator[Deployment]:
    """A process that trusts the provider and nobody else, with a value that Ann and a machine may read."""
    settings = provider.environment(ACCESS_JWKS_COOLDOWN=str(int(COOLDOWN)), ACCESS_LEEWAY="0")
    with Deployment(tmp_path, sqlite_databases.create(), issuer, **settings) as made:
        made.start(1)
        _arrange(made.client(token=provider.person(ADMIN)))
        yield made


def _arrange(admin: HttpClient) -> None:
    admin.expect(201, "POST", "/projects", {"slug": "shop", "name": "Shop"})
    admin.expect(201, "POST", "/projects/shop/environments", {"slug": "prod", "name": "Prod"})
    admin.expect(200, "POST", VALUE.replace("/KEY", ":batch"), {"mode": "merge", "set": {"KEY": "value"}})
    scope = {"scope_type": "environment", "project": "shop", "environment": "prod", "role": "reader"}
    for kind, subject in (("user", ANN), ("service", MACHINE)):
        made = admin.expect(201, "POST", "/identities", {"kind": kind, "subject": subject})
        admin.expect(201, "POST", "/grants", {**scope, "identity_id": made.json["id"]})
    admin.close()


def status_of(deployment: Deployment, token: str, path: str = VALUE) -> int:
    with closing(deployment.client(token=token)) as client:
        return client.request("GET", path).status


def refusals(deployment: Deployment) -> list[str]:
    """The lines about refusals: of each reason only the first is logged."""
    return [line for line in deployment.processes[0].output.decode().splitlines() if "refused:" in line]


def who(deployment: Deployment, token: str) -> tuple[str, str]:
    with closing(deployment.client(token=token)) as client:
        found = client.expect(200, "GET", "/whoami").json["identity"]
    return found["kind"], found["subject"]


@dataclass(frozen=True, slots=True)
class Read:
    """One read of the value: by a key of which generation, when, in monotonic seconds, and what came back."""

    kind: str
    generation: int
    sent: float
    answered: float
    status: int

    @property
    def whose(self) -> str:
        """Of people or of machines."""
        return self.kind.partition(" ")[0]


class Readers:
    """Clients that read the value until the end, each with a new token of the provider's for each read."""

    def __init__(self, deployment: Deployment, ways: dict[str, Callable[[], str]]) -> None:
        self.reads: list[Read] = []
        self._deployment, self._ways, self._over = deployment, ways, threading.Event()

    def __enter__(self) -> Readers:
        self._pool = ThreadPoolExecutor(len(self._ways))
        self._running = [self._pool.submit(self._read_on, *way) for way in self._ways.items()]
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._pool.shutdown()
        for one in self._running:
            one.result()

    def wait_for(self, generation: int) -> None:
        """Until each of them was let in by a key of a generation."""

        def are_in() -> bool:
            assert not any(one.done() for one in self._running), "a client gave up"
            return len(self.let_in(generation)) == len(self._ways)

        assert eventually(are_in), Counter((r.kind, r.generation, r.status) for r in self.reads)

    def let_in(self, generation: int) -> set[str]:
        return {read.kind for read in list(self.reads) if (read.generation, read.status) == (generation, 200)}

    def _read_on(self, kind: str, make: Callable[[], str]) -> None:
        with closing(self._deployment.processes[0].client()) as client:
            while not self._over.is_set():
                client.token = make()
                self.reads.append(read(client, kind))
                time.sleep(PAUSE)


def read(client: HttpClient, kind: str) -> Read:
    assert client.token is not None
    generation = int(jwt.get_unverified_header(client.token)["kid"].partition("-")[2])
    sent = time.monotonic()
    status = client.request("GET", VALUE).status
    return Read(kind, generation, sent, time.monotonic(), status)


def statuses(reads: Iterable[Read]) -> set[int]:
    """Which there were.

    Who brings a new key while another's fetch is under way waits for it a quarter of a second, and is then
    told to come again. Where two busy cores make a fetch that slow, the 503 of those who came before somebody
    got in with the key is left out; people and machines have keys of their own.
    """
    known: dict[tuple[str, int], float] = {}
    reads = sorted(reads, key=lambda one: one.answered)
    for one in reads:
        if one.status == 200:
            known.setdefault((one.whose, one.generation), one.answered)
    return {
        one.status
        for one in reads
        if one.status != 503 or one.sent > known.get((one.whose, one.generation), 0.0)
    }


def usual_seconds(reads: Iterable[Read]) -> float:
    """Within which nine tenths were answered: a pause of the machine is none of the service's."""
    return quantiles([one.answered - one.sent for one in reads], n=10)[-1]


def everybody(provider: OpenIdProvider) -> dict[str, Callable[[], str]]:
    """Machines by both algorithms, and people."""
    return {
        **{f"machine {number} by RSA": partial(provider.machine, resource=BY_RSA) for number in range(3)},
        **{f"machine {number} by EC": partial(provider.machine, resource=BY_EC) for number in range(3)},
        **{f"person {number}": partial(provider.person, ANN) for number in range(2)},
    }


def test_people_and_machines_get_in_as_what_their_tokens_say(
    provider: OpenIdProvider, deployment: Deployment
) -> None:
    assert who(deployment, provider.person(ANN)) == ("user", ANN)
    assert who(deployment, provider.person(ADMIN)) == ("user", ADMIN)
    for resource in (BY_RSA, BY_EC):
        token = provider.machine(resource=resource)
        assert jwt.get_unverified_header(token)["typ"] == "at+jwt"
        assert who(deployment, token) == ("service", MACHINE)
        with closing(deployment.processes[0].client()) as bearer:
            headers = {"Authorization": f"Bearer {token}"}
            assert bearer.expect(200, "GET", VALUE, headers=headers).json["value"] == "value"
    # One fetch for people and one for machines, from where the provider's own description says.
    assert provider.fetches == 2


def test_tokens_for_others_and_of_others_do_not_get_in(
    provider: OpenIdProvider, deployment: Deployment
) -> None:
    for_another_client = provider.person(ANN, OTHER)
    for_another_audience = provider.machine(resource=BILLING)
    of_another_client = provider.machine("backup")
    of_an_unverified_address = provider.person(CARL)
    for token in (for_another_client, for_another_audience, of_another_client, of_an_unverified_address):
        assert status_of(deployment, token, "/whoami") == 401
    told = [re.findall(r"assertion refused: ([^;]+);", line)[0] for line in refusals(deployment)]
    assert told == ["audience", "required claim", "email_verified"]
    assert status_of(deployment, provider.machine()) == 200


def test_tokens_that_have_expired_do_not_get_in_any_more(
    provider: OpenIdProvider, deployment: Deployment
) -> None:
    tokens, over = valid_until(provider, deployment)
    time.sleep(max(0.0, over - time.time()))
    assert [status_of(deployment, token) for token in tokens] == [401, 401]
    # Each issuer has a line of its own.
    told = refusals(deployment)
    assert len(told) == 2
    assert all("assertion refused: expired;" in line for line in told)


def valid_until(provider: OpenIdProvider, deployment: Deployment) -> tuple[list[str], float]:
    """Brief tokens that were let in, and the end of the last one; a pause of the machine outlasts some."""
    for _ in range(10):
        tokens = [provider.person(ANN, BRIEF), provider.machine(resource=BRIEFLY)]
        ends = [jwt.decode(token, options={"verify_signature": False})["exp"] for token in tokens]
        found = [status_of(deployment, token) for token in tokens]
        if found == [200, 200]:
            return tokens, max(ends)
        assert time.time() >= min(ends), found
    raise AssertionError("no token lived long enough to be let in")


def test_nobody_is_refused_while_the_keys_are_changed_no_sooner_than_the_cooldown(
    provider: OpenIdProvider, deployment: Deployment
) -> None:
    with Readers(deployment, everybody(provider)) as readers:
        readers.wait_for(1)
        for generation in range(2, 2 + ROTATIONS):
            # The next key is announced before it signs, and the one before the last has gone.
            provider.publish(generation - 1, generation)
            provider.publish(generation, generation - 1)
            readers.wait_for(generation)
            time.sleep(COOLDOWN)
    assert statuses(readers.reads) == {200}
    assert usual_seconds(readers.reads) < DEADLINE
    # However many bring a token of a new key: one fetch of each issuer's keys.
    assert provider.fetches == 2 * (1 + ROTATIONS)


def test_keys_changed_twice_within_the_cooldown_are_refused_until_its_end_and_no_longer(
    provider: OpenIdProvider, deployment: Deployment
) -> None:
    with Readers(deployment, everybody(provider)) as readers:
        readers.wait_for(1)
        changed = time.monotonic()
        provider.publish(2, 1)
        readers.wait_for(2)
        with closing(deployment.client(token=provider.machine())) as known:
            provider.publish(3, 2)
            while len(readers.let_in(3)) < len(everybody(provider)):
                assert read(known, "known").status == 200
                assert time.monotonic() < changed + PATIENCE
    for people in (True, False):
        mine = [one for one in readers.reads if (one.whose == "person") is people]
        third = [one for one in mine if one.generation == 3]
        assert statuses(one for one in mine if one.generation < 3) == {200}
        # The second generation's first read began the cool-down, after the change and before its answer.
        fetched = min(one.answered for one in mine if (one.generation, one.status) == (2, 200))
        assert statuses(one for one in third if one.answered < changed + COOLDOWN) == {401}
        over = fetched + COOLDOWN
        assert statuses(one for one in third if one.sent > over) == {200}
    assert usual_seconds(readers.reads) < DEADLINE
    assert provider.fetches == 2 * 3


def test_a_provider_that_hangs_holds_up_nobody_whose_key_is_known(
    provider: OpenIdProvider, deployment: Deployment
) -> None:
    known = {f"known {number}": partial(str, provider.machine()) for number in range(4)}
    provider.publish(2, 1)
    unknown = {f"unknown {number}": partial(str, provider.machine()) for number in range(4)}
    with Readers(deployment, known) as quick:
        with provider.halted(), Readers(deployment, unknown) as slow:
            time.sleep(DEADLINE + COOLDOWN)
        time.sleep(COOLDOWN)
        with Readers(deployment, unknown) as again:
            again.wait_for(2)
    assert statuses(quick.reads) == {200}
    assert usual_seconds(quick.reads) < DEADLINE / 2
    assert statuses(slow.reads) == {503}
    assert max(one.answered - one.sent for one in slow.reads) < DEADLINE + SLACK
    assert statuses(again.reads) == {200}


def test_a_key_that_is_gone_opens_nothing_once_its_successor_was_seen(
    provider: OpenIdProvider, deployment: Deployment
) -> None:
    old = {kind: make() for kind, make in everybody(provider).items()}
    assert {status_of(deployment, token) for token in old.values()} == {200}
    provider.publish(2)
    # Nothing has asked for another key yet.
    assert {status_of(deployment, token) for token in old.values()} == {200}
    assert status_of(deployment, provider.machine()) == 200
    people = {kind for kind in old if kind.startswith("person")}
    assert {kind for kind, token in old.items() if status_of(deployment, token) == 200} == people
    assert status_of(deployment, provider.person(ANN)) == 200
    for _ in range(2):
        assert {status_of(deployment, token) for token in old.values()} == {401}
        time.sleep(COOLDOWN)
    assert status_of(deployment, provider.machine()) == 200
