"""What a plugin may ask of the security policy, in Pyramid's own words, and what its own views get of it."""

from __future__ import annotations

import pytest
from pages import Browser, words
from service import arrange

ACME = """
from secretsvc.kernel.authorization import Role
from secretsvc.projects.resources import Environment
from secretsvc.web.schema import Document
from secretsvc.web.tree import PAGES, Root
from secretsvc.web.views import PUBLIC

ASKED = ("reader", "writer", "admin", "visible", "admin somewhere", "any identity", "bogus", "Admin", "")


def ask(context, request):
    return {permission: bool(request.has_permission(permission)) for permission in ASKED}


def ask_elsewhere(context, request):
    return {"admin": bool(request.has_permission("admin", object()))}


def nobody(context, request):
    return {
        "identity": request.identity,
        "userid": request.authenticated_userid,
        "authenticated": request.is_authenticated,
        "reader": bool(request.has_permission("reader")),
    }


def includeme(config):
    usual = {"summary": "Ask", "response": Document()}
    for name, view, context, role in (
        ("ask", ask, Environment, Role.READER),
        ("ask-elsewhere", ask_elsewhere, Environment, Role.READER),
        ("deploy", ask, Environment, Role.WRITER),
        ("nobody", nobody, Root, PUBLIC),
    ):
        config.add_api_view(view, context=context, name=name, operation_id=name, role=role, **usual)
    # By Pyramid's own directive: ours takes no role that there is not.
    odd = {"context": Environment, "name": "odd", "route_name": PAGES}
    config.add_view(ask, permission="bogus", renderer="json", **odd)
"""
PROD = "/projects/shop/environments/prod"


@pytest.fixture
def acme(make_service, tmp_path, monkeypatch):
    """A service with the views of a plugin, with `shop/prod`."""
    (tmp_path / "acme_policy.py").write_text(ACME)
    monkeypatch.syspath_prepend(tmp_path)
    service = make_service(**{"PYRAMID.INCLUDES": "acme_policy"})
    arrange(service)
    return service


@pytest.mark.parametrize(
    ("role", "path", "held"),
    [
        ("reader", "shop/prod", {"reader", "visible"}),
        ("writer", "shop", {"reader", "writer", "visible"}),
        ("admin", "shop/prod", {"reader", "writer", "admin", "visible", "admin somewhere"}),
    ],
)
def test_asking_for_a_permission_answers_without_a_record_or_an_error(acme, role, path, held):
    acme.grant("eve@example.com", role, path)
    answers = acme.user("eve@example.com").get(f"{PROD}/ask").json
    assert {name for name, answer in answers.items() if answer} == held | {"any identity"}
    assert acme.denials() == []


@pytest.mark.slow
def test_where_there_is_no_place_nothing_is_permitted(acme):
    assert acme.user().get(f"{PROD}/ask-elsewhere").json == {"admin": False}


def test_where_nobody_is_asked_for_there_is_nobody(acme):
    found = acme.nobody().get("/nobody").json
    assert found == {"identity": None, "userid": None, "authenticated": False, "reader": False}


@pytest.mark.slow
def test_a_plugin_s_view_is_refused_by_our_errors_and_the_denial_is_recorded(acme):
    acme.grant("rita@example.com", "reader", "shop/prod")
    refused = acme.user("rita@example.com").post(f"{PROD}/deploy", None, 404)
    assert refused.json["message"] == "Not found."
    assert acme.user("rita@example.com").get(f"{PROD}/deploy", 403).json["code"] == "FORBIDDEN"
    hidden = acme.user("eve@example.com").get(f"{PROD}/deploy", 404).json
    absent = acme.user("eve@example.com").get(f"{PROD.replace('shop', 'none')}/deploy", 404).json
    assert hidden["message"] == absent["message"]
    assert [(row["action"], row["actor_subject"]) for row in acme.denials()] == [
        ("authz.environment.writer", "rita@example.com"),
        ("authz.environment.writer", "eve@example.com"),
    ]


def test_a_view_whose_permission_nobody_knows_is_for_nobody(acme):
    assert "FORBIDDEN" in words(Browser(acme).open(f"{PROD}/odd", status=403), "body")
    assert acme.denials() == []
