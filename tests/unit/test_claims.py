"""Templates of subjects and required claims: what is read, what is malformed, what holds (contract 6.3)."""

from __future__ import annotations

from typing import Any

import pytest

from secretsvc.kernel.claims import requirements, subject_template

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
}


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
    ],
)
def test_a_template_is_filled_with_claims_and_claims_of_objects(template: str, filled: str) -> None:
    assert subject_template(template).fill(CLAIMS) == filled


@pytest.mark.parametrize(
    "template",
    ["", " ", "text", "{}", "{a", "a}", "{{a}}", "{a}}", "{a}{b}", "{a/}", "{/a}", "{a//b}", "x{a}{b}y"],
)
def test_a_template_that_is_empty_or_ambiguous_is_malformed(template: str) -> None:
    with pytest.raises(ValueError, match=r"^$"):
        subject_template(template)


@pytest.mark.parametrize(
    "claim", ["absent", "yes", "number", "groups", "k8s", "nothing", "empty", "sub/x", "k8s/absent"]
)
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
        "number=7",
        "groups=d",
        "groups=false",
        "nothing=null",
        "nothing=None",
        "absent=x",
        "k8s=shop",
        "sub=*",
    ],
)
def test_required_claims_do_not_hold_for_anything_else(text: str) -> None:
    assert not all(one.holds(CLAIMS) for one in requirements(text))


@pytest.mark.parametrize(
    "text", ["", " ", ",", "sub", "sub=", "=x", "a=b,", "a=b,,c=d", "*,a=b", "**", "a//b=c"]
)
def test_requirements_that_say_nothing_are_malformed(text: str) -> None:
    with pytest.raises(ValueError, match=r"^$"):
        requirements(text)
