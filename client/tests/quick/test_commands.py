"""Each command against the real service."""

from __future__ import annotations

import json
import stat

import pytest

PEM = "-----BEGIN-----\nabc\n-----END-----\n"


@pytest.fixture
def did(ask, real):
    """Runs a command as the administrator, which must succeed; its output."""

    def run(*arguments, stdin=b"", **variables):
        done = ask(*arguments, stdin=stdin, **real(**variables))
        assert done.code == 0, done.err
        return done.out

    return run


@pytest.fixture
def values(service):
    """Reads the present values behind the client's back."""

    def read(environment="prod"):
        return service.user().get(f"/projects/shop/environments/{environment}/secrets:export").json["secrets"]

    return read


@pytest.mark.slow
def test_whoami_shows_the_identity_and_its_role(did):
    assert did("whoami") == "user root@example.com\nrole everywhere: admin\n"
    assert json.loads(did("whoami", "--json"))["identity"]["subject"] == "root@example.com"


def test_projects_and_environments_are_made_and_listed(did):
    did("projects", "--create", "mail", "--name", "Mail")
    did("environments", "--project", "mail", "--create", "test")
    assert "mail" in did("projects")
    assert did("environments", "--project", "mail").splitlines()[1].split() == ["test", "test", "0"]
    assert json.loads(did("projects", "--json"))["items"]


def test_a_value_is_set_from_stdin_and_from_a_file_and_read_back_unchanged(did, values, home):
    did("set", "API_KEY", stdin=b"line\n\n")
    (home / "key.pem").write_text(PEM)
    did("set", "TLS_KEY", "--file", str(home / "key.pem"), "--description", "of the frontend")
    assert values() == {"API_KEY": "line\n", "TLS_KEY": PEM}
    assert did("get", "TLS_KEY") == PEM
    assert "of the frontend" in did("list")
    assert json.loads(did("get", "API_KEY", "--json")) == {"key": "API_KEY", "value": "line\n"}


@pytest.mark.parametrize(
    "arguments",
    [
        ("set", "API_KEY=canary"),
        ("set", "API_KEY", "canary"),
        ("set", "API_KEY", "--value", "canary"),
        ("unset", "A=canary"),
    ],
    ids=["pair", "second", "flag", "unset"],
)
def test_a_value_as_an_argument_is_wrong_use_and_not_repeated(ask, real, values, arguments):
    done = ask(*arguments, **real())
    assert done.code == 2
    assert "canary" not in done.out + done.err
    assert values() == {}


def test_bytes_that_are_no_text_are_refused(ask, real):
    assert ask("set", "API_KEY", stdin=b"\xff", **real()).code == 6


def test_keys_are_renamed_and_removed(did, values):
    did("set", "OLD", stdin=b"x")
    assert "revision 2" in did("rename", "OLD", "NEW", "--reason", "clearer")
    assert values() == {"NEW": "x"}
    assert did("unset", "NEW", "--reason", "gone") == "removed NEW (version 2)\nrevision 3\n"
    assert values() == {}
    history = json.loads(did("history", "--json"))["items"]
    assert [one["reason"] for one in history[:2]] == ["gone", "clearer"]


def test_a_file_is_imported_and_exported(did, values, home):
    (home / "work" / ".env").write_text("A=1\nB='two\nlines'\nC=$x\n")
    assert "nothing is written" in did("import", ".env", "--dry-run")
    did("import", ".env", "--reason", "first")
    assert values() == {"A": "1", "B": "two\nlines", "C": "$x"}
    assert did("export", "--format", "shell").splitlines()[0] == "export A='1'"
    assert json.loads(did("export")) == values()
    did("export", "--format", "env", "--output", "out.env")
    out = home / "work" / "out.env"
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    did("import", "-", "--replace", stdin=b"A=2\n")
    assert values() == {"A": "2"}
    did("import", "out.env", "--replace")
    assert values() == {"A": "1", "B": "two\nlines", "C": "$x"}


