"""Forms: the token of an identity, what was typed, and what is read of it."""

from __future__ import annotations

from uuid import uuid4

import pytest

from secretsvc.kernel.actors import Actor
from secretsvc.kernel.crypto import KeyRing
from secretsvc.kernel.errors import Forbidden, Issue, ValidationFailed
from secretsvc.projects.schemas import CreateProjectBody
from secretsvc.web.forms import DAY_MS, Form, check_token, form_token, unix_lines

RING, OTHER = KeyRing(bytes(32), None), KeyRing(bytes([1] * 32), None)
ADA, ROBOT = Actor(uuid4(), "user", "ada@example.com"), Actor(uuid4(), "service", "ada@example.com")
NOW = 20_000 * DAY_MS + 1


@pytest.mark.parametrize("later", [0, DAY_MS - 2, DAY_MS, 2 * DAY_MS - 2])
def test_a_token_lasts_until_the_end_of_the_next_day(later):
    check_token(RING, ADA, NOW + later, form_token(RING, ADA, NOW))


@pytest.mark.parametrize(
    ("ring", "actor", "later"),
    [
        (OTHER, ADA, 0),
        (RING, ROBOT, 0),
        (RING, Actor(uuid4(), "user", "eve@example.com"), 0),
        (RING, ADA, 2 * DAY_MS),
        (RING, ADA, -DAY_MS),
    ],
)
def test_a_token_of_another_identity_ring_or_day_is_refused(ring, actor, later):
    with pytest.raises(Forbidden):
        check_token(ring, actor, NOW + later, form_token(RING, ADA, NOW))


@pytest.mark.parametrize("offered", ["", "é", "0" * 64, "\x00"])
def test_what_is_no_token_is_refused(offered):
    with pytest.raises(Forbidden):
        check_token(RING, ADA, NOW, offered)


def test_lines_are_read_as_they_were_typed():
    assert unix_lines("a\r\nb\r\n") == "a\nb\n"
    assert unix_lines("a\rb\n") == "a\rb\n"


def test_a_blank_field_is_null_where_null_is_allowed_and_text_elsewhere():
    form = Form({"slug": "shop", "name": "Shop", "description": "  ", "stray": "x"})
    assert form.read(CreateProjectBody(), "slug", "name", "description")["description"] is None
    form = Form({"slug": "shop", "name": "", "description": ""})
    with pytest.raises(ValidationFailed) as refused:
        form.read(CreateProjectBody(), "slug", "name", "description")
    form.refuse(refused.value)
    assert form.issue("slug") is None
    assert form.issue("slug", "name")
    assert form["name"] == form["nothing"] == ""


def test_the_issues_of_a_form_are_looked_through_once_however_many_fields_ask():
    class Counted(tuple):
        times = 0

        def __iter__(self):
            type(self).times += 1
            return super().__iter__()

    form = Form()
    form.refuse(ValidationFailed(issues=Counted(Issue(f"f{n}", f"m{n}") for n in range(10))))
    assert [form.issue(f"f{n}") for n in range(12)] == [*(f"m{n}" for n in range(10)), None, None]
    assert Counted.times == 1


@pytest.mark.parametrize(
    ("count", "last"),
    [(100, "F99: m99"), (101, "1 more is left out."), (9_900, "9,800 more are left out.")],
)
def test_a_page_shows_a_hundred_issues_and_how_many_more_there_are(count, last):
    form = Form()
    form.refuse(ValidationFailed(issues=(Issue(f"f{n}", f"m{n}") for n in range(count))))
    texts = [problem.text for problem in form.problems]
    assert (len(texts), texts[99], texts[-1]) == (min(count, 101), "F99: m99", last)


def test_fields_are_found_by_their_prefix():
    form = Form({"value.A": "1", "value.B": "", "other": "x"})
    assert dict(form.under("value.")) == {"A": "1", "B": ""}
