"""`login` finds out what stands in front of a URL, without a credential."""

from __future__ import annotations

import json

import pytest
from hostile import Hostile, answered, told

TEAM = "Location: https://team.cloudflareaccess.com/cdn-cgi/access/login"


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
        (told(200, {"service": "secretsvc", "status": "ok", "version": "1"}), "nothing", "NO ACCESS PROXY"),
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
        )
    kept = (home / ".config" / "secretsvc" / "config.toml").read_text()
    assert kept.splitlines()[1:] == [
        "",
        "[credential]",
        'header = "cf-access-token"',
        'command = ["cloudflared", "access", "token", "-app=x y"]',
    ]
