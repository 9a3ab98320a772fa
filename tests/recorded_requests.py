"""Recorded requests and answers of the API, and their replay against the present code.

What differs from run to run is written as a placeholder: `{name}` for a value that an earlier answer gave
(`keep` says which field), `<id>`, `<time>`, `<kid>` and `<text>` for values of that kind.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from service import Client

FILE = Path(__file__).parent / "data" / "v1-exchanges.json"
KINDS = {
    "<id>": re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}"),
    "<kid>": re.compile(r"[0-9a-f]{16}"),
    "<text>": re.compile(r".*", re.DOTALL),
}
A_TIME = 10**12
# Words for people: they may change, and the request id is new each time.
TEXTS = {"message", "hint", "request_id"}
HEADERS = ("ETag", "Location", "Content-Type", "Cache-Control")


def load() -> list[dict[str, Any]]:
    """The exchanges in their order; those that are not recorded yet have no `answer`."""
    return json.loads(FILE.read_text())


def save(exchanges: list[dict[str, Any]]) -> None:
    """Writes them, an exchange a paragraph."""
    FILE.write_text(json.dumps(exchanges, indent=1) + "\n")


def ask(client: Client, exchange: dict[str, Any], kept: dict[str, str]) -> dict[str, Any]:
    """Sends the request of an exchange: what came back, and into `kept` what later ones need."""
    headers = fill(exchange.get("headers", {}), kept)
    answer = client.request(
        exchange["method"], fill(exchange["path"], kept), fill(exchange.get("body"), kept), headers=headers
    )
    kind = answer.headers.get("Content-Type", "")
    found = {
        "status": answer.status_int,
        "headers": {name: answer.headers[name] for name in HEADERS if name in answer.headers},
        "body": answer.json if kind.startswith("application/json") else answer.text,
    }
    for name, field in exchange.get("keep", {}).items():
        value = found["body"]
        for part in field.split("."):
            value = value.get(part, {})
        # Where it is missing the comparison tells.
        if isinstance(value, str):
            kept[name] = value
    return found


def fill(template: Any, kept: dict[str, str]) -> Any:
    """The template with the kept values in place of their names."""
    if isinstance(template, dict):
        return {key: fill(value, kept) for key, value in template.items()}
    if isinstance(template, list):
        return [fill(item, kept) for item in template]
    if isinstance(template, str):
        return re.sub(r"\{(\w+)\}", lambda found: kept.get(found[1], found[0]), template)
    return template


def mask(value: Any, kept: dict[str, str]) -> Any:
    """The value with placeholders for whatever another run would have otherwise."""
    if isinstance(value, dict):
        return {
            name: "<text>" if name in TEXTS and isinstance(member, str) else mask(member, kept)
            for name, member in value.items()
        }
    if isinstance(value, list):
        return [mask(item, kept) for item in value]
    if isinstance(value, str):
        for name, known in kept.items():
            value = value.replace(known, f"{{{name}}}")
        return next((kind for kind in ("<id>", "<kid>") if KINDS[kind].fullmatch(value)), value)
    return "<time>" if isinstance(value, int) and value >= A_TIME else value


def breaks(recorded: Any, found: Any, path: str = "") -> list[str]:
    """Where the answer lacks something that was recorded, or has it otherwise; additions are fine."""
    if isinstance(recorded, dict) and isinstance(found, dict):
        missing = [f"{path}.{name}: gone" for name in recorded if name not in found]
        return missing + [
            problem
            for name in recorded.keys() & found.keys()
            for problem in breaks(recorded[name], found[name], f"{path}.{name}")
        ]
    if isinstance(recorded, list) and isinstance(found, list):
        if path.endswith(".issues"):
            # Of one refused request more may be told.
            return [f"{path}: {one} gone" for one in recorded if all(breaks(one, other) for other in found)]
        if len(recorded) != len(found):
            return [f"{path}: {len(found)} items, {len(recorded)} recorded"]
        pairs = enumerate(zip(recorded, found, strict=True))
        return [problem for index, pair in pairs for problem in breaks(*pair, f"{path}.{index}")]
    return [] if _same(recorded, found) else [f"{path}: {found!r}, {recorded!r} recorded"]


def _same(recorded: Any, found: Any) -> bool:
    if recorded == "<time>":
        return isinstance(found, int) and found >= A_TIME
    if isinstance(recorded, str) and recorded in KINDS:
        return isinstance(found, str) and KINDS[recorded].fullmatch(found) is not None
    return type(recorded) is type(found) and recorded == found