def test_a_write_at_another_revision_is_a_conflict(ask, real, did, values):
    did("set", "A", stdin=b"1")
    done = ask("set", "A", "--expected-rev", "0", stdin=b"2", **real())
    assert done.code == 5
    assert values() == {"A": "1"}


@pytest.mark.slow
def test_environments_are_compared_copied_and_restored(did, values):
    did("set", "A", stdin=b"1")
    did("set", "A", stdin=b"2", SECRETSVC_ENVIRONMENT="dev")
    did("set", "B", stdin=b"3", SECRETSVC_ENVIRONMENT="dev")
    assert [line.split() for line in did("diff", "dev").splitlines()[1:]] == [
        ["A", "differs", "1", "1"],
        ["B", "there", "1"],
    ]
    assert "nothing is written" in did("copy", "dev", "--dry-run")
    did("copy", "shop/dev", "B", "--reason", "release")
    assert values() == {"A": "1", "B": "3"}
    did("restore", "1", "--reason", "back")
    assert values() == {"A": "1"}
    did("set", "A", stdin=b"9")
    did("restore", "1", "--key", "A")
    assert values() == {"A": "1"}
    assert did("history", "--deleted").splitlines()[1].startswith("B")
    assert len(did("history", "A").splitlines()) == 4
    assert len(did("history", "--limit", "2").splitlines()) == 3


def test_names_are_searched(did):
    assert did("search", "prod").splitlines()[1].split()[:3] == ["environment", "shop", "prod"]


def test_the_log_says_who_read_and_why(did):
    did("set", "A", stdin=b"1")
    did("get", "A", "--reason", "copy")
    did("run", "--", "true")
    found = json.loads(did("audit", "--since", "1h", "--json"))["items"]
    assert [(one["action"], one["reason"]) for one in found[:2]] == [
        ("secret.export", "run"),
        ("secret.reveal", "copy"),
    ]
    assert "secret.reveal" in did("audit", "--key", "A")
    assert len(did("audit", "--everywhere", "--limit", "1").splitlines()) == 2


@pytest.mark.slow
def test_access_says_why_somebody_can_and_why_somebody_cannot(did, ask, real, service):
    service.grant("ann@example.com", "writer", "shop/dev")
    ask("whoami", **real("bob@example.com"))
    assert "ann@example.com cannot read shop/prod" in did("access", "ann@example.com")
    assert "is writer of shop/dev, granted directly (shop/dev)" in did(
        "access", "ann@example.com", "--environment", "dev"
    )
    assert "cannot read" in did("access", "bob@example.com")
    assert "listed in BOOTSTRAP_ADMINS" in did("access") or "granted directly" in did("access")
    unknown = ask("access", "eve@example.com", **real())
    assert unknown.code == 4
    assert "was never here" in unknown.err


def test_a_reader_is_told_what_he_may_not(ask, real, service):
    service.grant("ann@example.com", "reader", "shop/prod")
    assert ask("list", **real("ann@example.com")).code == 0
    assert ask("set", "A", stdin=b"x", **real("ann@example.com")).code == 4
    assert ask("list", "--environment", "dev", **real("ann@example.com")).code == 4


def test_a_protected_environment_wants_a_reason(ask, real, service):
    service.user().patch("/projects/shop/environments/prod", {"protected": True})
    refused = ask("set", "A", stdin=b"x", **real())
    assert refused.code == 6
    assert "reason" in refused.err
    assert ask("set", "A", "--reason", "why", stdin=b"x", **real()).code == 0


def test_login_finds_that_no_proxy_stands_in_front_and_says_so(ask, real, home):
    url = real()["SECRETSVC_URL"]
    done = ask("login", url)
    assert done.code == 0
    assert "NO ACCESS PROXY" in done.err
    kept = home / ".config" / "secretsvc" / "profiles.json"
    assert json.loads(kept.read_text()) == {"default": url, "profiles": {url: {"url": url, "credential": {}}}}
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert ask("whoami", SECRETSVC_TOKEN=real()["SECRETSVC_TOKEN"]).code == 0


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_is_told_every_command_and_flag(ask, shell):
    out = ask("completion", shell).out
    assert "environments" in out
    assert "expected-rev" in out
