"""Where the credential comes from and how it is sent; it is kept and shown nowhere."""

from __future__ import annotations

import pytest
from hostile import Hostile, configure, secrets, told

RUN = ("run", "--", "true")


def bare(at, server):
    """The variables without a token."""
    return {name: value for name, value in at(server).items() if name != "SECRETSVC_TOKEN"}


def sent(server, header):
    """What each request says in this header; None where it lacks it."""
    found = []
    for request in server.requests:
        lines = request.partition(b"\r\n\r\n")[0].decode().split("\r\n")[1:]
        fields = dict(line.split(": ", 1) for line in lines)
        found.append(fields.get(header))
    return found


def test_without_a_credential_none_is_sent(ask, at):
    with Hostile(secrets({})) as server:
        ask(*RUN, **bare(at, server))
    assert sent(server, "Authorization") == [None]


def test_a_token_file_is_read_anew_each_time(ask, at, home):
    file = home / "token"
    with Hostile(secrets({})) as server:
        for token in ("first", "second"):
            file.write_text(token + "\n")
            ask("run", "--token-file", str(file), "--", "true", **bare(at, server))
        ask(*RUN, **bare(at, server), SECRETSVC_TOKEN_FILE=str(file))
    assert sent(server, "Authorization") == ["Bearer first", "Bearer second", "Bearer second"]


def test_the_file_of_a_flag_wins_over_the_environments_token(ask, at, home):
    (home / "token").write_text("of-the-file")
    with Hostile(secrets({})) as server:
        ask("run", "--token-file", str(home / "token"), "--", "true", **at(server))
    assert sent(server, "Authorization") == ["Bearer of-the-file"]


@pytest.mark.parametrize("token", ["a\r\nX: y", "a\x00b", "ä", " ", "a" * 70_000], ids=range(5))
def test_a_token_that_no_header_takes_is_wrong_use_and_not_shown(ask, at, home, token):
    (home / "token").write_text(token)
    with Hostile(secrets({})) as server:
        done = ask("run", "--token-file", str(home / "token"), "--", "true", **bare(at, server))
    assert (done.code, done.reason, server.requests) == (125, 2, [])
    assert "X: y" not in done.err


def test_a_token_file_that_is_not_there_starts_nothing(ask, at):
    with Hostile(secrets({})) as server:
        done = ask("run", "--token-file", "absent", "--", "true", **bare(at, server))
    assert (done.code, done.reason, done.started, server.requests) == (125, 1, None, [])


@pytest.mark.parametrize(
    ("printed", "header", "expected"),
    [
        ("token-1", "", ("Authorization", "Bearer token-1")),
        ("token-1", 'header = "cf-access-token"', ("cf-access-token", "token-1")),
        ("Proxy-Id: one\\nProxy-Secret: two", "", ("Proxy-Secret", "two")),
    ],
    ids=["token", "header", "headers"],
)
def test_a_command_prints_a_token_or_headers(ask, at, home, printed, header, expected):
    with Hostile(secrets({})) as server:
        configure(home, f'url = "{server.url}"\n[credential]\ncommand = ["printf", "{printed}"]\n{header}\n')
        assert ask(*RUN, **bare(at, server)).started
    assert sent(server, expected[0]) == [expected[1]]


@pytest.mark.parametrize(
    "command",
    [
        '["false"]',
        '["no-such-program"]',
        '["printf", ""]',
        '["printf", "a\\nb"]',
        '["printf", "Host: evil"]',
        '"x"',
    ],
    ids=["fails", "absent", "empty", "two", "host", "text"],
)
def test_a_command_that_gives_no_credential_starts_nothing(ask, at, home, command):
    with Hostile(secrets({})) as server:
        configure(home, f'url = "{server.url}"\n[credential]\ncommand = {command}\n')
        done = ask(*RUN, **bare(at, server))
    assert done.reason in (1, 2)
    assert (done.started, server.requests) == (None, [])


def test_the_environments_token_wins_over_the_users_command(ask, at, home):
    with Hostile(secrets({})) as server:
        configure(home, f'url = "{server.url}"\n[credential]\ncommand = ["touch", "ran"]\n')
        ask(*RUN, **at(server))
    assert sent(server, "Authorization") == ["Bearer the-token"]
    assert not (home / "work" / "ran").exists()


def test_github_gives_a_token_for_the_audience_configured(ask, at):
    with Hostile(told(200, {"value": "jwt"})) as github, Hostile(secrets({})) as server:
        variables = {
            **bare(at, server),
            "ACTIONS_ID_TOKEN_REQUEST_URL": f"{github.url}/token?api-version=2",
            "ACTIONS_ID_TOKEN_REQUEST_TOKEN": "of-the-job",
        }
        done = ask("run", "--github-audience", "https://a.example/b", "--", "true", **variables)
    assert done.started
    assert github.paths == ["/token?api-version=2&audience=https%3A%2F%2Fa.example%2Fb"]
    assert sent(github, "Authorization") == ["Bearer of-the-job"]
    assert sent(server, "Authorization") == ["Bearer jwt"]


@pytest.mark.parametrize(
    "answer",
    [told(500, {}), told(200, {}), told(200, []), told(302, {}, "Location: http://127.0.0.1/")],
    ids=range(4),
)
def test_a_job_that_gets_no_token_asks_the_service_nothing(ask, at, answer):
    with Hostile(answer) as github, Hostile(secrets({})) as server:
        variables = {
            **bare(at, server),
            "ACTIONS_ID_TOKEN_REQUEST_URL": f"{github.url}/token?x",
            "ACTIONS_ID_TOKEN_REQUEST_TOKEN": "of-the-job",
        }
        done = ask("run", "--github-audience", "a", "--", "true", **variables)
    assert (done.code, done.reason, done.started, server.requests) == (125, 1, None, [])


def test_outside_a_job_of_github_it_says_so(ask, at):
    with Hostile(secrets({})) as server:
        assert ask("run", "--github-audience", "a", "--", "true", **bare(at, server)).reason == 2
    assert server.requests == []
