"""tmp"""

import re

import uuid_utils

SECURITY_HEADERS = (
    ("X-Frame-Options", "DENY"),
    ("X-Content-Type-Options", "nosniff"),
    ("Referrer-Policy", "no-referrer"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Strict-Transport-Security", "max-age=63072000; includeSubDomains; preload"),
)
API_CONTENT_SECURITY_POLICY = "default-src 'none'; frame-ancestors 'none'"


def request_id(o):
    return o if o and re.fullmatch(r"[A-Za-z0-9._-]{1,64}", o) else str(uuid_utils.uuid7())
