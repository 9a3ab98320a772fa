"""`login` finds out what stands in front of a URL, without a credential."""

from __future__ import annotations

import json

import pytest
from hostile import Hostile, answered, refused, told

HEALTH = told(200, {"service": "secretsvc", "status": "ok", "version": "1"})
TEAM = "Location: https://team.cloudflareaccess.com/cdn-cgi/access/login"


def kept(home):
    """Return the profiles that `login` stored; None without a file."""
    file = home / ".config" / "secretsvc" / "profiles.json"
    return json.loads(file.read_text()) if file.exists() else None


@pytest.mark.parametrize(
    ("answer", "found", "advice"),
    [
        (answered(302, b"", TEAM), "cloudflare", "cloudflared access token -app="),
        (
            answered(302, b"", "Location: https://accounts.google.com/o/oauth2"),
            "google",
            "print-identity-token",
        ),
        (answered(302, b"", "Location: https://login.example.com/"), "proxy", "--token-file"),
        (answered(401, b""), "proxy", "--token-file"),
        (answered(403, b"<html>"), "proxy", "--token-file"),
        (answered(200, b"<html>sign in"), "proxy", "--token-file"),
        (HEALTH, "nothing", "NO ACCESS PROXY"),
    ],
    ids=["cloudflare", "google", "other", "401", "403", "page", "nothing"],
)
def test_what_stands_in_front_is_found_and_said(ask, answer, found, advice):
    with Hostile(answer) as server:
        done = ask("login", server.url, SECRETSVC_TOKEN="the-token")
        as_json = ask("login", server.url, "--json", SECRETSVC_TOKEN="the-token")
    assert done.code == 0
    assert advice in done.out + done.err
    assert json.loads(as_json.out)["in_front"] == found
    assert all(b"the-token" not in request for request in server.requests)


@pytest.mark.parametrize(
    "answer", [told(200, {"service": "other"}), answered(500, b""), b""], ids=["other", "500", "cut"]
)
def test_what_is_no_service_is_not_kept(ask, home, answer):
    with Hostile(answer) as server:
        assert ask("login", server.url).code != 0
    assert not (home / ".config").exists()


def test_how_one_gets_in_is_kept_without_what_lets_one_in(ask, home):
    with Hostile(answered(302, b"", TEAM)) as server:
        ask(
            "login",
            server.url,
            "--command",
            "cloudflared access token '-app=x y'",
            "--header",
            "cf-access-token",
            "--no-check",
        )
    assert kept(home)["profiles"][server.url]["credential"] == {
        "header": "cf-access-token",
        "command": ["cloudflared", "access", "token", "-app=x y"],
    }
    assert server.requests == []


ANN = told(200, {"identity": {"kind": "user", "subject": "ann@example.com"}, "global_role": "admin"})


def answers(who):
    """A service that answers `/health` as its own, and all other requests so."""
    return lambda request: HEALTH if b"/health" in request else who


@pytest.mark.parametrize(
    ("who", "code"),
    [
        (refused(401, "UNAUTHENTICATED"), 4),
        (refused(403, "FORBIDDEN"), 4),
        (answered(401, b"<html>"), 4),
        (answered(302, b"", TEAM), 1),
        (answered(200, b"<html>sign in"), 1),
        (told(200, {"identity": {}}), 1),
        (refused(503, "UNAVAILABLE"), 3),
        (b"", 3),
    ],
    ids=["401", "403", "proxy", "redirect", "page", "shape", "503", "cut"],
)
def test_a_credential_that_the_service_does_not_accept_is_not_kept(ask, home, who, code):
    (home / "token").write_text("refused-token")
    with Hostile(answers(who)) as server:
        done = ask("login", server.url, "--token-file", str(home / "token"))
    assert (done.code, kept(home)) == (code, None)
    assert b"Authorization" not in server.requests[0]
    assert "refused-token" not in done.err


def test_login_shows_the_subject_and_role_of_the_credential(ask, home):
    (home / "token").write_text("t")
    login = ("--token-file", str(home / "token"))
    with Hostile(answers(ANN)) as server:
        done = ask("login", server.url, *login)
        as_json = json.loads(ask("login", server.url, *login, "--json").out)
    assert "user ann@example.com" in done.out
    assert "role everywhere: admin" in done.out
    assert (as_json["subject"], as_json["global_role"]) == ("ann@example.com", "admin")


def test_a_refused_login_leaves_what_was_kept(ask, home):
    (home / "token").write_text("t")
    with Hostile(answers(ANN)) as good, Hostile(answers(refused(401, "UNAUTHENTICATED"))) as bad:
        ask("login", good.url, "--token-file", str(home / "token"))
        before = kept(home)
        assert ask("login", bad.url, "--token-file", str(home / "token")).code == 4
    assert kept(home) == before


@pytest.mark.parametrize(
    "source", [("--token-file", "/absent"), ("--command", "/absent")], ids=["file", "command"]
)
def test_a_credential_that_cannot_be_had_is_not_kept(ask, home, source):
    with Hostile(answers(ANN)) as server:
        assert ask("login", server.url, *source).code == 1
        assert kept(home) is None
        assert ask("login", server.url, *source, "--no-check").code == 0
    assert kept(home)["default"] == server.url


def test_a_header_without_a_credential_is_wrong_use(ask, home):
    with Hostile(answers(ANN)) as server:
        assert ask("login", server.url, "--header", "cf-access-token").code == 2
    assert (server.requests, kept(home)) == ([], None)
