"""The pages of docs/identity: what they say becomes of each token is what becomes of it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tokens import TestIssuer

from secretsvc.authentication.assertions import TokenRejected
from secretsvc.authentication.authenticator import Authenticator
from secretsvc.kernel.clock import now_ms
from secretsvc.kernel.rejections import Refusals
from secretsvc.kernel.settings import Settings

PAGES = sorted((Path(__file__).parents[2] / "docs" / "identity").glob("*.md"))
SETTINGS = re.compile(r"```sh\n(.*?)```", re.S)
TOKEN = re.compile(r"```json\n(.*?)\n(.*?)```\n\n(.*?)(?:\n\n|\Z)", re.S)
BECOMES = re.compile(r"This becomes the (user|service) `([^`]+)`\.")
REFUSED = re.compile(r"This is refused: ([a-z_ ]+)\.")
#: Which pages have no token to show.
WITHOUT = {"README.md", "service-tokens.md"}


class Shape(NamedTuple):
    """A token as a page shows it, and what the page says of it."""

    page: Path
    header: dict[str, Any]
    claims: dict[str, Any]
    said: str


SHAPES = [
    Shape(page, json.loads(header), json.loads(claims), said)
    for page in PAGES
    for header, claims, said in TOKEN.findall(page.read_text("utf-8"))
]


def settings_of(page: Path, directory: Path, signer: TestIssuer) -> Settings:
    """Those that the page shows, with the keys of the token's signer; people come by another proxy."""
    (block,) = SETTINGS.findall(page.read_text("utf-8"))
    shown = dict(line.split("=", 1) for line in block.splitlines())
    proxy = directory / "proxy"
    proxy.mkdir()
    keys = {name: signer.jwks_url for name in shown if name.endswith("_JWKS_URL")}
    return Settings({}, {**TestIssuer(proxy).environment(), **shown, **keys})


def made(shape: Shape, signer: TestIssuer) -> str:
    now = now_ms() // 1000
    times = {"iat": now, "nbf": now, "exp": now + 600}
    claims = {name: times.get(name, value) for name, value in shape.claims.items()}
    kid = "ec-1" if shape.header["alg"] == "ES256" else "rsa-1"
    return signer.token({**shape.header, "kid": kid}, claims, kid)


def test_each_page_of_a_way_in_shows_its_settings_and_a_token():
    shown = {shape.page.name for shape in SHAPES}
    assert shown == {page.name for page in PAGES} - WITHOUT
    assert len(PAGES) == 14
    for page in PAGES:
        assert page.name == "README.md" or len(SETTINGS.findall(page.read_text("utf-8"))) == 1
        assert (
            page.name in PAGES[0].parent.joinpath("README.md").read_text("utf-8") or page.name == "README.md"
        )


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: f"{shape.page.stem} {shape.said[:40]}")
def test_what_a_page_says_of_a_token_is_so(shape: Shape, tmp_path: Path) -> None:
    signer = TestIssuer(tmp_path)
    settings = settings_of(shape.page, tmp_path, signer)
    header = f"HTTP_{settings.access_header.upper().replace('-', '_')}"
    authenticator = Authenticator(settings, Refusals())
    token = made(shape, signer)
    becomes, refused = BECOMES.search(shape.said), REFUSED.search(shape.said)
    assert bool(becomes) != bool(refused)
    for carried in ({header: token}, {header: f"Bearer {token}"}, {"HTTP_AUTHORIZATION": f"Bearer {token}"}):
        if becomes:
            found = authenticator.authenticate(carried, now_ms(), "id")
            assert (found.kind, found.subject) == becomes.groups()
        elif refused:
            with pytest.raises(TokenRejected) as caught:
                authenticator.authenticate(carried, now_ms(), "id")
            assert caught.value.reason.value == ("assertion", refused[1])


def test_the_settings_of_service_tokens_are_read() -> None:
    (block,) = SETTINGS.findall((PAGES[0].parent / "service-tokens.md").read_text("utf-8"))
    assert Settings({}, dict([block.strip().split("=")])).service_tokens
