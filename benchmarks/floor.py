"""The floor: what a service on this stack cannot do without, written as fast as is honest, and nothing else.

Bare Pyramid with traversal, a security policy and one tween of headers; one assertion that was verified
before; the snapshot and the load, AES-GCM, the serialisation, the durable audit record. No transaction
manager, no schemas, no strict parser, no declared operations, no checks beyond the role.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
import time
from collections.abc import Callable
from typing import Any

import orjson
import waitress
from bench import HEADER
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from floor_stores import STORES, Store
from pyramid.config import Configurator
from pyramid.httpexceptions import HTTPNotModified
from pyramid.security import Allowed, Denied

KID = "0123456789abcdef"
ROLES = {"reader": 1, "writer": 2, "admin": 3}
KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,255}")
_VARIABLE = "HTTP_" + HEADER.upper().replace("-", "_")
_HEADERS = (
    ("X-Frame-Options", "DENY"),
    ("X-Content-Type-Options", "nosniff"),
    ("Referrer-Policy", "no-referrer"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Strict-Transport-Security", "max-age=63072000; includeSubDomains; preload"),
    ("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'"),
    ("Cache-Control", "no-store"),
)


class Node:
    """A segment of the path."""

    def __init__(self, parent: Node | None, name: str) -> None:
        self.__parent__, self.__name__ = parent, name

    def __getitem__(self, name: str) -> Node:
        return (Secrets if name == "secrets" else Node)(self, name)


class Secrets(Node):
    """The secrets of an environment."""

    def __getitem__(self, name: str) -> Node:
        if name in ("export", "batch"):
            raise KeyError(name)
        return Secret(self, name)

    @property
    def slugs(self) -> tuple[str, str]:
        environment = self.__parent__
        return environment.__parent__.__parent__.__name__, environment.__name__


class Secret(Node):
    """One of them."""

    def __getitem__(self, name: str) -> Node:
        raise KeyError(name)


class Policy:
    """Lets in whoever is known; the role is judged when the snapshot is there."""

    def permits(self, request: Any, context: Any, permission: str) -> Any:
        return Allowed("known") if request.caller is not None else Denied("unknown")


class Floor:
    """The operations over one store."""

    def __init__(self, store: Store, tokens: dict[str, str]) -> None:
        """`tokens` are the assertions that count as verified, and the subject of each."""
        self.store = store
        self.cipher = AESGCM(os.urandom(32))
        expires = time.time() + 3600
        self.verified = {
            hashlib.sha256(token.encode()).digest(): (subject, expires) for token, subject in tokens.items()
        }

    def app(self) -> Any:
        config = Configurator(root_factory=lambda request: Node(None, ""))
        config.set_security_policy(Policy())
        config.add_renderer("orjson", lambda info: render)
        config.registry.floor = self
        config.add_tween(f"{__name__}.tween_factory")
        for view, context, name, method in (
            (self.read_one, Secret, "", "GET"),
            (self.list_all, Secrets, "", "GET"),
            (self.export, Secrets, "export", "GET"),
            (self.batch, Secrets, "batch", "POST"),
        ):
            config.add_view(
                view, context=context, name=name, request_method=method, permission="p", renderer="orjson"
            )
        return config.make_wsgi_app()

    def caller(self, token: str) -> str | None:
        subject, expires = self.verified.get(hashlib.sha256(token.encode()).digest(), (None, 0.0))
        return subject if expires > time.time() else None

    def read_one(self, context: Secret, request: Any) -> Any:
        slugs = context.__parent__.slugs
        standing, row = self.store.load_one(request.caller, slugs, context.__name__)
        need(standing, "reader", slugs)
        project_id, environment_id, version, envelope = row
        bound = f"{environment_id}\0{context.__name__}\0{version}".encode()
        value = self.cipher.decrypt(envelope[:12], envelope[12:], bound).decode()
        detail = {"key": context.__name__, "version": version}
        self.store.record(
            standing, request.caller, "secret.reveal", project_id, environment_id, "reveal", detail
        )
        return {"key": context.__name__, "value": value}

    def list_all(self, context: Secrets, request: Any) -> Any:
        standing, environment, rows = self.store.load_list(request.caller, context.slugs)
        need(standing, "reader", context.slugs)
        items, environment_id, decrypt = [], str(environment[1]), self.cipher.decrypt
        for key, version, envelope, description, kid, created_at, updated_at in rows:
            decrypt(envelope[:12], envelope[12:], f"{environment_id}\0{key}\0{version}".encode())
            items.append(
                {
                    "key": key,
                    "version": version,
                    "description": description,
                    "kid": kid,
                    "created_at": created_at,
                    "updated_at": updated_at,
                    "readable": True,
                    "error": None,
                }
            )
        return {"items": items, "rev": environment[2]}

    def export(self, context: Secrets, request: Any) -> Any:
        known = request.environ.get("HTTP_IF_NONE_MATCH")
        if known is not None:
            standing, environment = self.store.load_rev(request.caller, context.slugs)
            need(standing, "reader", context.slugs)
            if known in ("*", f'"{environment[2]}"'):
                return HTTPNotModified()
        standing, environment, rows = self.store.load_values(request.caller, context.slugs)
        need(standing, "reader", context.slugs)
        environment_id, decrypt = str(environment[1]), self.cipher.decrypt
        values = {
            key: decrypt(
                envelope[:12], envelope[12:], f"{environment_id}\0{key}\0{version}".encode()
            ).decode()
            for key, version, envelope in rows
        }
        detail = {"rev": environment[2], "count": len(values)}
        self.store.record(
            standing, request.caller, "secret.export", environment[0], environment[1], "export", detail
        )
        return {"rev": environment[2], "secrets": values}

    def batch(self, context: Secrets, request: Any) -> Any:
        wanted = orjson.loads(request.body)["set"]
        for key, value in wanted.items():
            if not KEY.fullmatch(key) or not isinstance(value, str) or len(value) > 65_536:
                raise ValueError(key)
        standing, environment, known = self.store.begin_batch(request.caller, context.slugs, wanted)
        need(standing, "writer", context.slugs)
        changes, versions, now, environment_id = [], [], int(time.time() * 1000), str(environment[1])
        for key in sorted(wanted):
            secret_id, version = known[key]
            envelope = self.seal(environment_id, key, version + 1, wanted[key])
            versions.append((secret_id, version + 1, environment[2], envelope, KID, now, standing[0][1]))
            changes.append({"key": key, "kind": "changed", "version": version + 1})
        detail = {"rev": environment[2], "changes": changes}
        self.store.finish_batch(standing, request.caller, environment, versions, now, detail)
        return detail

    def seal(self, environment_id: str, key: str, version: int, value: str) -> bytes:
        nonce, bound = os.urandom(12), f"{environment_id}\0{key}\0{version}".encode()
        return nonce + self.cipher.encrypt(nonce, value.encode(), bound)


def need(standing: list[Any], role: str, slugs: tuple[str, str]) -> None:
    """Raises where no grant covers the address; a row is `(part, id, role, scope, project, environment)`."""
    project, environment = slugs
    best = max(
        ROLES[row[2]]
        for row in standing
        if row[0] == "grant" and (row[3] == "global" or (row[4] == project and row[5] in (None, environment)))
    )
    if best < ROLES[role]:
        raise PermissionError


def tween_factory(handler: Callable[..., Any], registry: Any) -> Callable[..., Any]:
    """Who asks, before; the headers, after."""
    floor: Floor = registry.floor

    def tween(request: Any) -> Any:
        request.caller = floor.caller(request.environ[_VARIABLE])
        response = handler(request)
        response.headerlist.extend(_HEADERS)
        return response

    return tween


def render(value: Any, system: dict[str, Any]) -> bytes:
    """Pyramid's renderer for orjson."""
    system["request"].response.content_type = "application/json"
    return orjson.dumps(value)


def make_floor(engine: str, url: str, tokens: dict[str, str]) -> Any:
    """A WSGI application over a database that the service migrated and filled."""
    return Floor(STORES[engine](url), tokens).app()


def main() -> None:
    """Serves the floor: `floor.py ENGINE URL PORT TOKEN SUBJECT`."""
    engine, url, port, token, subject = sys.argv[1:]
    waitress.serve(make_floor(engine, url, {token: subject}), host="127.0.0.1", port=int(port), threads=8)


if __name__ == "__main__":
    main()
