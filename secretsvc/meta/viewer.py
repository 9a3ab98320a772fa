"""The API viewer: RapiDoc from a public CDN, by exact version and by the hash of its published bundle.

The hash is that of `dist/rapidoc-min.js` in the npm package of this version, as
`openssl dgst -sha384 -binary | base64` prints it: a CDN that serves anything else is not run.

What that script can read is on its page: the frame around it says nothing of who looks at it.
"""

from __future__ import annotations

from collections import defaultdict
from functools import lru_cache
from typing import NamedTuple

import orjson

VERSION = "9.3.8"
SCRIPT = f"https://cdn.jsdelivr.net/npm/rapidoc@{VERSION}/dist/rapidoc-min.js"
INTEGRITY = "sha384-szzoYhqSJqZH8X90KwbBjYL1CMLEa3U7xl/oAZg4ViKpYEY5GVhM+peBQB4u7ANM"

# The viewer makes its own style elements; the script is that one file, and it may ask this host only.
CONTENT_SECURITY_POLICY = "; ".join(
    (
        "default-src 'none'",
        f"script-src {SCRIPT}",
        "style-src 'self' 'unsafe-inline'",
        "img-src 'self' data:",
        "font-src 'self'",
        "connect-src 'self'",
        "form-action 'none'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)


#: What people call a tag whose name, which is a package's, is not what they would say.
TITLES = {
    "access": "Grants",
    "auditlog": "Audit log",
    "home": "Search",
    "identity": "People and tokens",
    "keyring": "Key ring",
    "meta": "This service",
    "sealedlog": "Sealed audit log",
    "tokens": "Service tokens",
}


class ShownOperation(NamedTuple):
    """An operation as the list names it that stands where the script does not run."""

    method: str
    path: str
    summary: str


@lru_cache(maxsize=1)
def listed(description: bytes) -> dict[str, list[ShownOperation]]:
    """The operations of an OpenAPI document by what their tags are called; a process has but one."""
    found: dict[str, list[ShownOperation]] = defaultdict(list)
    for path, item in orjson.loads(description)["paths"].items():
        for method, operation in item.items():
            found[operation["tags"][0]].append(ShownOperation(method.upper(), path, operation["summary"]))
    return {TITLES.get(tag, tag.capitalize()): found[tag] for tag in sorted(found)}
