"""Which of several settings wins, and what a folder may not say (contract 9.1)."""

from __future__ import annotations

import pytest
from hostile import Hostile, configure, secrets, told

ENVIRONMENT = "/api/v1/projects/{}/environments/{}/secrets:export?reason=run&format=json"


def test_flags_win_over_the_environment_over_the_folder_over_the_user(ask, home):
    with Hostile(secrets({})) as server:
        configure(home, f'url = "{server.url}"\nproject = "user"\nenvironment = "user"\n')
        run = ("run", "--", "true")
        ask(*run)
        (home / "work" / ".secretsvc.toml").write_text('project = "folder"\nenvironment = "folder"\n')
        ask(*run)
        ask(*run, SECRETSVC_PROJECT="variable")
        ask(
            "run",
            "--environment",
            "flag",
            "--",
            "true",
            SECRETSVC_PROJECT="variable",
            SECRETSVC_ENVIRONMENT="no",
        )
        ask("--project=before", "run", "--", "true")
    assert server.paths == [
        ENVIRONMENT.format(*pair)
        for pair in (
            ("user", "user"),
            ("folder", "folder"),
            ("variable", "folder"),
            ("variable", "flag"),
            ("before", "folder"),
        )
    ]


def test_the_url_of_a_flag_wins_over_that_of_the_environment(ask, at):
    with Hostile(secrets({})) as wanted, Hostile(secrets({})) as other:
        ask("run", "--url", wanted.url, "--", "true", **at(other))
    assert (len(wanted.requests), len(other.requests)) == (1, 0)


@pytest.mark.parametrize(
    "text",
    [
        'url = "http://127.0.0.1:1"\nproject = "shop"',
        'url = "shop"',
        'project = "shop"\ntoken = "x"',
        'project = "shop"\n[credential]\ncommand = ["touch", "owned"]',
        "project = 1",
        'project = "../shop"',
        'project = "Shop"',
        "not toml",
        'project = "\\u001b[2J"',
    ],
    ids=range(9),
)
def test_a_folder_that_says_more_than_project_and_environment_is_wrong_use(ask, at, home, text):
    (home / "work" / ".secretsvc.toml").write_text(text)
    with Hostile(secrets({})) as server:
        done = ask("run", "--", "true", **at(server))
    assert (done.code, done.reason, done.started, server.requests) == (125, 2, None, [])
    assert not (home / "work" / "owned").exists()
    assert "\x1b" not in done.err


def test_the_folder_above_counts_up_to_the_home(ask, at, home, monkeypatch):
    (home / "work" / "deep" / "deeper").mkdir(parents=True)
    monkeypatch.chdir(home / "work" / "deep" / "deeper")
    url_only = {"SECRETSVC_TOKEN": "t"}
    with Hostile(secrets({})) as server:
        (home.parent / ".secretsvc.toml").write_text('project = "above"\nenvironment = "home"\n')
        assert ask("run", "--", "true", SECRETSVC_URL=server.url, **url_only).reason == 2
        (home / ".secretsvc.toml").write_text('project = "of"\nenvironment = "home"\n')
        ask("run", "--", "true", SECRETSVC_URL=server.url, **url_only)
        (home / "work" / ".secretsvc.toml").write_text('project = "of"\nenvironment = "work"\n')
        ask("run", "--", "true", SECRETSVC_URL=server.url, **url_only)
    assert server.paths == [ENVIRONMENT.format("of", "home"), ENVIRONMENT.format("of", "work")]


def test_a_configuration_that_others_may_write_is_wrong_use(ask, at, home):
    configure(home, 'project = "user"')
    (home / ".config" / "secretsvc" / "config.toml").chmod(0o666)
    with Hostile(secrets({})) as server:
        assert ask("run", "--", "true", **at(server)).reason == 2
    assert server.requests == []


def test_a_byte_order_mark_is_no_part_of_a_setting(ask, at, home):
    (home / "work" / ".secretsvc.toml").write_text('project = "folder"\nenvironment = "one"\n', "utf-8-sig")
    with Hostile(secrets({})) as server:
        ask("run", "--", "true", SECRETSVC_URL=server.url)
    assert server.paths == [ENVIRONMENT.format("folder", "one")]


@pytest.mark.parametrize(
    "url",
    [
        "http://secrets.example.com",
        "http://127.0.0.1.example.com",
        "http://2130706433",
        "http://0.0.0.0",
        "http://127.1",
        "ftp://127.0.0.1",
        "127.0.0.1",
        "https://user:canary@127.0.0.1",
        "https://",
        "https://127.0.0.1/?x",
        "https://127.0.0.1/#x",
        "https://127.0.0.1:99999",
        "https://127.0.0.1:0",
        "https://exa mple.com",
        "https://example.com\r\nX: y",
        "https://ex\u00e4mple.com",
        "",
    ],
    ids=range(17),
)
def test_a_url_that_no_credential_may_go_to_is_wrong_use(ask, at, url):
    done = ask("run", "--", "true", **at(url))
    assert (done.code, done.reason, done.started) == (125, 2, None)
    assert "canary" not in done.err


def test_a_path_before_the_api_is_kept(ask, at):
    with Hostile(secrets({})) as server:
        ask("run", "--", "true", **at(server.url + "/secrets/"))
    assert server.paths == ["/secrets" + ENVIRONMENT.format("shop", "prod")]


def test_use_writes_the_folders_file_once_the_environment_was_seen(ask, at, home):
    with Hostile(told(200, {"slug": "prod"})) as server:
        assert ask("use", "shop", "prod", **at(server)).code == 0
    assert (home / "work" / ".secretsvc.toml").read_text() == 'project = "shop"\nenvironment = "prod"\n'
    assert server.paths == ["/api/v1/projects/shop/environments/prod"]


@pytest.mark.parametrize("target", [None, 'project = "blog"\n'], ids=["dangling", "a file"])
def test_use_writes_through_no_symbolic_link(ask, at, home, target):
    outside, link = home / ".bash_profile", home / "work" / ".secretsvc.toml"
    if target is not None:
        outside.write_text(target)
    link.symlink_to(outside)
    with Hostile(told(200, {"slug": "prod"})) as server:
        done = ask("use", "shop", "prod", **at(server))
    assert (done.code, server.paths) == (2, [])
    assert f"{link} is a symbolic link" in done.err
    assert link.is_symlink()
    assert (outside.read_text() if outside.exists() else None) == target


def test_use_replaces_the_folders_file_whole(ask, at, home):
    path = home / "work" / ".secretsvc.toml"
    path.write_text('project = "blog"\nenvironment = "dev"\n')
    with path.open() as before, Hostile(told(200, {"slug": "prod"})) as server:
        assert ask("use", "shop", "prod", **at(server)).code == 0
        assert before.read() == 'project = "blog"\nenvironment = "dev"\n'
    assert path.read_text() == 'project = "shop"\nenvironment = "prod"\n'
    assert [*path.parent.iterdir()] == [path]
