"""`secretsvc-server explain-token`: whose a token would be, or why not, without network and database."""

from __future__ import annotations

import shutil

import pytest
from click.testing import CliRunner
from tokens import ABSENT, TestIssuer

from secretsvc.authentication.service_tokens import new_token
from secretsvc.commands import main

URL = "https://keys.invalid/certs"
TEAM = {"team": {"id": 7}}


@pytest.fixture
def ci(tmp_path):
    folder = tmp_path / "ci"
    folder.mkdir()
    return TestIssuer(folder, "https://ci.example.com", "secrets")


@pytest.fixture
def explain(tmp_path, here, issuer, ci, monkeypatch):
    """What the command says of a token, and its exit code; the database would be nowhere."""
    shutil.copy(here / "production.ini", tmp_path)
    monkeypatch.chdir(tmp_path)

    def run(token: str, **settings: str):
        environ = {
            **issuer.environment(WORKLOAD_ISSUERS="ci", SERVICE_TOKENS="on"),
            **ci.workload_environment("ci", REQUIRE="owner=octo|acme*,team/id=7"),
            "DATABASE_URL": "postgresql://database.invalid/x",
            **settings,
        }
        found = CliRunner(env=environ).invoke(main, ["explain-token", "production.ini"], input=token)
        for part in [token, *token.split(".")]:
            assert len(part.strip()) < 8 or part.strip() not in found.output
        return found.exit_code, found.output

    return run


def test_a_person_and_a_machine_are_named_with_the_settings_that_let_them_in(explain, issuer, ci):
    person = "It would be the user ada@example.com, by the settings ACCESS_*.\n"
    machine = (
        "It would be the service ci:job-1, by the settings WORKLOAD_CI_*.\n"
        "It would still be refused for identity of another issuer, if it first came by another issuer:"
        " the database knows.\n"
    )
    named = (
        "It would be the service team:x, by the settings ACCESS_*.\n"
        "It would still be refused for reserved common_name, if an identity came by a workload issuer"
        " named team: the database knows.\n"
    )
    assert explain(issuer.sign()) == (0, person)
    assert explain(issuer.service("team:x")) == (0, named)
    assert explain(issuer.service("ci:x"))[0] == 1
    assert explain(f"Bearer {ci.workload(owner='octo', **TEAM)}\n") == (0, machine)


def test_where_the_keys_are_not_in_a_file_the_signature_is_not_checked_and_nobody_is_asked(explain, ci):
    forged = ci.workload(owner="octo", **TEAM).rpartition(".")[0] + ".AAAA"
    code, said = explain(forged, WORKLOAD_CI_JWKS_URL=URL)
    assert code == 0
    assert said.splitlines()[2:] == ["The signature was not checked: WORKLOAD_CI_JWKS_URL is no file."]
    code, said = explain(forged)
    assert (code, said.splitlines()[0]) == (1, "It would be refused: assertion, signature.")


@pytest.mark.parametrize("offline", [True, False])
@pytest.mark.parametrize(
    ("claims", "why", "where"),
    [
        ({"owner": "other"}, "required claim", "WORKLOAD_CI_REQUIRE"),
        ({"sub": ""}, "subject template", "WORKLOAD_CI_SUBJECT"),
        ({"email": "a@example.com", "email_verified": False}, "email_verified", "WORKLOAD_CI_ISSUER"),
        (
            {"team": {"id": "7"}, "team/id": 7},
            "claim by name and by path",
            "WORKLOAD_CI_SUBJECT, WORKLOAD_CI_REQUIRE",
        ),
        ({"aud": "other"}, "audience", "WORKLOAD_CI_AUDIENCE"),
        ({"iss": "https://other.example.com"}, "issuer", "ACCESS_ISSUER, WORKLOAD_ISSUERS"),
        ({"exp": 1_000_000_000}, "expired", "ACCESS_LEEWAY"),
        ({"nbf": 2**40}, "not yet valid", "ACCESS_LEEWAY"),
        ({"exp": ABSENT}, "missing claim", "WORKLOAD_CI_ISSUER, WORKLOAD_CI_AUDIENCE"),
        ({"exp": "soon"}, "malformed time", "WORKLOAD_CI_ISSUER"),
        ({"header": {"alg": "PS256"}}, "algorithm", "WORKLOAD_CI_ALGORITHMS"),
        ({"header": {"typ": "JOSE"}}, "header not supported", "WORKLOAD_CI_ISSUER"),
        ({"header": {"kid": ABSENT}}, "no kid", "WORKLOAD_CI_JWKS_URL"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_check_that_fails_is_named_and_the_setting_to_look_at(explain, ci, claims, why, where, offline):
    settings = {"WORKLOAD_CI_JWKS_URL": URL} if offline else {}
    code, said = explain(ci.workload(**{"owner": "octo", **TEAM, **claims}), **settings)
    assert (code, said.splitlines()[:2]) == (
        1,
        [f"It would be refused: assertion, {why}.", f"Look at {where}."],
    )
    assert 'claims="' in said


@pytest.mark.parametrize("token", ["", "\n", "x", "a.b.c", "e30.e30.e30", "\u00e9", "A" * 200_000])
def test_what_is_no_token_is_refused_as_such(explain, token):
    code, said = explain(token)
    assert code == 1
    assert said.startswith("It would be refused: assertion, ")
    assert "Traceback" not in said


def test_a_service_tokens_form_is_judged_and_its_prefix_told(explain):
    token = new_token()
    code, said = explain(token)
    assert (code, token[:8] in said, "the database knows" in said) == (0, True, True)
    refused = "It would be refused: service token, {}.\n{}.\n"
    checksum = refused.format("checksum", "The token is cut, mistyped or another product's")
    assert explain(token[:-1]) == (1, checksum)
    off = refused.format("switched off", "Look at SERVICE_TOKENS")
    assert explain(token, SERVICE_TOKENS="off") == (1, off)


def test_what_is_misconfigured_is_said(explain, ci, issuer):
    code, said = explain(ci.workload(owner="octo", **TEAM), WORKLOAD_CI_REQUIRE="")
    assert (code, "Its issuer is misconfigured: look at WORKLOAD_CI_*" in said) == (1, True)
    code, said = explain(issuer.sign(), ACCESS_ISSUER="")
    assert (code, "SERVER_MISCONFIGURED" in said, "Traceback" in said) == (1, True, False)


def test_keys_that_should_be_in_a_file_and_are_not_are_said(explain, ci):
    code, said = explain(ci.workload(owner="octo", **TEAM), WORKLOAD_CI_JWKS_URL="file:///nowhere/jwks.json")
    assert (code, "IDENTITY_PROVIDER_UNAVAILABLE" in said) == (1, True)
