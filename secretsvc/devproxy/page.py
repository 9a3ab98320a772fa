"""The development proxy's one page: who one is, and a choice of others."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from html import escape

STYLE = """
:root { color-scheme: light dark; font: 1rem/1.5 system-ui, sans-serif }
body { max-width: 34rem; margin: 3rem auto; padding: 0 1rem }
form { margin: 1rem 0; display: flex; flex-wrap: wrap; gap: .5rem; align-items: end }
label { display: grid; flex: 1 1 14rem }
button, input { font: inherit; padding: .4rem .8rem; max-width: 100%; overflow-wrap: anywhere }
a { color: inherit }
[role=alert] { border-left: .3rem solid; padding-left: .7rem }
"""
_DIGEST = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
POLICY = (
    f"default-src 'none'; style-src 'sha256-{_DIGEST}'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'"
)


def render(current: str, people: Sequence[str], problem: str = "") -> bytes:
    """The page in UTF-8. `current` and `people` are identities as they are typed, `problem` a sentence."""
    buttons = "".join(
        f'<button name="identity" value="{escape(name)}">{escape(name)}</button>' for name in people
    )
    alert = f'<p role="alert">{escape(problem)}</p>' if problem else ""
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Development proxy</title>
<style>{STYLE}</style>
</head>
<body>
<main>
<h1>Development proxy</h1>
<p>You are <strong>{escape(current)}</strong>. <a href="/">Go on</a>, or become somebody else.</p>
{alert}
<form method="post">{buttons}</form>
<form method="post">
<label>E-mail address <input name="identity" required></label> <button>Be this person</button>
</form>
<form method="post">
<label>Common name <input name="service" required></label> <button>Be this service token</button>
</form>
<p>For one request: <code>curl -H "X-Dev-Identity: service:deploy-bot" ...</code></p>
</main>
</body>
</html>
""".encode()
