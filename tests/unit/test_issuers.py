"""To whom a token belongs: its issuer and audience assign it to one of those that are trusted, or to none."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tokens import ABSENT, TestIssuer

from secretsvc.authentication.assertions import TokenRejected
from secretsvc.authentication.authenticator import Authenticator
from secretsvc.kernel.actors import Kind, Principal
from secretsvc.kernel.clock import now_ms
from secretsvc.kernel.errors import IdentityProviderUnavailable, ServerMisconfigured
from secretsvc.kernel.rejections import Refusals, RejectionReason
from secretsvc.kernel.settings import Settings

HEADER = "HTTP_PROXY_ACCESS_JWT_ASSERTION"
ROBOT = Principal(Kind.SERVICE, "ci:job-1")


@pytest.fixture
def issuers(tmp_path: Path) -> Callable[..., TestIssuer]:
    """Makes issuers with the same keys under the same names, each with a key source of its own."""

    def make(name: str, audience: str = "secrets") -> TestIssuer:
        folder = tmp_path / f"{name}-{audience}"
        folder.mkdir()
        return TestIssuer(folder, f"https://{name}.example.com", audience)

    return make


@pytest.fixture
def proxy(issuers: Callable[..., TestIssuer]) -> TestIssuer:
    return issuers("access", "pages")


@pytest.fixture
def ci(issuers: Callable[..., TestIssuer]) -> TestIssuer:
    return issuers("ci")


class TokenReader:
    """An authenticator under settings, and what comes of a token there."""

    def __init__(self, proxy: TestIssuer, *groups: dict[str, str], names: str) -> None:
        environ = proxy.environment(WORKLOAD_ISSUERS=names)
        for group in groups:
            environ |= group
        self.refusals = Refusals(window=0)
        self.authenticator = Authenticator(Settings({}, environ), self.refusals)

    def bearer(self, token: str) -> Any:
        return self.authenticator.authenticate({HEADER: token}, now_ms(), "id")

    def refusal(self, token: str) -> RejectionReason:
        with pytest.raises(TokenRejected) as caught:
            self.bearer(token)
        assert (caught.value.message, caught.value.hint) == (TokenRejected.default_message, None)
        assert self.refusals.totals()[caught.value.reason]
        return caught.value.reason

    def is_misconfigured(self, token: str) -> bool:
        with pytest.raises(ServerMisconfigured):
            self.bearer(token)
        return True


@pytest.fixture
def reader(proxy: TestIssuer, ci: TestIssuer) -> Callable[..., TokenReader]:
    """A reader of tokens of the proxy and `ci`, whose settings may be others than usual."""
    return lambda **settings: TokenReader(proxy, ci.workload_environment("ci", **settings), names="ci")


def test_a_workload_is_a_service_by_its_issuers_name_and_its_sub(
    reader: Callable[..., TokenReader], ci: TestIssuer
) -> None:
    assert reader().bearer(ci.workload()) == ROBOT


def test_people_and_service_tokens_of_the_proxy_are_what_they_were(
    reader: Callable[..., TokenReader], proxy: TestIssuer
) -> None:
    assert reader().bearer(proxy.sign()) == Principal(Kind.USER, "ada@example.com")
    assert reader().bearer(proxy.service()) == Principal(Kind.SERVICE, "robot.access")


def test_a_workload_is_no_person_whatever_it_claims(
    reader: Callable[..., TokenReader], ci: TestIssuer
) -> None:
    assert reader().bearer(ci.workload(email="root@example.com")) == ROBOT
    assert reader().bearer(ci.workload(common_name="robot.access")) == ROBOT


def test_a_workload_of_the_proxy_is_refused_and_so_is_a_person_of_another_issuer(
    reader: Callable[..., TokenReader], proxy: TestIssuer, ci: TestIssuer
) -> None:
    assert reader().refusal(proxy.workload()) is RejectionReason.CLASSIFICATION
    assert reader(SUBJECT="{job}").refusal(ci.sign()) is RejectionReason.TEMPLATE


def test_a_token_that_fits_none_is_refused(reader: Callable[..., TokenReader], ci: TestIssuer) -> None:
    assert reader().refusal(ci.workload(iss="https://other.example.com")) is RejectionReason.ISSUER
    assert reader().refusal(ci.workload(iss="https://ci.example.com/")) is RejectionReason.ISSUER
    for iss in (ABSENT, None, ["https://ci.example.com"], 7):
        assert reader().refusal(ci.workload(iss=iss)) is RejectionReason.ISSUER
    for aud in ("pages", "Secrets", ["other"], [], ABSENT, None, 7, {"secrets": 1}):
        assert reader().refusal(ci.workload(aud=aud)) is RejectionReason.AUDIENCE


def test_a_token_that_fits_two_is_refused(proxy: TestIssuer, issuers: Callable[..., TestIssuer]) -> None:
    staging, production = issuers("ci", "staging"), issuers("ci", "production")
    groups = (staging.workload_environment("staging"), production.workload_environment("production"))
    reader = TokenReader(proxy, *groups, names="staging,production")
    assert reader.bearer(staging.workload()).subject == "staging:job-1"
    assert reader.bearer(production.workload()).subject == "production:job-1"
    assert reader.refusal(staging.workload(aud=["staging", "production"])) is RejectionReason.TWO_ISSUERS


def test_a_token_that_fits_the_proxy_and_a_workload_issuer_is_refused(
    issuers: Callable[..., TestIssuer],
) -> None:
    proxy, ci = issuers("one", "pages"), issuers("one", "secrets")
    reader = TokenReader(proxy, ci.workload_environment("ci"), names="ci")
    assert reader.refusal(proxy.sign(aud=["pages", "secrets"])) is RejectionReason.TWO_ISSUERS
    assert reader.bearer(proxy.sign()).kind is Kind.USER
    assert reader.bearer(ci.workload()) == ROBOT


def test_one_of_several_audiences_is_enough(reader: Callable[..., TokenReader], ci: TestIssuer) -> None:
    made = reader(AUDIENCE="secrets, more")
    for aud in ("secrets", "more", ["other", "more"], ["secrets", "more"]):
        assert made.bearer(ci.workload(aud=aud)) == ROBOT


def test_a_name_of_the_proxy_that_begins_like_a_workloads_subject_is_refused(
    reader: Callable[..., TokenReader], proxy: TestIssuer
) -> None:
    assert reader().refusal(proxy.service("ci:job-1")) is RejectionReason.RESERVED
    assert reader().refusal(proxy.service("ci:")) is RejectionReason.RESERVED
    for free in ("ci", "cii:job-1", "CI:job-1", "x-ci:job-1"):
        assert reader().bearer(proxy.service(free)).subject == free


def test_required_claims_must_all_hold(reader: Callable[..., TokenReader], ci: TestIssuer) -> None:
    made = reader(REQUIRE="owner=octo,protected=true")
    assert made.bearer(ci.workload(owner="octo", protected=True)) == ROBOT
    for claims in ({"owner": "octo"}, {"owner": "octo", "protected": False}, {"protected": True}, {}):
        assert made.refusal(ci.workload(**claims)) is RejectionReason.REQUIRED_CLAIM


@pytest.mark.parametrize("verified", [False, "false", "TRUE", "True", "", 1, None, [True], "yes"])
@pytest.mark.parametrize("subject", ["{email}", "{sub}"])
def test_an_address_that_is_not_verified_is_refused_also_of_a_workload(
    reader: Callable[..., TokenReader], ci: TestIssuer, verified: Any, subject: str
) -> None:
    made = reader(SUBJECT=subject)
    assert (
        made.refusal(ci.workload(email="a@example.com", email_verified=verified))
        is RejectionReason.EMAIL_VERIFIED
    )


@pytest.mark.parametrize("verified", [True, "true", ABSENT])
def test_a_workload_with_a_verified_address_may_be_named_by_it(
    reader: Callable[..., TokenReader], ci: TestIssuer, verified: Any
) -> None:
    token = ci.workload(email="a@example.com", email_verified=verified)
    assert reader(SUBJECT="{email}").bearer(token).subject == "ci:a@example.com"
    assert reader().bearer(ci.workload(email_verified=False)) == ROBOT


def test_a_claim_by_name_and_by_path_is_refused(reader: Callable[..., TokenReader], ci: TestIssuer) -> None:
    for made in (reader(SUBJECT="{a/b}"), reader(REQUIRE="a/b=x")):
        for claims in ({"a/b": "x"}, {"a": {"b": "x"}}):
            made.bearer(ci.workload(**claims))
        assert made.refusal(ci.workload(**{"a/b": "x"}, a={"b": "x"})) is RejectionReason.CLAIM_TWICE


def test_a_template_decides_the_subject(reader: Callable[..., TokenReader], ci: TestIssuer) -> None:
    made = reader(SUBJECT="{repo}:{k8s/namespace}")
    token = ci.workload(repo="octo/app", k8s={"namespace": "shop"})
    assert made.bearer(token).subject == "ci:octo/app:shop"
    for claims in ({"repo": "octo/app"}, {"repo": "a:b", "k8s": {"namespace": "shop"}}):
        assert made.refusal(ci.workload(**claims)) is RejectionReason.TEMPLATE


@pytest.mark.parametrize("sub", ["x" * 318, "", None, 7, ["job-1"], "a\nb", "a\u200bb", "job ", "\uff4aob"])
def test_a_subject_that_could_pass_for_another_is_refused(
    reader: Callable[..., TokenReader], ci: TestIssuer, sub: Any
) -> None:
    reason = reader().refusal(ci.workload(sub))
    assert reason in (RejectionReason.TEMPLATE, RejectionReason.CLASSIFICATION)


def test_a_subject_has_at_most_320_characters(reader: Callable[..., TokenReader], ci: TestIssuer) -> None:
    assert len(reader().bearer(ci.workload("x" * 317)).subject) == 320


@pytest.mark.parametrize("typ", ["at+jwt", "AT+JWT", "JWT", ABSENT])
def test_an_access_tokens_type_is_taken_of_workload_issuers_alone(
    reader: Callable[..., TokenReader], proxy: TestIssuer, ci: TestIssuer, typ: Any
) -> None:
    assert reader().bearer(ci.workload(header={"typ": typ})) == ROBOT
    if isinstance(typ, str) and typ.lower() == "at+jwt":
        assert reader().refusal(proxy.sign(header={"typ": typ})) is RejectionReason.HEADER


@pytest.mark.parametrize("typ", ["JOSE", "application/at+jwt", "logout+jwt", "dpop+jwt", "", None, 1])
def test_another_type_is_refused(reader: Callable[..., TokenReader], ci: TestIssuer, typ: Any) -> None:
    assert reader().refusal(ci.workload(header={"typ": typ})) is RejectionReason.HEADER


def test_a_token_that_is_no_jwt_is_malformed_before_it_is_assigned(
    reader: Callable[..., TokenReader],
) -> None:
    for token in ("x", "a.b", "a.b.c", "e30.e30.e30.e30", "A" * 20_000, "e30.bnVsbA.e30"):
        assert reader().refusal(token) is RejectionReason.MALFORMED


BAD = [
    {"ISSUER": " "},
    {"ISSUER": ABSENT},
    {"AUDIENCE": ""},
    {"AUDIENCE": ABSENT},
    {"JWKS_URL": ABSENT},
    {"JWKS_URL": "http://ci.example.com/keys"},
    {"ALGORITHMS": "HS256"},
    {"ALGORITHMS": ""},
    {"SUBJECT": ""},
    {"SUBJECT": "{a}{b}"},
    {"REQUIRE": ""},
    {"REQUIRE": ABSENT},
    {"CA_FILE": ""},
    {"TOKEN_FILE": ""},
]


@pytest.mark.parametrize("settings", BAD, ids=lambda bad: str(bad).replace(str(ABSENT), "absent"))
def test_what_is_misconfigured_is_so_for_its_own_tokens_alone(
    proxy: TestIssuer,
    ci: TestIssuer,
    issuers: Callable[..., TestIssuer],
    caplog: pytest.LogCaptureFixture,
    settings: dict[str, Any],
) -> None:
    other = issuers("other")
    groups = (ci.workload_environment("ci", **settings), other.workload_environment("other"))
    reader = TokenReader(proxy, *groups, names="ci,other")
    assert reader.is_misconfigured(ci.workload())
    assert f"WORKLOAD_CI_{next(iter(settings))}" in caplog.text
    assert reader.bearer(proxy.sign()).kind is Kind.USER
    assert reader.bearer(other.workload()).subject == "other:job-1"
    if not {"ISSUER", "AUDIENCE"} & settings.keys():
        assert reader.refusal(ci.workload(iss="https://stranger.example.com")) is RejectionReason.ISSUER


def test_two_entries_with_one_pair_are_misconfigured_for_their_tokens_alone(
    proxy: TestIssuer, ci: TestIssuer, caplog: pytest.LogCaptureFixture
) -> None:
    groups = (
        ci.workload_environment("one", AUDIENCE="secrets,more"),
        ci.workload_environment("two", AUDIENCE="secrets"),
        ci.workload_environment("three", AUDIENCE="third"),
    )
    reader = TokenReader(proxy, *groups, names="one,two,three")
    assert reader.is_misconfigured(ci.workload())
    assert reader.is_misconfigured(ci.workload(aud="more"))
    assert "WORKLOAD_ONE_AUDIENCE" in caplog.text
    assert "WORKLOAD_TWO_AUDIENCE" in caplog.text
    assert "THREE" not in caplog.text
    assert reader.bearer(ci.workload(aud="third")).subject == "three:job-1"
    assert reader.bearer(proxy.sign()).kind is Kind.USER


def test_an_entry_with_the_proxys_pair_is_misconfigured_and_locks_nobody_out(
    proxy: TestIssuer, caplog: pytest.LogCaptureFixture
) -> None:
    reader = TokenReader(proxy, proxy.workload_environment("ci", AUDIENCE="pages,more"), names="ci")
    assert reader.bearer(proxy.sign()).kind is Kind.USER
    assert reader.bearer(proxy.service()).subject == "robot.access"
    assert (
        reader.refusal(proxy.sign(email="root@example.com", email_verified=False))
        is RejectionReason.EMAIL_VERIFIED
    )
    assert reader.is_misconfigured(proxy.workload())
    assert reader.is_misconfigured(proxy.workload(aud="more"))
    assert "WORKLOAD_CI_ISSUER" in caplog.text


def test_a_name_given_twice_makes_one_variable_of_two_and_is_misconfigured(
    proxy: TestIssuer, ci: TestIssuer, caplog: pytest.LogCaptureFixture
) -> None:
    reader = TokenReader(proxy, ci.workload_environment("ci"), names="ci,ci")
    assert reader.is_misconfigured(ci.workload())
    assert reader.bearer(proxy.sign()).kind is Kind.USER
    assert "setting WORKLOAD_ISSUERS names ci twice" in caplog.text


def test_in_the_ini_and_in_variables_the_entry_has_its_name_in_place(
    proxy: TestIssuer, ci: TestIssuer
) -> None:
    group = ci.workload_environment("ci-main", ISSUER="https://wrong.example.com")
    ini = {
        **{f"secretsvc.{name.lower()}": value for name, value in proxy.environment().items()},
        "secretsvc.workload_issuers": "ci-main",
        **{
            name.lower().replace("workload_ci_main_", "secretsvc.workload.ci-main."): value
            for name, value in group.items()
        },
    }
    assert ini["secretsvc.workload.ci-main.issuer"] == "https://wrong.example.com"
    settings = Settings(ini, {"WORKLOAD_CI_MAIN_ISSUER": ci.issuer})
    authenticator = Authenticator(settings, Refusals())
    found = authenticator.authenticate({HEADER: ci.workload()}, now_ms(), "id")
    assert found == Principal(Kind.SERVICE, "ci-main:job-1")


def test_a_file_of_the_fetch_that_cannot_be_read_is_a_misconfiguration_of_that_issuer(
    proxy: TestIssuer, ci: TestIssuer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for setting in ("CA_FILE", "TOKEN_FILE"):
        files = {"JWKS_URL": "https://127.0.0.1:1/keys", setting: str(tmp_path / "absent")}
        reader = TokenReader(proxy, ci.workload_environment("ci", **files), names="ci")
        assert reader.is_misconfigured(ci.workload())
        assert reader.bearer(proxy.sign()).kind is Kind.USER
        assert f"the workload issuer ci's keys could not be fetched: UnreadableFile {setting}" in caplog.text


def test_an_issuer_that_cannot_be_asked_is_an_outage_for_its_tokens_alone(
    proxy: TestIssuer, ci: TestIssuer
) -> None:
    reader = TokenReader(proxy, ci.workload_environment("ci", JWKS_URL="http://127.0.0.1:1/keys"), names="ci")
    with pytest.raises(IdentityProviderUnavailable):
        reader.bearer(ci.workload())
    assert reader.bearer(proxy.sign()).kind is Kind.USER


def test_without_the_proxys_settings_nobody_is_let_in(ci: TestIssuer, proxy: TestIssuer) -> None:
    reader = TokenReader(proxy, {"ACCESS_ISSUER": ""}, ci.workload_environment("ci"), names="ci")
    assert reader.is_misconfigured(ci.workload())


def test_refusals_name_the_settings_of_the_issuer_that_refused(
    reader: Callable[..., TokenReader], ci: TestIssuer, proxy: TestIssuer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    made = reader(REQUIRE="owner=octo")
    for token, named in (
        (ci.workload(), "required claim; look at WORKLOAD_CI_REQUIRE;"),
        (ci.workload(None, owner="octo"), "classification; look at ACCESS_ISSUER, WORKLOAD_ISSUERS;"),
        (ci.workload("", owner="octo"), "subject template; look at WORKLOAD_CI_SUBJECT;"),
        (
            ci.workload(email="a@example.com", email_verified=False),
            "email_verified; look at WORKLOAD_CI_ISSUER;",
        ),
        (ci.workload(aud="other"), "audience; look at WORKLOAD_CI_AUDIENCE;"),
        (ci.workload(iss="other"), "issuer; look at ACCESS_ISSUER, WORKLOAD_ISSUERS;"),
        (ci.workload(header={"kid": "other"}), "unknown kid; look at WORKLOAD_CI_JWKS_URL;"),
        (ci.workload(header={"alg": "PS256"}), "algorithm; look at WORKLOAD_CI_ALGORITHMS;"),
        (proxy.sign(aud="other"), "audience; look at ACCESS_AUDIENCE;"),
        (proxy.service("ci:x"), "reserved common_name; look at WORKLOAD_ISSUERS;"),
    ):
        caplog.clear()
        made.refusal(token)
        assert caplog.messages[0].startswith(f"assertion refused: {named} request id;")
