"""Processes that start at once with a key that is not in use: no envelope is ever theirs (decision 0025)."""

from __future__ import annotations

import itertools
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from pages import form_token
from processes import Deployment, HttpClient, ServiceProcess
from rotation import NEW_KEY, NEXT_KEY, fill
from sealing_routes import CALLS, FORMS, adopted, everything, kid_of, sealed_by
from service import ADMIN, API, Client, Service, arrange

TRIES = 1000
THREADS = 4
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
ROUTES = [("api", name) for name in CALLS] + [("page", name) for name in FORMS]


def started(deployment: Deployment, *keys: str) -> list[ServiceProcess]:
    """A process for each key, all of which start at the same moment."""
    for number, key in enumerate(keys):
        settings = {**deployment.settings, "MASTER_KEY": key}
        deployment.processes.append(ServiceProcess(deployment.directory / str(number), settings))
    with ThreadPoolExecutor(len(keys)) as pool:
        list(pool.map(ServiceProcess.start, deployment.processes))
    return deployment.processes


class Writer:
    """One client of a process, by the API and by the pages."""

    def __init__(self, process: ServiceProcess, token: str) -> None:
        self.client = HttpClient(process.port, token, prefix="")
        page = self.client.expect(200, "GET", "/projects?new").body.decode()
        self.form_token = form_token(page)

    def ask(self, kind: str, name: str) -> int:
        """One try by a route; its status."""
        if kind == "api":
            path, body = CALLS[name]
            return self.client.request("POST", API + path, body).status
        path, fields = FORMS[name]
        sent = urlencode({"csrf": self.form_token, **fields}).encode()
        return self.client.request("POST", path, body=sent, headers=FORM).status


def test_no_envelope_in_1000_tries_by_every_route_of_two_processes_with_a_wrong_key(
    service: Service, admin: Client, issuer: Any, tmp_path: Path
) -> None:
    fill(admin)
    before = everything(service)
    with Deployment(tmp_path, service.url, issuer) as deployment:
        processes = started(deployment, NEXT_KEY, NEXT_KEY)
        barrier = threading.Barrier(THREADS)

        def insist(number: int) -> Counter[tuple[str, str, int]]:
            writer = Writer(processes[number % len(processes)], issuer.sign(ADMIN))
            routes = itertools.islice(itertools.cycle(ROUTES), number, number + TRIES // THREADS)
            barrier.wait(60)
            with closing(writer.client):
                return Counter((*route, writer.ask(*route)) for route in routes)

        with ThreadPoolExecutor(THREADS) as pool:
            tried = sum(pool.map(insist, range(THREADS)), Counter())
        told = [process.output.decode() for process in processes]
    assert tried.total() == TRIES
    # A page of rekeying leaves what another one holds at that moment, and so may have nothing to seal.
    assert {route for route in tried if route[-1] != 500} <= {("api", "rekey", 200), ("page", "rekey", 303)}
    assert {route[:2] for route in tried} == {*ROUTES}
    assert everything(service) == before
    stray = kid_of(service.restarted(MASTER_KEY=NEXT_KEY))
    for text in told:
        (line,) = [line for line in text.splitlines() if "seals nothing" in line]
        assert stray in line
        assert kid_of(service) in line


def test_of_two_processes_with_different_keys_on_an_empty_database_one_seals(
    service: Service, issuer: Any, tmp_path: Path
) -> None:
    arrange(service, "shop", "prod", "dev")
    with Deployment(tmp_path, service.url, issuer) as deployment:
        processes = started(deployment, NEXT_KEY, NEW_KEY)
        barrier = threading.Barrier(THREADS)

        def write(number: int) -> set[int]:
            client = processes[number % 2].client(issuer.sign(ADMIN))
            path = f"/projects/shop/environments/{('prod', 'dev')[number % 2]}/secrets:batch"
            client.connect()
            barrier.wait(60)
            bodies = ({"mode": "merge", "set": {"A": str(turn)}} for turn in range(20))
            with closing(client):
                return {client.request("POST", path, body).status for body in bodies}

        with ThreadPoolExecutor(THREADS) as pool:
            statuses = list(pool.map(write, range(THREADS)))
    assert statuses[0] == statuses[2]
    assert statuses[1] == statuses[3]
    assert sorted(map(sorted, statuses[:2])) == [[200], [500]]
    winner = kid_of(service.restarted(MASTER_KEY=NEXT_KEY if statuses[0] == {200} else NEW_KEY))
    assert adopted(service) == [(winner, True)]
    assert sealed_by(service) == {winner}
