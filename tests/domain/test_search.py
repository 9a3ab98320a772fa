"""Searching by names: what is found, by whom, and in how many statements."""

from __future__ import annotations

import pytest
from calls import call_of
from service import arrange
from sqlalchemy import insert
from statements import recorded
from vault import Vault

from secretsvc.home.domain.search import LIMIT, search
from secretsvc.kernel.ids import new_id
from secretsvc.tables.projects import project

ADA = "ada@example.com"


@pytest.fixture
def names(service, admin):
    """Two projects, keys in one environment of each, one of them deleted."""
    arrange(service, "depot", "prod")
    shop = Vault(admin)
    shop.set(DATABASE_URL="one", STRIPE_KEY="two", GONE_KEY="three")
    shop.batch(delete=["GONE_KEY"])
    Vault(admin, "/projects/depot/environments/prod").set(DEPOT_KEY="four")
    return service


def found_by(service, text, subject=ADA):
    with call_of(service, subject) as call:
        found = search(call, text)
    return (
        [one.project for one in found.projects],
        [f"{one.project}/{one.environment}" for one in found.environments],
        [f"{one.project}/{one.environment}/{one.key}" for one in found.secrets],
    )


def test_parts_of_slugs_names_and_keys_are_found_whatever_the_case(names):
    names.grant(ADA, "reader")
    assert found_by(names, "sHo") == (["shop"], [], [])
    assert found_by(names, "PRO") == ([], ["depot/prod", "shop/prod"], [])
    assert found_by(names, "_key") == ([], [], ["depot/prod/DEPOT_KEY", "shop/prod/STRIPE_KEY"])
    assert found_by(names, "depot") == (["depot"], [], ["depot/prod/DEPOT_KEY"])


def test_an_empty_text_finds_nothing(names):
    assert found_by(names, "", "root@example.com") == ([], [], [])


@pytest.mark.parametrize("text", ["%", "s%p", "_hop", "/", "\\", "'", "sh__"])
def test_signs_of_patterns_stand_for_themselves(names, text):
    names.grant(ADA, "reader")
    found = found_by(names, text)
    assert found == ([], [], [])


@pytest.mark.parametrize(
    ("scope", "expected"),
    [
        ("shop", (["shop"], ["shop/prod"], ["shop/prod/STRIPE_KEY"])),
        ("shop/prod", (["shop"], ["shop/prod"], ["shop/prod/STRIPE_KEY"])),
        ("shop/dev", (["shop"], [], [])),
        ("depot", ([], ["depot/prod"], ["depot/prod/DEPOT_KEY"])),
        (None, ([], [], [])),
    ],
)
def test_only_what_the_caller_sees_is_found(names, scope, expected):
    if scope:
        names.grant(ADA, "reader", scope)
    projects, _, _ = found_by(names, "shop")
    _, environments, _ = found_by(names, "prod")
    _, _, secrets = found_by(names, "_KEY")
    assert (projects, environments, secrets) == expected


def test_a_disabled_identity_finds_nothing(names):
    names.grant(ADA, "admin")
    names.disable(ADA)
    assert found_by(names, "shop") == ([], [], [])


def test_much_is_cut_and_said_to_be(names):
    many = [
        {"id": new_id(), "slug": f"many-{number}", "name": "Many", "created_at": 1, "updated_at": 1}
        for number in range(LIMIT + 1)
    ]
    names.execute(insert(project), many)
    with call_of(names) as call:
        found = search(call, "many-")
        assert (len(found.projects), found.cut) == (LIMIT, True)
        assert search(call, "shop").cut is False


@pytest.mark.parametrize("scope", ["global", "shop"])
def test_a_search_takes_three_statements(names, scope):
    names.grant(ADA, "reader", scope)
    with call_of(names, ADA) as call, recorded(names.engine) as statements:
        search(call, "o")
    assert len(statements) == 3
