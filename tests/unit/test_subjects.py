"""Subjects: one spelling for each identity, and none that could be taken for another's."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from secretsvc.kernel.subjects import MAX_LENGTH, email_subject, exact_subject


def refuses(normalise: Callable[[object], str], raw: object) -> bool:
    try:
        normalise(raw)
    except ValueError:
        return True
    return False


@pytest.mark.parametrize(
    ("raw", "subject"),
    [
        pytest.param("ada@example.com", "ada@example.com", id="plain"),
        pytest.param("Ada@EXAMPLE.com", "ada@example.com", id="upper case"),
        pytest.param("é@x", "é@x", id="composed accent"),
        pytest.param("É@x", "é@x", id="composed capital accent"),
        pytest.param("\u0410da@x", "\u0430da@x", id="Cyrillic capital A stays Cyrillic"),
        pytest.param("securetoken.example/p:ada@x", "securetoken.example/p:ada@x", id="issuer prefix"),
        pytest.param("a" * (MAX_LENGTH - 2) + "@x", "a" * (MAX_LENGTH - 2) + "@x", id="longest"),
    ],
)
def test_an_email_address_has_one_normal_form(raw: str, subject: str) -> None:
    assert email_subject(raw) == subject


@pytest.mark.parametrize(
    "raw",
    [
        pytest.param("\u212aelvin@x", id="Kelvin sign"),
        pytest.param("\u0130@x", id="dotted capital I"),
        pytest.param("\u017f@x", id="long s"),
        pytest.param("a\u200bda@x", id="zero width space"),
        pytest.param("a\u00adda@x", id="soft hyphen"),
        pytest.param("\ufeffada@x", id="byte order mark"),
        pytest.param("ada@x\x00", id="NUL"),
        pytest.param("ada@x\n", id="newline"),
        pytest.param("ada lovelace@x", id="inner space"),
        pytest.param(" ada@x", id="leading space"),
        pytest.param("ada@x ", id="trailing space"),
        pytest.param("ada\u00a0@x", id="no-break space"),
        pytest.param("\uff41da@x", id="full-width letter"),
        pytest.param("ada\uff20x", id="full-width at sign"),
        pytest.param("e\u0301@x", id="decomposed accent"),
        pytest.param("\ud800@x", id="lone surrogate"),
        pytest.param("\ue000@x", id="private use"),
        pytest.param("ada@b@x", id="two at signs"),
        pytest.param("@x", id="no local part"),
        pytest.param("ada@", id="no domain"),
        pytest.param("ada", id="no at sign"),
        pytest.param("", id="empty"),
        pytest.param("a" * MAX_LENGTH + "@x", id="too long"),
        pytest.param(None, id="null"),
        pytest.param(["a@x"], id="list"),
        pytest.param(b"a@x", id="bytes"),
    ],
)
def test_what_could_pass_for_another_address_is_none(raw: object) -> None:
    assert refuses(email_subject, raw)


def test_a_homoglyph_is_a_different_subject() -> None:
    assert email_subject("\u0430da@x") != email_subject("ada@x")


def test_a_service_name_keeps_its_case_and_needs_no_at_sign() -> None:
    assert exact_subject("Robot.Access") == "Robot.Access"


@pytest.mark.parametrize("raw", ["a b", "a  b", "Deploy Bot 2", "a  \u00e9", "a " + "b" * (MAX_LENGTH - 2)])
def test_a_service_name_may_hold_spaces_between_other_characters_and_none_is_folded(raw: str) -> None:
    assert exact_subject(raw) == raw


@pytest.mark.parametrize("raw", [" ", "  ", " a", "a ", " a b", "a b ", "a\tb", "a\nb", "a b\n", "a\u00a0b"])
def test_a_service_name_has_no_white_space_at_an_end_and_none_but_spaces_within(raw: str) -> None:
    assert refuses(exact_subject, raw)


@pytest.mark.parametrize(
    "space", [*" \t\r\v\f\x1c\x85\u1680\u2003\u2007\u2028\u2029\u202f\u205f\u3000\u200b\ufeff"]
)
def test_only_the_plain_space_is_a_space_and_in_a_service_name_alone(space: str) -> None:
    assert refuses(exact_subject, f"a{space}b") == (space != " ")
    assert refuses(email_subject, f"a{space}b@x")
    assert refuses(email_subject, f"a@x{space}y")


@pytest.mark.parametrize("raw", ["", "a\x00", "a\x7f", "\u212a", "a\u200b", "a b\u200b", 7, None])
def test_a_service_name_is_refused_what_no_subject_may_hold(raw: object) -> None:
    assert refuses(exact_subject, raw)


@given(st.text(max_size=12), st.text(max_size=12))
def test_normalising_is_idempotent_and_never_turns_other_letters_into_ascii(local: str, domain: str) -> None:
    raw = f"{local}@{domain}"
    try:
        subject = email_subject(raw)
    except ValueError:
        return
    assert email_subject(subject) == subject
    assert unicodedata.normalize("NFKC", subject).isascii() == raw.isascii()
