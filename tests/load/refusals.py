"""Requests that carry a canary and are refused, each for another reason."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from processes import Answer, HttpClient

JSON = {"Content-Type": "application/json"}


class Refusal(NamedTuple):
    """A request below an environment's path, and the status that it meets."""

    status: int
    path: str
    body: bytes | None = None
    headers: dict[str, str] = {}
    method: str = "POST"

    def send(self, client: HttpClient, base: str) -> Answer:
        return client.expect(self.status, self.method, base + self.path, body=self.body, headers=self.headers)


def refusals(canary: str) -> list[Refusal]:
    """Everything that the API refuses whoever asks."""
    return [*_batches(canary), *_imports(canary), *_moves(canary), *_reads(canary), *_malformed(canary)]


def writes(canary: str) -> list[Refusal]:
    """Well-formed writes and reads, for callers and processes that fail them; the status is to be set."""
    imported = {"format": "env", "mode": "merge", "content": f"IMPORTED={canary}"}
    return [
        _post(0, "/secrets:batch", {"mode": "merge", "set": {"WRITTEN": canary}}),
        _post(0, "/secrets:import", imported),
        _post(0, "/secrets:rename", {"from": "KEPT", "to": "MOVED", "reason": "why"}),
        _post(0, "/secrets:rollback", {"key": "KEPT", "to_version": 1}),
        Refusal(0, "/secrets/KEPT", method="GET"),
        Refusal(0, "/secrets/KEPT:reveal", method="GET"),
        Refusal(0, "/secrets:export", method="GET"),
        Refusal(0, "/secrets:export?format=env", method="GET"),
        Refusal(0, "/secrets:export?rev=1", method="GET"),
        Refusal(0, "/secrets/KEPT?version=1", method="GET"),
    ]


def _post(status: int, path: str, document: Any, headers: dict[str, str] | None = None) -> Refusal:
    return Refusal(status, path, json.dumps(document).encode(), JSON | (headers or {}))


def _batches(canary: str) -> list[Refusal]:
    merge = {"mode": "merge"}
    documents: list[Any] = [
        {"mode": canary, "set": {"K": "v"}},
        merge | {"set": canary},
        merge | {"set": [canary]},
        merge | {"set": {"K": [canary]}},
        merge | {"set": {"K": {"value": canary}}},
        merge | {"set": {"K": f"\ud800{canary}"}},
        merge | {"set": {"K": canary}, "delete": ["K"]},
        merge | {"set": {"K": canary}, "descriptions": {"OTHER": canary}},
        merge | {"set": {"K": canary}, "descriptions": {"K": canary * 40}},
        merge | {"set": {"K": canary}, "descriptions": {"K": f"{canary}\0"}},
        merge | {"delete": canary},
        merge | {"delete": [f"{canary} "]},
        merge | {"expected_rev": canary},
        merge | {"reason": canary * 20},
        merge | {"set": {"K": canary}, "surplus": canary},
    ]
    too_many = {f"K_{number}": canary for number in range(501)}
    stale = {"If-Match": '"999999"'}
    good = merge | {"set": {"K": canary}}
    return [
        *(_post(422, "/secrets:batch", document) for document in documents),
        _post(413, "/secrets:batch", merge | {"set": {"K": canary * 2_000}}),
        _post(413, "/secrets:batch", merge | {"set": too_many}),
        _post(413, "/secrets:batch", merge | {"set": {f"K_{n}": canary * 1_000 for n in range(30)}}),
        _post(412, "/secrets:batch", good, stale),
        _post(400, "/secrets:batch", good | {"expected_rev": 1}, stale),
        _post(400, "/secrets:batch", good, {"If-Match": f'"{canary}"'}),
        _post(403, "/secrets:batch", good, {"Sec-Fetch-Site": "cross-site"}),
        _post(403, "/secrets:batch", good, {"Origin": "https://elsewhere.example"}),
        _post(404, "-of-another-kind", good),
    ]


def _imports(canary: str) -> list[Refusal]:
    common = {"format": "env", "mode": "merge", "content": "K=v"}
    texts = {
        "env": [canary, f"K='{canary}", f"bad-key!={canary}", f"K=1\nK={canary}", f"K {canary}=1"],
        "json": [
            canary,
            f'"{canary}"',
            f'{{"K": "{canary}"',
            f'{{"K": ["{canary}"]}}',
            f'{{"K": "{canary}", "K": "{canary}"}}',
            f'{{"K": "\\ud800{canary}"}}',
            f'{{"{canary} as a name": "K"}}',
        ],
    }
    documents = [
        common | {"format": canary},
        common | {"mode": canary},
        common | {"content": [canary]},
        common | {"dry_run": canary},
        *(common | {"format": name, "content": text} for name, given in texts.items() for text in given),
    ]
    return [
        *(_post(422, "/secrets:import", document) for document in documents),
        *(_post(422, "/secrets:import", document | {"dry_run": True}) for document in documents[4:]),
        _post(413, "/secrets:import", common | {"content": f"K={canary * 2_000}"}),
    ]


