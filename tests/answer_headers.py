"""The headers that answers bear, with the values that the specification gives them."""

from __future__ import annotations

SECURITY_HEADERS = {
    "x-frame-options": "DENY",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "strict-transport-security": "max-age=63072000; includeSubDomains; preload",
}
PLAINTEXT_HEADERS = {
    "cache-control": "no-store, no-cache, must-revalidate, private",
    "edge-cdn-cache-control": "no-store",
    "vary": "Proxy-Access-Jwt-Assertion",
}
