"""Genuine assertions are accepted, from the one header where a request may carry them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jwt
import pytest
from jwks_server import KeyServer
from token_fixtures import LEEWAY, NOW, Scene
from tokens import ABSENT, TestIssuer

from secretsvc.authentication.assertions import AssertionVerifier, read_assertion
from secretsvc.authentication.jwks import KeyCache
from secretsvc.kernel.actors import Kind, Principal
from secretsvc.kernel.errors import ServerMisconfigured, Unauthenticated
from secretsvc.kernel.settings import Settings

HEADER, COOKIE = "Proxy-Access-Jwt-Assertion", "Proxy_Authorization"


def test_a_person_is_a_user_by_lower_cased_address(scene: Scene) -> None:
    assert scene.bearer(scene.issuer.sign("Ada@Example.COM")) == Principal(Kind.USER, "ada@example.com")


def test_a_service_token_is_accepted_with_an_empty_sub_and_without_nbf_or_email(scene: Scene) -> None:
    token = scene.issuer.service("Robot.Access")
    claims = jwt.decode(token, options={"verify_signature": False})
    assert claims["sub"] == ""
    assert not {"nbf", "email"} & claims.keys()
    assert scene.bearer(token) == Principal(Kind.SERVICE, "Robot.Access")


@pytest.mark.parametrize("kid", ["rsa-1", "ec-1"])
def test_both_default_algorithms_are_accepted(scene: Scene, kid: str) -> None:
    assert scene.bearer(scene.issuer.sign(kid=kid)).subject == "ada@example.com"


@pytest.mark.parametrize(
    "claims",
    [
        pytest.param({"aud": "OURS"}, id="the audience as a string"),
        pytest.param({"aud": ["other", "OURS"]}, id="the audience among others"),
        pytest.param({"iat": ABSENT, "nbf": ABSENT}, id="neither iat nor nbf"),
        pytest.param({"exp": NOW + 300.5}, id="a fractional time"),
        pytest.param({"exp": NOW + 315_360_000}, id="a life of ten years"),
        pytest.param({"identity_nonce": "x", "custom": {"a": [1, None]}}, id="unknown claims"),
    ],
)
def test_what_real_proxies_vary_is_accepted(scene: Scene, claims: dict[str, Any]) -> None:
    text = json.dumps(claims.get("aud", "")).replace("OURS", scene.issuer.audience)
    if "aud" in claims:
        claims = {**claims, "aud": json.loads(text)}
    assert scene.bearer(scene.issuer.sign(**claims)).kind is Kind.USER


@pytest.mark.parametrize("typ", [ABSENT, "JWT", "jwt"])
def test_the_type_may_be_absent_or_jwt_in_any_case(scene: Scene, typ: Any) -> None:
    assert scene.bearer(scene.issuer.sign(header={"typ": typ}))


def test_times_are_kept_for_a_later_judgement(scene: Scene) -> None:
    verified = scene.verifier.verify(scene.issuer.sign(exp=NOW + 9, nbf=NOW - 5, iat=NOW - 7), NOW)
    assert (verified.expires_at, verified.not_before) == (NOW + 9, NOW - 5)
    assert verified.holds_at(NOW + 9 + LEEWAY - 1, LEEWAY)
    assert not verified.holds_at(NOW + 9 + LEEWAY, LEEWAY)
    assert not verified.holds_at(NOW - 5 - LEEWAY - 1, LEEWAY)


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param({"issuer": ""}, id="no issuer"),
        pytest.param({"issuer": None}, id="null issuer"),
        pytest.param({"audiences": []}, id="no audience"),
        pytest.param({"audiences": [""]}, id="an empty audience"),
        pytest.param({"audiences": "a text"}, id="a bare text for a list"),
        pytest.param({"algorithms": []}, id="no algorithm"),
        pytest.param({"algorithms": ["RS256", "HS256"]}, id="a symmetric algorithm"),
        pytest.param({"algorithms": ["none"]}, id="the none algorithm"),
    ],
)
def test_a_verifier_whose_checks_would_be_void_is_refused(scene: Scene, settings: dict[str, Any]) -> None:
    good: dict[str, Any] = {"issuer": "i", "audiences": ["a"], "algorithms": ["RS256"], "leeway": 0}
    with pytest.raises(ServerMisconfigured):
        AssertionVerifier(scene.keys, **{**good, **settings})


def environ(header: str | None = None, cookie: str | None = None) -> dict[str, Any]:
    carried = {"HTTP_PROXY_ACCESS_JWT_ASSERTION": header, "HTTP_COOKIE": cookie}
    return {"REQUEST_METHOD": "GET", **{name: text for name, text in carried.items() if text is not None}}


@pytest.mark.parametrize(
    ("header", "cookie", "read"),
    [
        pytest.param("h", None, "h", id="header alone"),
        pytest.param(None, f"{COOKIE}=c", "c", id="cookie alone"),
        pytest.param("h", f"{COOKIE}=c", "h", id="both"),
        pytest.param("h", f"{COOKIE}=c; {COOKIE}=d", "h", id="header beside two cookies"),
        pytest.param(None, f"a=b; {COOKIE}=c; d", "c", id="among other cookies"),
        pytest.param(None, f"a=b;{COOKIE}=c;", "c", id="without spaces"),
        pytest.param(None, f"{COOKIE}=c; {COOKIE}=c", "c", id="the same cookie twice"),
        pytest.param(None, f"x{COOKIE}=d; {COOKIE}=c", "c", id="beside a longer name"),
        pytest.param(None, f"{COOKIE.lower()}=d; {COOKIE}=c", "c", id="beside another case"),
        pytest.param(None, f"a={COOKIE}=d; {COOKIE}=c", "c", id="beside a value like it"),
    ],
)
def test_the_header_is_the_source_and_the_cookie_the_fallback(
    header: str | None, cookie: str | None, read: str
) -> None:
    assert read_assertion(environ(header, cookie), HEADER, COOKIE) == read


@pytest.mark.parametrize(
    ("header", "cookie"),
    [
        pytest.param(None, None, id="nothing"),
        pytest.param("", None, id="an empty header"),
        pytest.param("", f"{COOKIE}=c", id="an empty header beside a cookie"),
        pytest.param(None, "", id="no cookies"),
        pytest.param(None, f"{COOKIE}=", id="an empty cookie"),
        pytest.param(None, COOKIE, id="a cookie without a value"),
        pytest.param(None, f"{COOKIE}=c; {COOKIE}=d", id="two cookies that differ"),
        pytest.param(None, f"{COOKIE}=c; a=b; {COOKIE}=", id="a cookie and an empty one"),
        pytest.param(None, f"{COOKIE.lower()}=c", id="a cookie of another case"),
        pytest.param(None, "a=b", id="another cookie"),
    ],
)
def test_without_exactly_one_source_there_is_no_assertion(header: str | None, cookie: str | None) -> None:
    with pytest.raises(Unauthenticated):
        read_assertion(environ(header, cookie), HEADER, COOKIE)


@pytest.mark.parametrize("scheme", ["Bearer ", "bearer ", "BEARER ", "bEaReR "])
def test_in_the_header_the_assertion_may_stand_behind_one_bearer(scene: Scene, scheme: str) -> None:
    token = scene.issuer.sign()
    for name in (HEADER, "Authorization", "X-Other"):
        carried = {f"HTTP_{name.upper().replace('-', '_')}": scheme + token}
        assert read_assertion(carried, name, COOKIE) == token
    assert scene.bearer(read_assertion(environ(scheme + token), HEADER, COOKIE))


@pytest.mark.parametrize(
    "scheme",
    [
        "Bearer Bearer ",
        "Bearer bearer ",
        "Bearer  ",
        " Bearer ",
        "Bearer\t",
        "Bearer",
        "Bearer: ",
        "Bearer\u00a0",
        "Basic ",
        "JWT ",
        "Token ",
    ],
)
def test_anything_else_before_the_assertion_is_refused(scene: Scene, scheme: str) -> None:
    token = scene.issuer.sign()
    assert scene.refuses(read_assertion(environ(scheme + token), HEADER, COOKIE))
    with pytest.raises(Unauthenticated):
        read_assertion(environ("Bearer ", f"{COOKIE}={token}"), HEADER, COOKIE)


def test_no_scheme_is_taken_off_a_cookie(scene: Scene) -> None:
    token = scene.issuer.sign()
    assert scene.refuses(read_assertion(environ(None, f"{COOKIE}=Bearer {token}"), HEADER, COOKIE))


def test_a_bad_header_is_not_made_good_by_a_good_cookie(scene: Scene) -> None:
    good, other = scene.issuer.sign(), scene.issuer.sign("eve@example.com")

    def token(header: str | None, cookie: str) -> str:
        return read_assertion(environ(header, f"{COOKIE}={cookie}"), HEADER, COOKIE)

    assert scene.bearer(token(good, "rubbish")).subject == "ada@example.com"
    assert scene.refuses(token("rubbish", good))
    assert scene.bearer(token(other, good)).subject == "eve@example.com"
    assert scene.refuses(token(f"{good}, {good}", good))
    assert scene.refuses(read_assertion(environ(None, f"{COOKIE}={good}, {COOKIE}={good}"), HEADER, COOKIE))


@pytest.fixture
def deployment(tmp_path: Path) -> Iterator[tuple[Scene, Settings]]:
    """Cloudflare Access, with its own names for everything; only the key source is local."""
    issuer = TestIssuer(tmp_path, "https://team.cloudflareaccess.com", "5f" * 32)
    issuer.clock = lambda: NOW
    for kid in ("key-1", "key-2", "key-3"):
        issuer.add_rsa(kid)
    extra = {"public_cert": {"kid": "key-1", "cert": "-----"}, "public_certs": []}
    first = json.dumps({**json.loads(issuer.jwks("key-1", "key-2")), **extra}).encode()
    with KeyServer(first) as server:
        names = {
            "ACCESS_HEADER": "Cf-Access-Jwt-Assertion",
            "ACCESS_COOKIE": "CF_Authorization",
            "ACCESS_JWKS_URL": server.url.replace("/certs", "/cdn-cgi/access/certs"),
            "ACCESS_ALGORITHMS": "RS256",
            "EDGE_CACHE_HEADER": "Cloudflare-CDN-Cache-Control",
        }
        settings = Settings({}, issuer.environment(**names))
        keys = KeyCache(settings.access_jwks_url, settings.access_algorithms, settings.access_jwks_cooldown)
        verifier = AssertionVerifier(
            keys,
            settings.access_issuer,
            settings.access_audience,
            settings.access_algorithms,
            settings.access_leeway,
        )
        yield Scene(issuer, server, keys, verifier), settings


def test_a_renamed_header_and_cookie_replace_the_default_ones(deployment: tuple[Scene, Settings]) -> None:
    scene, settings = deployment
    names = settings.access_header, settings.access_cookie
    token = scene.issuer.sign(kid="key-1")
    for carried in ({"HTTP_CF_ACCESS_JWT_ASSERTION": token}, {"HTTP_COOKIE": f"CF_Authorization={token}"}):
        assert scene.bearer(read_assertion(carried, *names)).subject == "ada@example.com"
    for carried in (environ(token), environ(None, f"{COOKIE}={token}")):
        with pytest.raises(Unauthenticated):
            read_assertion(carried, *names)


def test_the_proxys_person_and_service_token_are_both_accepted(deployment: tuple[Scene, Settings]) -> None:
    scene, _ = deployment
    person = scene.issuer.sign(kid="key-2", identity_nonce="6ei69kawdKzMIAPF", country="US")
    service = scene.issuer.service(f"{'0a' * 16}.access", kid="key-2")
    assert scene.bearer(person).kind is Kind.USER
    assert scene.bearer(service) == Principal(Kind.SERVICE, f"{'0a' * 16}.access")


def test_a_rotated_key_is_fetched_once_and_the_withdrawn_one_refused(
    deployment: tuple[Scene, Settings],
) -> None:
    scene, _ = deployment
    assert scene.bearer(scene.issuer.sign(kid="key-2"))
    assert scene.server.hits == 1
    scene.server.serve(scene.issuer.jwks("key-2", "key-3"))
    assert scene.bearer(scene.issuer.sign(kid="key-3"))
    assert scene.server.hits == 2
    assert scene.bearer(scene.issuer.sign(kid="key-2"))
    assert scene.refuses(scene.issuer.sign(kid="key-1"))
    assert scene.server.hits == 2
