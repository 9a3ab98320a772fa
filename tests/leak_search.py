"""A search for secrets where none may be: output, answers, every byte of a database."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import psycopg
from psycopg import sql


def disguises(secret: bytes) -> Iterator[bytes]:
    """What a secret looks like as it is, in hex, in UTF-16, and in base64 wherever it begins there."""
    yield secret
    yield secret.hex().encode()
    yield secret.decode("latin-1").encode("utf-16-le")
    for shift in range(3):
        text = base64.b64encode(bytes(shift) + secret)
        # Only the characters that depend on nothing before or after it.
        inner = text[(shift * 8 + 5) // 6 : (shift + len(secret)) * 8 // 6]
        yield inner
        yield inner.replace(b"+", b"-").replace(b"/", b"_")


def traces(contents: Mapping[str, bytes], secrets: Mapping[str, bytes]) -> list[str]:
    """Where a secret is, whatever its case, with what stands around it."""
    found = []
    for where, content in contents.items():
        lowered = content.lower()
        for name, secret in secrets.items():
            assert len(secret) >= 16, "too short to be told from chance"
            for disguise in sorted({one.lower() for one in disguises(secret)}):
                at = lowered.find(disguise)
                if at >= 0:
                    found.append(f"{name} in {where}: {content[max(0, at - 60) : at + len(disguise) + 20]!r}")
    return found


def parts(token: str) -> dict[str, bytes]:
    """The parts of an assertion that nobody may keep: the whole, the claims, and the signature."""
    _header, claims, signature = token.split(".")
    return {"token": token.encode(), "claims": claims.encode(), "signature": signature.encode()}


def database_bytes(url: str) -> dict[str, bytes]:
    """All that a database holds: SQLite's files, or each table of PostgreSQL as it would be dumped."""
    if url.startswith("sqlite"):
        path = Path(url.removeprefix("sqlite:///"))
        return {file.name: file.read_bytes() for file in path.parent.glob(f"{path.name}*")}
    with psycopg.connect(url.replace("postgresql+psycopg://", "postgresql://")) as connection:
        names = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
        return {name: b"".join(_dump(connection, name)) for (name,) in names}


def _dump(connection: psycopg.Connection, table: str) -> Iterable[bytes]:
    # The binary format holds text and bytea as they are.
    statement = sql.SQL("COPY {} TO STDOUT (FORMAT binary)").format(sql.Identifier(table))
    with connection.cursor() as cursor, cursor.copy(statement) as copy:
        yield from map(bytes, copy)
