"""What the log says of failures: causes in constant words, and locations."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from sqlalchemy.exc import IntegrityError, OperationalError, TimeoutError

from secretsvc.kernel.addresses import networks
from secretsvc.kernel.errors import DecryptFailed, Internal, NotFound, UnknownKid
from secretsvc.web.error_logging import Failure, cause_of, expected_failure, location_of

REFUSED = 'connection failed: connection to server at "::1", port 1 failed: Connection refused\n\tIs the'
PREFIX = 'connection failed: connection to server at "password.example.com" (::1), port 5432 failed: '


def wrapped(text: str, kind: type[Exception] = psycopg.OperationalError) -> OperationalError:
    return OperationalError("SELECT 'hunter2'", {"value": "hunter2"}, kind(text))


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        (REFUSED, "connection refused"),
        (f'{PREFIX}FATAL:  password authentication failed for user "timeout"', "password"),
        (f"{PREFIX}fe_sendauth: no password supplied", "password"),
        (f'{PREFIX}FATAL:  database "password" does not exist', "unknown database"),
        (f'{PREFIX}FATAL:  role "hunter2" does not exist', "unknown role"),
        (f'{PREFIX}FATAL:  no pg_hba.conf entry for host "::1"', "not allowed by pg_hba.conf"),
        (f"{PREFIX}timeout expired", "timeout"),
        ("connection timeout expired", "timeout"),
        ("failed to resolve host 'hunter2': [Errno -2] Name or service not known", "unknown host"),
        (f"{PREFIX}FATAL:  sorry, too many clients already", "too many connections"),
        (f"{PREFIX}FATAL:  the database system is starting up", "starting up"),
        (f"{PREFIX}FATAL:  the database system is shutting down", "shutting down"),
        (f"{PREFIX}FATAL:  unsupported startup parameter: options", "startup parameter"),
        (f'{PREFIX}FATAL:  Peer authentication failed for user "hunter2"', "authentication"),
        (
            'connection to server on socket "/x/.s.PGSQL.1" failed: No such file or directory',
            "no such socket",
        ),
        ("consuming input failed: server closed the connection unexpectedly", "connection lost"),
        ("consuming input failed: SSL connection has been closed unexpectedly", "connection lost"),
        ("consuming input failed: SSL SYSCALL error: EOF detected", "connection lost"),
        ("the connection is closed", "connection lost"),
        (f"{PREFIX}SSL error: certificate verify failed", "TLS"),
        (f'{PREFIX}server certificate for "a" does not match host name "password"', "TLS"),
        (f'{PREFIX}could not open certificate file "/root/x": Permission denied', "TLS"),
        ('root certificate file "/no/such/file" does not exist', "TLS"),
        ('connection is bad: invalid sslmode value: "on"', "TLS"),
        (f"{PREFIX}server does not support SSL, but SSL was required", "TLS"),
    ],
)
def test_a_connection_that_fails_tells_why_in_words_of_ours(text, cause):
    assert cause_of(wrapped(text)) == f"OperationalError: {cause}"


def test_what_the_driver_says_otherwise_is_not_told():
    assert cause_of(wrapped("hunter2")) == "OperationalError"
    assert cause_of(wrapped("timeout", psycopg.DataError)) == "OperationalError"
    assert cause_of(ValueError("password hunter2")) == "ValueError"


@pytest.mark.parametrize(
    ("kind", "cause"),
    [
        (psycopg.errors.LockNotAvailable, "lock timeout (55P03)"),
        (psycopg.errors.InvalidPassword, "password (28P01)"),
        (psycopg.errors.InvalidAuthorizationSpecification, "authentication (28000)"),
        (psycopg.errors.InvalidCatalogName, "unknown database (3D000)"),
        (psycopg.errors.UniqueViolation, "constraint (23505)"),
        (psycopg.errors.DeadlockDetected, "deadlock (40P01)"),
        (psycopg.errors.SerializationFailure, "serialization failure (40001)"),
        (psycopg.errors.InsufficientPrivilege, "insufficient privilege (42501)"),
        (psycopg.errors.UndefinedTable, "unknown table (42P01)"),
        (psycopg.errors.DiskFull, "disk full (53100)"),
        (psycopg.errors.TooManyConnections, "too many connections (53300)"),
        (psycopg.errors.QueryCanceled, "statement timeout (57014)"),
        (psycopg.errors.ReadOnlySqlTransaction, "read-only (25006)"),
        (psycopg.errors.AdminShutdown, "shutting down (57P01)"),
        (psycopg.errors.CannotConnectNow, "starting up (57P03)"),
        (psycopg.errors.ProtocolViolation, "connection lost (08P01)"),
        (psycopg.errors.DivisionByZero, "22012"),
    ],
)
def test_an_error_of_the_server_is_told_by_its_state(kind, cause):
    assert cause_of(IntegrityError("INSERT", {}, kind("Key (hunter2) exists"))) == f"IntegrityError: {cause}"


@pytest.mark.parametrize(
    ("name", "statement", "cause"),
    [
        (":memory:", "SELECT hunter2", "SQLITE_ERROR"),
        ("no/such/folder", "", "SQLITE_CANTOPEN"),
        ("garbage", "SELECT * FROM hunter2", "SQLITE_NOTADB"),
        ("damaged", "SELECT * FROM hunter2", "SQLITE_CORRUPT"),
        ("file:whole?mode=ro", "CREATE TABLE hunter2 (a)", "SQLITE_READONLY"),
    ],
)
def test_an_error_of_sqlite_is_told_by_its_name(tmp_path, monkeypatch, name, statement, cause):
    monkeypatch.chdir(tmp_path)
    Path("garbage").write_bytes(bytes(range(256)))
    Path("whole").touch()
    with closing(sqlite3.connect("damaged")) as connection:
        connection.execute("CREATE TABLE hunter2 (a)")
    # Its first page is the schema's, its second the table's.
    Path("damaged").write_bytes(Path("damaged").read_bytes()[:4096] + b"x" * 4096)
    with (
        pytest.raises(sqlite3.DatabaseError) as caught,
        closing(sqlite3.connect(name, uri=True)) as connection,
    ):
        connection.execute(statement)
    assert cause_of(OperationalError("", {}, caught.value)) == f"OperationalError: {cause}"


def test_a_pool_without_a_free_connection_is_told():
    assert cause_of(TimeoutError("hunter2", code="3o7r")) == "TimeoutError: no connection in time"


def test_the_location_is_ours_even_if_the_error_is_not():
    with pytest.raises(ValueError, match="does not appear to be") as caught:
        networks("x")
    assert location_of(caught.value).startswith("secretsvc/kernel/addresses.py:")


def test_the_location_of_what_never_was_here_is_where_it_was():
    with pytest.raises(ZeroDivisionError) as caught:
        1 / 0  # noqa: B018 - for its error
    assert location_of(caught.value).startswith("test_failures.py:")
    assert location_of(Internal()) == "nowhere:0"


def test_of_an_envelope_that_cannot_be_opened_the_key_is_named_and_nothing_else():
    kid = "0123456789abcdef"
    assert expected_failure(UnknownKid(kid, ())) == Failure("UNKNOWN_KID", f"kid {kid}")
    assert expected_failure(DecryptFailed(kid)) == Failure("DECRYPT_FAILED", f"kid {kid}")
    assert (
        expected_failure(DecryptFailed("hunter2"))
        == expected_failure(DecryptFailed())
        == Failure("DECRYPT_FAILED")
    )
    assert expected_failure(NotFound("hunter2")) == Failure("NOT_FOUND")
