"""A kept credential goes to the origin that it was stored for, and to no other (contract 16.7)."""

from __future__ import annotations

import json
import os
import stat

import pytest
from hostile import Hostile, configure, refused, secrets, told

from secretsvc_client.errors import WrongUse
from secretsvc_client.origins import origin_of, server_of
from secretsvc_client.settings import kept_credential

WHO = told(200, {"identity": {"kind": "user", "subject": "ann@example.com"}, "global_role": None})
HEALTH = told(200, {"service": "secretsvc", "status": "ok", "version": "1"})


def service(request):
    """A service without an access proxy that knows every caller."""
    return HEALTH if b"/health" in request else WHO


def tokens(server):
    """The tokens that the server received, without repetitions."""
    lines = [line for request in server.requests for line in request.split(b"\r\n")]
    return {
        line.partition(b"Bearer ")[2].decode() for line in lines if line.lower().startswith(b"authorization")
    }


@pytest.fixture
def token(home):
    """Writes a file with this token; its path."""

    def write(text):
        (home / text).write_text(text)
        return str(home / text)

    return write


def test_a_login_to_a_second_service_sends_it_nothing_of_the_first(ask, token):
    with Hostile(service) as first, Hostile(service) as second:
        assert ask("login", first.url, "--token-file", token("of-first")).code == 0
        assert ask("login", second.url).code == 0
        assert ask("whoami").code == 0
        assert ask("whoami", "--url", first.url).code == 0
    assert (tokens(first), tokens(second)) == ({"of-first"}, set())


@pytest.mark.parametrize("by", ["flag", "variable"])
def test_the_url_of_a_flag_or_variable_chooses_the_profile_of_its_origin(ask, token, by):
    with Hostile(service) as first, Hostile(service) as second, Hostile(service) as third:
        ask("login", first.url, "--token-file", token("of-first"))
        ask("login", second.url + "/prefix", "--token-file", token("of-second"), "--no-check")
        for server in (first, second, third):
            flags = ("--url", server.url) if by == "flag" else ()
            ask("whoami", *flags, **({} if flags else {"SECRETSVC_URL": server.url}))
        # The last login is the default, with its path.
        ask("whoami")
    assert (tokens(first), tokens(second), tokens(third)) == ({"of-first"}, {"of-second"}, set())
    assert second.paths[-1] == "/prefix/api/v1/whoami"


def test_a_credential_of_an_earlier_client_belongs_to_the_url_beside_it(ask, home, token):
    with Hostile(service) as first, Hostile(service) as second:
        configure(home, f'url = "{first.url}"\n[credential]\ntoken_file = "{token("of-first")}"\n')
        ask("whoami")
        ask("whoami", SECRETSVC_URL=second.url)
        ask("login", second.url)
        ask("whoami")
        ask("whoami", SECRETSVC_URL=first.url)
    assert (tokens(first), tokens(second)) == ({"of-first"}, set())
    assert len(first.requests) == 2


def test_a_credential_without_a_url_beside_it_goes_nowhere(ask, home, token):
    configure(home, f'[credential]\ntoken_file = "{token("of-nowhere")}"\n')
    with Hostile(service) as server:
        ask("whoami", SECRETSVC_URL=server.url)
    assert tokens(server) == set()


def test_a_service_without_a_profile_is_named_with_what_to_do(ask, token):
    with Hostile(service) as first, Hostile(refused(401, "UNAUTHENTICATED", hint="No.")) as second:
        ask("login", first.url, "--token-file", token("of-first"))
        done = ask("whoami", "--url", second.url)
    assert done.code == 4
    assert f"none is kept for {second.url}: run `secretsvc login {second.url}`" in done.err


def test_a_second_login_keeps_the_credential_and_tries_it(ask, token):
    with Hostile(service) as server:
        ask("login", server.url, "--token-file", token("kept"))
        server.requests.clear()
        assert "ann@example.com" in ask("login", server.url).out
        ask("whoami")
    assert [b"Bearer kept" in request for request in server.requests] == [False, True, True]


