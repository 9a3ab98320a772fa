"""Which display names are refused: those that could pass for another identity (contract 17.1)."""

from __future__ import annotations

import re
import unicodedata

import pytest
from pages import Browser, submit, words
from resource_fields import paths
from service import ADMIN

from secretsvc.identity.schemas import DISPLAY_NAME
from secretsvc.tables.identities import identity

ADA = "ada@example.com"
#: Each holds what no display name may hold.
UNSEEN = (
    "root@example.com", "Ada \uff20 Ops", "Ada \ufe6b Ops", "a\tb", "a\nb", "a\x7fb", "a\x85b",
    "Ada\u202egnp", "Ada\u2066x\u2069", "a\u200bb", "a\u200fb", "a\u00adb", "a\u061cb", "\ufeffAda",
    "a\u2028b", "a\u2029b", "a\U000e0041b",
)  # fmt: skip


@pytest.mark.parametrize("name", UNSEEN, ids=ascii)
def test_a_name_with_an_at_sign_or_unseen_characters_is_a_422(service, admin, name):
    ada = service.identity_id(ADA)
    body = {"kind": "user", "subject": "eve@example.com", "display_name": name}
    assert paths(admin.post("/identities", body, 422)) == {"display_name"}
    assert paths(admin.patch(f"/identities/{ada}", {"display_name": name}, 422)) == {"display_name"}
    assert {row["display_name"] for row in service.rows(identity)} == {None}


@pytest.mark.parametrize(
    ("subject", "name"),
    [
        ("deploy.access", "deploy.access"),
        ("deploy.access", " Deploy.ACCESS "),
        ("Deploy.Access", "deploy.access"),
        ("deploy.access", "\uff44eploy.access"),
        ("Ärger 1", "ärger 1"),
        ("ΣΊΣΥΦΟΣ", "σίσυφος"),
        ("strasse", "straße"),
        ("straße", "STRASSE"),
        ("100%_x", "100%_X"),
    ],
)
def test_a_name_that_is_anothers_subject_is_a_422(service, admin, subject, name):
    service.robot(subject).get("/whoami")
    ada = service.identity_id(ADA)
    for kind, mine in (("user", "eve@example.com"), ("service", "eve")):
        body = {"kind": kind, "subject": mine, "display_name": name}
        assert paths(admin.post("/identities", body, 422)) == {"display_name"}
    assert paths(admin.patch(f"/identities/{ada}", {"display_name": name}, 422)) == {"display_name"}
    assert {row["display_name"] for row in service.rows(identity)} == {None}


@pytest.mark.parametrize("name", ["deploy", "Deploy"])
def test_its_own_subject_is_allowed(service, admin, name):
    made = admin.post("/identities", {"kind": "service", "subject": "deploy", "display_name": name}, 201).json
    assert made["display_name"] == name
    assert admin.patch(f"/identities/{made['id']}", {"display_name": name}).json == made
    again = {"kind": "service", "subject": "deploy", "display_name": name}
    assert admin.post("/identities", again, 409).json["code"] == "CONFLICT"


def test_its_own_address_is_refused(service, admin):
    ada = service.identity_id(ADA)
    assert paths(admin.patch(f"/identities/{ada}", {"display_name": ADA}, 422)) == {"display_name"}


def test_what_only_holds_a_subject_and_other_scripts_are_allowed(service, admin):
    service.robot("deploy").get("/whoami")
    ada = service.identity_id(ADA)
    for name in (
        "deploy bot",
        "deplo",
        "d",
        "Ada Lovelace-Byron, Ops (2)",
        "ألف باء",
        "Ærøskøbing",
        "山田太郎",
    ):
        assert admin.patch(f"/identities/{ada}", {"display_name": name}).json["display_name"] == name


def test_a_name_that_is_stored_stays(service, admin):
    ada = service.identity_id(ADA)
    service.execute(
        "UPDATE identity SET display_name = 'root@example.com' WHERE subject = :who", {"who": ADA}
    )
    changed = admin.patch(f"/identities/{ada}", {"disabled": True}).json
    assert (changed["display_name"], changed["disabled"]) == ("root@example.com", True)


@pytest.mark.parametrize("name", ["root@example.com", "a\u202eb", "Deploy"])
def test_the_forms_refuse_it_at_the_field_and_keep_it(service, name):
    service.robot("deploy").get("/whoami")
    ada, browser = service.identity_id(ADA), Browser(service)
    forms = (
        (f"/identities/{ada}?rename", f"/{ada}", {}),
        ("/identities?new=user", "/identities", {"subject": "eve@example.com"}),
    )
    for path, action, others in forms:
        page = submit(browser.open(path), action, 422, display_name=name, **others)
        field = page.html.find(id="display_name")
        assert (field["value"], field["aria-invalid"]) == (name, "true")
        assert page.html.select_one("[role=dialog] [role=alert] a[href='#display_name']")
    assert {row["subject"] for row in service.rows(identity)} == {ADMIN, ADA, "deploy"}
    assert "Must" in words(page, "[role=dialog]")


def test_an_admin_of_one_environment_is_refused_too(service, admin):
    service.grant("boss@example.com", "admin", "shop/prod")
    body = {"kind": "user", "subject": "eve@example.com", "display_name": ADMIN}
    assert paths(service.user("boss@example.com").post("/identities", body, 422)) == {"display_name"}


def test_the_described_pattern_refuses_what_the_rule_refuses():
    pattern = re.compile(DISPLAY_NAME.json_schema()["pattern"])
    unseen = {"Cc", "Cf", "Zl", "Zp"}
    # JSON Schema has no common spelling for what lies beyond 16 bits.
    for char in map(chr, range(0x10000)):
        refused = char in "@\ufe6b\uff20" or unicodedata.category(char) in unseen
        assert (pattern.search(f"a{char}b") is None) == refused, ascii(char)