def _moves(canary: str) -> list[Refusal]:
    return [
        _post(422, "/secrets:rename", {"from": [canary], "to": "K"}),
        _post(422, "/secrets:rename", {"from": "KEPT", "to": f"{canary}!"}),
        _post(404, "/secrets:rename", {"from": canary, "to": "K"}),
        _post(409, "/secrets:rename", {"from": "KEPT", "to": "OTHER"}),
        _post(400, "/secrets:rename", {"from": "KEPT", "to": "K"}, {"If-Match": f'"{canary}"'}),
        _post(422, "/secrets:rollback", {"key": f"{canary}!", "to_version": 1}),
        _post(422, "/secrets:rollback", {"key": "KEPT", "to_version": canary}),
        _post(422, "/secrets:rollback", {"key": "KEPT", "to_version": 1, "reason": canary * 20}),
        _post(404, "/secrets:rollback", {"key": canary, "to_version": 1}),
        _post(404, "/secrets:rollback", {"key": "KEPT", "to_version": 999}),
        _post(400, "/secrets:rollback", {"key": "KEPT", "to_version": 1}, {"If-Match": "*"}),
        _post(422, "/secrets:copy", {"from": {"project": canary, "environment": "dev"}}),
        _post(422, "/secrets:copy", {"from": {"project": "shop", "environment": "dev"}, "keys": [canary]}),
        _post(422, "/secrets:copy", {"from": canary, "reason": canary * 20}),
        _post(422, "/secrets:restore", {"to_rev": canary}),
        _post(404, "/secrets:restore", {"to_rev": 999}),
    ]


def _reads(canary: str) -> list[Refusal]:
    cross_site = {"Sec-Fetch-Site": "cross-site"}
    paths = {
        f"/secrets/{canary}": 404,
        f"/secrets/{canary}:reveal": 404,
        f"/secrets/{canary}!": 422,
        f"/secrets/{canary}/versions": 404,
        f"/secrets/KEPT?reason={canary}": 422,
        f"/secrets:export?format={canary}": 422,
        f"/secrets:export?rev={canary}": 422,
        f"/secrets?rev={canary}": 422,
        f"/secrets/KEPT?version={canary}": 422,
        f"/secrets/{canary}?version=1": 404,
        f"/secrets:deleted?cursor={canary}!": 422,
        f"/revisions?cursor={canary}": 422,
        "/secrets:export?rev=999999": 404,
        f"/secrets/KEPT/{canary}": 404,
        f"/secrets/KEPT:{canary}": 422,
        f"/secrets/KEPT/../{canary}": 404,
        f"/secrets/%FF{canary}": 400,
    }
    return [
        *(Refusal(status, path, method="GET") for path, status in paths.items()),
        Refusal(403, "/secrets/KEPT", headers=cross_site, method="GET"),
        Refusal(403, "/secrets/KEPT:reveal", headers={"Origin": "null"}, method="GET"),
        Refusal(403, "/secrets:export", headers=cross_site, method="GET"),
        Refusal(404, "/secrets/KEPT", canary.encode(), method="PUT"),
    ]


def _malformed(canary: str) -> list[Refusal]:
    good = f'{{"mode": "merge", "set": {{"K": "{canary}"}}}}'
    bodies = [
        (good, {"Content-Type": "text/plain"}),
        (f"value={canary}", {"Content-Type": "application/x-www-form-urlencoded"}),
        (good, {"Content-Type": f"application/{canary}"}),
        (good, {"Content-Type": "application/json; charset=utf-16"}),
        (good, JSON | {"Content-Encoding": "gzip"}),
        (good[:-3], JSON),
        (canary, JSON),
        (f'"{canary}"', JSON),
        (f'["{canary}"]', JSON),
        (f'{{"mode": "merge", "mode": "{canary}"}}', JSON),
        (f'{{"set": {"[" * 40}"{canary}"{"]" * 40}}}', JSON),
        (f'{{"set": {"[" * 100_000}"{canary}"', JSON),
        (f'{{"set": NaN, "mode": "{canary}"}}', JSON),
    ]
    refused = [Refusal(400, "/secrets:batch", text.encode(), headers) for text, headers in bodies]
    latin = f'{{"mode": "merge", "set": {{"K": "\xff{canary}"}}}}'.encode("latin-1")
    return [*refused, Refusal(400, "/secrets:batch", latin, JSON)]