def test_the_file_of_profiles_is_private_and_holds_no_token(ask, home, token):
    with Hostile(service) as server:
        ask("login", server.url, "--token-file", token("canary"))
        (home / "canary").rename(home / "gone")
    file = home / ".config" / "secretsvc" / "profiles.json"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert [*file.parent.iterdir()] == [file]
    assert json.loads(file.read_text())["profiles"][server.url]["credential"] == {
        "token_file": str(home / "canary")
    }


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"default": "https://a", "profiles": {}}',
        '{"default": "https://a", "profiles": {"https://a": {"url": "https://b"}}}',
        '{"default": "https://a", "profiles": {"https://a": {"url": "https://a", "credential": []}}}',
        '{"default": "https://a", "profiles": {"https://a": {"url": "https://a", "credential": {"x": "y"}}}}',
        '{"default": [], "profiles": {"https://a": {"url": "https://a"}}}',
    ],
    ids=range(8),
)
def test_a_malformed_file_of_profiles_is_wrong_use(ask, home, text):
    configure(home, "")
    file = home / ".config" / "secretsvc" / "profiles.json"
    file.write_text(text)
    file.chmod(0o600)
    done = ask("whoami", SECRETSVC_URL="http://127.0.0.1:1")
    assert done.code == 2
    assert str(file) in done.err


@pytest.mark.parametrize("mode", [0o620, 0o602])
def test_a_file_of_profiles_that_others_can_write_is_wrong_use(ask, home, mode):
    with Hostile(service) as server:
        ask("login", server.url)
        (home / ".config" / "secretsvc" / "profiles.json").chmod(mode)
        assert ask("whoami").code == 2
    assert server.paths == ["/api/v1/health"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_the_configuration_of_another_user_is_named_as_such(ask, home):
    """As under `sudo`, which keeps `HOME`."""
    configure(home, "")
    os.chown(home / ".config" / "secretsvc" / "config.toml", 12345, 12345)
    done = ask("whoami", SECRETSVC_URL="http://127.0.0.1:1")
    assert done.code == 2
    assert "belongs to another user (uid 12345)" in done.err
    assert "sudo -H" in done.err


SAME = [
    "https://secrets.example.com",
    "https://secrets.example.com/other",
    "https://secrets.example.com:443",
    "HTTPS://Secrets.EXAMPLE.com.",
    "https://secrets.example.com.:443/",
]
OTHER = [
    "https://secrets.example.com:8443",
    "https://example.com",
    "https://a.secrets.example.com",
    "https://secrets.example.com.evil.example",
    "https://secrets.example.com@evil.example",
    "https://secrets.example.com..",
    "https://xn--secrets-.example.com",
    "https://secrets\u3002example.com",
    "https://secret\u017f.example.com",
    "http://localhost",
    "",
    None,
]


@pytest.mark.parametrize(("url", "is_same"), [(one, True) for one in SAME] + [(one, False) for one in OTHER])
def test_an_origin_is_scheme_host_and_port(home, url, is_same):
    configure(home, 'url = "https://secrets.example.com/path"\n[credential]\ntoken_file = "/t"\n')
    assert kept_credential(os.environ, url).has_source is is_same


@pytest.mark.parametrize("url", ["https://[0:0::1]", "https://[::0001]:443"])
def test_an_address_has_one_spelling(url):
    assert server_of(url) == server_of("https://[::1]")


@pytest.mark.parametrize("url", ["https://a..b", "https://.", "https://[::1%25lo]"])
def test_a_host_that_is_none_is_wrong_use(url):
    with pytest.raises(WrongUse):
        origin_of(url)


def test_a_secret_cannot_choose_where_the_commands_own_client_goes(ask, at):
    values = {"SECRETSVC_URL": "https://evil.example", "SECRETSVC_TOKEN": "canary", "API_KEY": "k"}
    with Hostile(secrets(values)) as server:
        done = ask("run", "--", "true", **at(server))
    assert done.started[2][b"API_KEY"] == b"k"
    assert done.started[2][b"SECRETSVC_URL"].decode() == server.url
    assert b"SECRETSVC_TOKEN" not in done.started[2]
    assert "SECRETSVC_TOKEN, SECRETSVC_URL" in done.err
    assert "canary" not in done.err


def test_a_json_file_for_the_command_holds_no_setting_of_the_client(ask, at, home):
    with Hostile(secrets({"SECRETSVC_URL": "https://evil.example", "A": "b"})) as server:
        done = ask("run", "--format", str(home / "a.json"), "--", "true", **at(server))
    assert json.loads((home / "a.json").read_text()) == {"A": "b"}
    assert "SECRETSVC_URL" in done.err
