"""The API viewer: RapiDoc from a public CDN, by exact version and by the hash of its published bundle.

The hash is that of `dist/rapidoc-min.js` in the npm package of this version, as
`openssl dgst -sha384 -binary | base64` prints it: a CDN that serves anything else is not run.
"""

from __future__ import annotations

VERSION = "9.3.8"
SCRIPT = f"https://cdn.jsdelivr.net/npm/rapidoc@{VERSION}/dist/rapidoc-min.js"
INTEGRITY = "sha384-szzoYhqSJqZH8X90KwbBjYL1CMLEa3U7xl/oAZg4ViKpYEY5GVhM+peBQB4u7ANM"

# The viewer makes its own style elements; the script is that one file, and it may ask this host only.
CONTENT_SECURITY_POLICY = "; ".join(
    (
        "default-src 'none'",
        f"script-src {SCRIPT}",
        "style-src 'unsafe-inline'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "form-action 'none'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)

PAGE = f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>secretsvc API</title>
<script type="module" src="{SCRIPT}" integrity="{INTEGRITY}" crossorigin="anonymous"></script>
</head>
<body>
<rapi-doc spec-url="openapi.json" render-style="read" load-fonts="false" show-header="false"
 allow-server-selection="false" allow-authentication="false" schema-style="table">
<p>This shows <a href="openapi.json">openapi.json</a>, by a script from a public host.</p>
</rapi-doc>
</body>
</html>
"""
