"""Templates of subjects and required claims: what is read, what is malformed, what holds (contract 6.3)."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from secretsvc.kernel.claims import ClaimGivenTwice, requirements, subject_template

CLAIMS = {
    "sub": "job-1",
    "repo": "octo/app",
    "k8s": {"namespace": "shop", "account": {"name": "robot"}},
    "yes": True,
    "no": False,
    "number": 7,
    "groups": ["ops", True, "dev"],
    "nothing": None,
    "empty": "",
    "a.b": "dotted",
    "oidc.example.com/project": "p-1",
    "https://example.com/role/": "deployer",
    "build": 12_345,
    "minus": -7,
    "float": 7.0,
    "star": "*",
    "ref": "refs/heads/main",
    "sizes": [1, 22],
}
#: Each has one claim by its whole name and by its path.
BOTH: tuple[dict[str, Any], ...] = (
    {"a/b": "x", "a": {"b": "x"}},
    {"a/b": "x", "a": {"b": None}},
    {"a/b": None, "a": {"b": "x"}},
)


@pytest.mark.parametrize(
    ("template", "filled"),
    [
        ("{sub}", "job-1"),
        (" {sub} ", "job-1"),
        ("repo/{repo}", "repo/octo/app"),
        ("{repo}:{sub}", "octo/app:job-1"),
        ("{k8s/namespace}/{k8s/account/name}", "shop/robot"),
        ("{sub}!", "job-1!"),
        ("{a.b}", "dotted"),
        ("{oidc.example.com/project}", "p-1"),
        ("{https://example.com/role/}:{sub}", "deployer:job-1"),
    ],
)
def test_a_template_is_filled_with_claims_and_claims_of_objects(template: str, filled: str) -> None:
    assert subject_template(template).fill(CLAIMS) == filled


@pytest.mark.parametrize(
    "template",
    ["", " ", "text", "{}", "{a", "a}", "{{a}}", "{a}}", "{a}{b}", "x{a}{b}y"],
)
def test_a_template_that_is_empty_or_ambiguous_is_malformed(template: str) -> None:
    with pytest.raises(ValueError, match=r"^$"):
        subject_template(template)


ABSENT = ["absent", "yes", "number", "groups", "k8s", "nothing", "empty", "sub/x", "k8s/absent"]


@pytest.mark.parametrize("claim", [*ABSENT, "k8s/", "/k8s", "k8s//namespace", "k8s/account/"])
def test_a_claim_that_is_no_text_fills_nothing(claim: str) -> None:
    with pytest.raises(ValueError, match=r"^$"):
        subject_template(f"{{{claim}}}").fill(CLAIMS)


@pytest.mark.parametrize("char", ["\x00", "\n", "\x1f", "\x7f", "\x85"])
def test_a_claim_with_a_control_character_fills_nothing(char: str) -> None:
    with pytest.raises(ValueError, match=r"^$"):
        subject_template("{sub}").fill({"sub": f"a{char}b"})


@pytest.mark.parametrize(
    ("template", "claims"),
    [
        ("{a}:{b}", {"a": "x:y", "b": "z"}),
        ("{a}:{b}", {"a": ":", "b": "z"}),
        ("{a} in {b}", {"a": "x in y", "b": "z"}),
        ("{a}::{b}", {"a": "x:", "b": "z"}),
        ("{a}!", {"a": "x!"}),
        ("{a}!", {"a": "!"}),
    ],
)
def test_a_claim_may_not_hold_the_text_that_follows_it(template: str, claims: dict[str, str]) -> None:
    with pytest.raises(ValueError, match=r"^$"):
        subject_template(template).fill(claims)


@pytest.mark.parametrize("claims", BOTH)
def test_a_claim_by_name_and_by_path_fills_nothing_and_fulfils_nothing(claims: dict[str, Any]) -> None:
    with pytest.raises(ClaimGivenTwice):
        subject_template("{a/b}").fill(claims)
    with pytest.raises(ClaimGivenTwice):
        [one.holds(claims) for one in requirements("a/b=x")]


@pytest.mark.parametrize("claims", [{"a/b": "x", "a": {"c": 1}}, {"a": {"b": "x"}}, {"a/b": "x", "a": "b"}])
def test_a_claim_is_found_by_its_whole_name_or_by_its_path(claims: dict[str, Any]) -> None:
    assert subject_template("{a/b}").fill(claims) == "x"
    assert all(one.holds(claims) for one in requirements("a/b=x"))


#: Claims that an issuer could put together from a few names and texts, plain or nested.
_texts = st.sampled_from(["x", ":", "::", "x:", ":x", "/", "x/x"])
_tokens = st.dictionaries(
    st.sampled_from(["a", "b", "a/b", "b/a", "/", "a/"]),
    st.one_of(_texts, st.dictionaries(st.sampled_from(["a", "b", ""]), _texts, max_size=2)),
    max_size=4,
)


@given(
    _tokens, _tokens, st.sampled_from(["{a/b}:{b}", "{a}:{b/a}", "{a/b}/{b/a}", "{a/}::{a/b}:", "{a}x{b}"])
)
def test_two_tokens_that_make_one_subject_say_the_same_of_every_claim(
    one: dict[str, Any], other: dict[str, Any], template: str
) -> None:
    made, names = subject_template(template), re.findall(r"{(.*?)}", template)
    try:
        same = made.fill(one) == made.fill(other)
        said = [[subject_template(f"{{{name}}}").fill(claims) for name in names] for claims in (one, other)]
    except ValueError:
        return
    assert same == (said[0] == said[1])


def test_no_two_sets_of_claims_make_one_subject() -> None:
    texts = ["x", ":", "::", "x:", ":x", "x:x", "::x", "x::", "xx"]
    for template in ("{a}:{b}", "{a}::{b}", "{a}x:{b}", "{a}:{b}:{c}", "x{a}::{b}x"):
        met: dict[str, Any] = {}
        for claims in ({"a": a, "b": b, "c": c} for a in texts for b in texts for c in texts):
            try:
                filled = subject_template(template).fill(claims)
            except ValueError:
                continue
            named = [claims[name] for name in "abc" if f"{{{name}}}" in template]
            assert met.setdefault(filled, named) == named, template


@pytest.mark.parametrize(
    "text",
    [
        "*",
        "sub=job-1",
        "sub=job-1,repo=octo/app",
        " sub = job-1 , yes=true",
        "yes=true",
        "no=false",
        "groups=dev",
        "groups=true",
        "k8s/namespace=shop",
        "number=7",
        "minus=-7",
        "build=12*",
        "sizes=22",
        "ref=refs/heads/*",
        "ref=refs/heads/main*",
        "ref=refs/tags/*|refs/heads/*",
        "sub = job-2 | job-1 ",
        "groups=admin|dev",
        "yes=false|true",
        "oidc.example.com/project=p-1",
        "https://example.com/role/=deployer",
    ],
)
def test_required_claims_hold_for_texts_booleans_and_members(text: str) -> None:
    assert all(one.holds(CLAIMS) for one in requirements(text))


@pytest.mark.parametrize(
    "text",
    [
        "sub=job-2",
        "sub=job-1,repo=other",
        "sub=JOB-1",
        "sub=job",
        "yes=false",
        "no=true",
        "yes=True",
        "yes=1",
        "number=70",
        "number=07",
        "number=7.0",
        "float=7",
        "float=7*",
        "groups=d",
        "yes=t*",
        "no=f*|n*",
        "ref=refs/tags/*",
        "ref=REFS/*",
        "ref=heads/*",
        "nothing=N*",
        "k8s={*",
        "sub=job-2|job-3",
        "sub=job-1x*",
        "groups=false",
        "nothing=null",
        "nothing=None",
        "absent=x",
        "k8s=shop",
    ],
)
def test_required_claims_do_not_hold_for_anything_else(text: str) -> None:
    assert not all(one.holds(CLAIMS) for one in requirements(text))


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", ",", "sub", "sub=", "=x", "a=b,", "a=b,,c=d", "*,a=b", "**"),
        *("sub=*", "sub= * ", "sub=x|*", "sub=**", "sub=x**", "sub=x*y", "sub=*x", "sub=x*|*y"),
        *("sub=|", "sub=x|", "sub=|x", "sub=x||y"),
    ],
)
def test_requirements_that_say_nothing_are_malformed(text: str) -> None:
    with pytest.raises(ValueError, match=r"^$"):
        requirements(text)
