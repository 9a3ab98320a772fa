"""What readers ask of full environments, at the limits of default, stays within the memory of a container.

Takes some seconds, of which most fill the environments.
"""

from __future__ import annotations

import http.client
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from statistics import median

import pytest
from process_memory import Peak, resident_kib
from processes import Deployment, HttpClient
from service import ADMIN, HEADER
from tokens import TestIssuer
from waiting import slowness

SHOP = "/projects/shop"
ENVIRONMENTS, SECRETS, PAGE = 4, 500, 10
VALUE = "x" * 65_536
READERS = [f"reader-{number}@example.com" for number in range(4)]
#: MiB by which a page may grow the process, and that the process may have in all; seconds for others.
GROWTH, TOTAL, BOUND = 60, 400, 2.0


def fill(client: HttpClient, slug: str) -> None:
    client.expect(201, "POST", f"{SHOP}/environments", {"slug": slug, "name": slug})
    for first in range(0, SECRETS, PAGE):
        some = {f"K{number}": VALUE for number in range(first, first + PAGE)}
        body = {"mode": "merge", "set": some}
        client.expect(200, "POST", f"{SHOP}/environments/{slug}/secrets:batch", body)


@pytest.fixture
def deployment(database_url: str, issuer: TestIssuer, tmp_path: Path) -> Iterator[Deployment]:
    """One process, started anew once the environments were full."""
    with Deployment(tmp_path, database_url, issuer) as made:
        made.start(1)
        client = made.client()
        client.expect(201, "POST", "/projects", {"slug": "shop", "name": "Shop"})
        for number in range(ENVIRONMENTS):
            fill(client, f"e{number}")
        group = client.expect(201, "POST", "/groups", {"slug": "all", "name": "All"}).json["id"]
        grant = {"scope_type": "global", "role": "reader"}
        client.expect(201, "POST", f"/groups/{group}/grants", grant)
        for reader in READERS:
            # A stranger is known from the first request on.
            own = made.client(token=issuer.sign(reader))
            known = own.expect(200, "GET", "/whoami").json["identity"]["id"]
            own.close()
            client.expect(201, "POST", f"/groups/{group}/members", {"identity_id": known})
        client.close()
        made.processes[0].stop()
        made.processes[0].start()
        yield made


def page(deployment: Deployment, path: str) -> int:
    """Asks for a page as the administrator, and reads it; its status."""
    connection = http.client.HTTPConnection("127.0.0.1", deployment.processes[0].port, timeout=60)
    with closing(connection):
        connection.request("GET", path, headers={HEADER: deployment.issuer.sign(ADMIN)})
        answer = connection.getresponse()
        answer.read()
        return answer.status


def export_at_once(deployment: Deployment) -> tuple[list[int], list[float]]:
    """Each reader exports a full environment, all of them at once; what others waited, in seconds."""
    statuses: list[int] = []
    waited: list[float] = []

    def export(reader: str) -> None:
        client = deployment.client(token=deployment.issuer.sign(reader))
        statuses.append(client.request("GET", f"{SHOP}/environments/e0/secrets:export").status)
        client.close()

    threads = [threading.Thread(target=export, args=(one,)) for one in READERS]
    for thread in threads:
        thread.start()
    client = deployment.client()
    while any(thread.is_alive() for thread in threads):
        for path in ("/health", f"{SHOP}/environments/e1/secrets/K1"):
            began = time.monotonic()
            client.expect(200, "GET", path)
            waited.append(time.monotonic() - began)
        time.sleep(0.05)
    client.close()
    return statuses, waited


def test_full_environments_are_looked_at_and_exported_in_bounded_memory(deployment: Deployment) -> None:
    pid = deployment.processes[0].pid
    assert page(deployment, "/projects") == 200
    before = resident_kib(pid) / 1024
    for path in (SHOP, f"{SHOP}?q=k&missing=1", f"{SHOP}/environments/e0"):
        with Peak(pid) as peak:
            assert page(deployment, path) == 200
        print(f"\n{path}: {before:.0f} MiB before, at most {peak.mib:.0f}")
        assert peak.mib - before < GROWTH
    for _ in range(2):
        with Peak(pid) as peak:
            statuses, waited = export_at_once(deployment)
        assert statuses == [200] * len(READERS)
        print(f"{len(READERS)} exports at once: at most {peak.mib:.0f} MiB, others {max(waited):.2f} s")
        # A pause of the machine makes one of them wait, and no export may make most of them wait.
        assert median(waited) < BOUND * slowness()
        assert peak.mib < TOTAL
