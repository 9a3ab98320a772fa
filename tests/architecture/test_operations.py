"""Every view of the API declares what it is: its role, its schemas, its operation id."""

from __future__ import annotations

from typing import Any

import pytest
from pyramid.config import Configurator
from pyramid.exceptions import ConfigurationError

import secretsvc
from secretsvc.web.schema import NOTHING, Body, Document, Variants
from secretsvc.web.tree import API, Root
from secretsvc.web.views import ANY_IDENTITY, PUBLIC

PUBLIC_OPERATIONS = {"health", "openapi", "docs"}


def api_views(registry: Any) -> list[Any]:
    category = registry.introspector.get_category("views", [])
    views = [entry["introspectable"] for entry in category]
    return [view for view in views if view["route_name"] == API]


def offences(views: list[Any]) -> list[str]:
    """What is wrong with the declarations of these views."""
    found = []
    for view in views:
        operation = view.get("operation")
        if operation is None:
            found.append(f"{view['callable']}: no operation")
            continue
        name = operation.operation_id
        if (operation.response is None) != (operation.status == 204):
            found.append(f"{name}: no response schema")
        if operation.body is not None and not isinstance(operation.body, Body | Variants):
            found.append(f"{name}: no body schema")
        if not isinstance(operation.query, Body):
            found.append(f"{name}: no query schema")
        if not name or not operation.summary:
            found.append(f"{name}: no name")
        if view["request_methods"] not in (
            operation.method,
            (operation.method,),
        ) and operation.method not in (view["request_methods"] or ()):
            found.append(f"{name}: another method")
    return found


@pytest.fixture(scope="module")
def registry() -> Any:
    return secretsvc.main({}).registry


def test_every_view_of_the_api_declares_its_operation(registry):
    views = api_views(registry)
    assert len(views) > 15
    assert offences(views) == []


def test_only_the_specified_operations_are_public(registry):
    public = {
        view["operation"].operation_id for view in api_views(registry) if view["operation"].role is PUBLIC
    }
    assert {name.lower() for name in public} <= PUBLIC_OPERATIONS | {"getopenapi", "getdocs"}


def declared(**options: Any) -> list[Any]:
    """The views of an application that has one more than it should."""
    with Configurator() as config:
        config.include("secretsvc.web")
        view = lambda context, request: None  # noqa: E731
        usual = {
            "context": Root,
            "operation_id": "usual",
            "summary": "Usual",
            "role": ANY_IDENTITY,
            "response": NOTHING,
        }
        config.add_api_view(view, **usual)
        if options.pop("bare", False):
            config.add_view(view, route_name=API, context=Root, name="bare")
        else:
            config.add_api_view(view, **{**usual, "operation_id": "other", "name": "other", **options})
        config.commit()
        return api_views(config.registry)


@pytest.mark.parametrize(
    "options",
    [
        {"bare": True},
        {"response": None},
        {"status": 204},
        {"body": Document()},
        {"query": None},
        {"summary": ""},
    ],
    ids=lambda options: next(iter(options)),
)
def test_the_rule_of_operations_can_fail(options):
    assert offences(declared(**options))


@pytest.mark.parametrize("role", ["owner", None])
def test_an_operation_without_a_role_is_not_taken(role):
    with pytest.raises(ConfigurationError, match=f"operation other has the role {role!r}: "):
        declared(role=role)


def test_the_rule_of_operations_lets_the_lawful_pass():
    assert offences(declared()) == []
