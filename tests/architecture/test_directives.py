"""The built-in packages have no other way in than plugins: all that there is, was declared by a directive."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import pytest
from architecture.parsed import nodes_of

import secretsvc
from secretsvc.kernel import errors
from secretsvc.kernel.errors import SecretsvcError
from secretsvc.kernel.settings import Settings
from secretsvc.web.openapi.document import endpoints
from secretsvc.web.registration import declared

PACKAGE = Path(__file__).parents[2] / "secretsvc"
#: What directives fill, and the module that does so.
FILLED = {
    "audit_actions": "audit/directives.py",
    "done": "web/pages/flash_messages.py",
    "error_codes": "web/error_codes.py",
    "error_links": "web/pages/navigation.py",
    "explain_refusal": "web/pages/denial_page.py",
    "find_activity": "access/directives.py",
    "find_sidebar_project": "web/pages/sidebar_project.py",
    "formats": "secrets/directives.py",
    "key_providers": "registry.py",
    "models": "directives.py",
    "navigation": "web/pages/navigation.py",
    "pages": "web/pages/directives.py",
    "public_paths": "web/views.py",
    "request_observers": "web/access_log.py",
    "revealing": "web/views.py",
    "service_settings": "registry.py",
    "tabs": "web/pages/navigation.py",
    "tree": "web/tree.py",
}
#: Those who read what others filled while the application is configured.
READS = {
    ("secrets/api/secrets.py", "formats"): "the description of its operations, as it is when that is made",
    ("directives.py", "service_settings"): "to add to them",
    ("tokens/api.py", "service_settings"): "whether there are such operations",
    ("tokens/ui.py", "service_settings"): "whether there are such pages",
    ("web/views.py", "tree"): "a view's verb is a part of the tree",
}


@pytest.fixture(scope="module")
def registry() -> Any:
    return secretsvc.assemble({}).registry


def kinds_of_errors() -> set[str]:
    """The codes of the errors of the kernel."""
    kinds = [one for one in vars(errors).values() if isinstance(one, type)]
    return {one.code for one in kinds if issubclass(one, SecretsvcError) and one is not SecretsvcError}


def own_tables() -> dict[str, set[str]]:
    """The tables over the shared metadata that each module of the package makes, registered or not."""
    found: dict[str, set[str]] = {}
    for path in PACKAGE.rglob("*.py"):
        module = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
        for node in nodes_of(path.read_text("utf-8")):
            match node:
                case ast.Call(
                    func=ast.Name("Table"), args=[ast.Constant(str(name)), ast.Name("METADATA"), *_]
                ):
                    found.setdefault(module, set()).add(name)
    return found


FOUND = {
    "error": lambda registry: set(registry.error_codes),
    "audit action": lambda registry: set(registry.audit_actions),
    "format": lambda registry: set(registry.formats.labels),
    "setting": lambda registry: set(registry.service_settings.known()),
    "key provider": lambda registry: set(registry.key_providers),
    "navigation": lambda registry: {link.path for link in registry.navigation},
    "tab": lambda registry: {tab.label for tabs in registry.tabs.values() for tab in tabs},
    "tree child": lambda registry: {name for names in registry.tree.children.values() for name in names},
    "operation": lambda registry: {one.operation.operation_id for one in endpoints(registry)},
    "done": lambda registry: set(registry.done),
    "request observer": lambda registry: set(registry.request_observers),
    "error link": lambda registry: {link.label for link in registry.error_links},
}


@pytest.mark.parametrize("kind", FOUND)
def test_all_that_there_is_of_a_kind_was_declared(registry, kind):
    found = FOUND[kind](registry)
    assert found
    assert declared(registry, kind) == found


@pytest.mark.slow
def test_every_error_setting_and_table_of_the_package_is_there(registry):
    assert declared(registry, "error") == kinds_of_errors()
    assert declared(registry, "setting") == set(Settings.known())
    assert registry.models.names == set().union(*own_tables().values())


@pytest.mark.slow
def test_every_module_with_tables_was_registered(registry):
    assert declared(registry, "models") == set(own_tables())


def touched(source: str) -> set[str]:
    """What directives fill, of a registry at hand while the application is configured."""
    return {
        node.attr
        for node in nodes_of(source)
        if isinstance(node, ast.Attribute)
        and node.attr in FILLED
        and isinstance(node.value, ast.Attribute)
        and node.value.attr == "registry"
        and isinstance(node.value.value, ast.Name)
        and node.value.value.id == "config"
    }


@pytest.mark.parametrize(
    "path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: str(path.relative_to(PACKAGE))
)
def test_nobody_fills_what_a_directive_fills(path):
    name = str(path.relative_to(PACKAGE))
    strange = {
        one for one in touched(path.read_text("utf-8")) if FILLED[one] != name and (name, one) not in READS
    }
    assert strange == set()


def test_what_is_listed_is_there():
    for name, path in FILLED.items():
        assert f"registry.{name}" in (PACKAGE / path).read_text("utf-8"), name
    for path, name in READS:
        assert name in touched((PACKAGE / path).read_text("utf-8")), (path, name)


@pytest.mark.parametrize(
    "source",
    [
        "def includeme(config):\n    config.registry.error_codes['X'] = (409, '')",
        "def includeme(config):\n    config.registry.audit_actions['x.y'] = 1",
        "def includeme(config):\n    actions = config.registry.audit_actions",
    ],
)
def test_the_rule_of_directives_can_fail(source):
    assert touched(source)


def test_the_rule_of_directives_sees_what_was_not_declared(registry):
    other = secretsvc.assemble({}).registry
    other.audit_actions["private.way"] = None
    assert declared(other, "audit action") != FOUND["audit action"](other)


def test_the_page_on_plugins_names_every_directive():
    sources = "\n".join(path.read_text("utf-8") for path in PACKAGE.rglob("*.py"))
    page = (PACKAGE.parent / "docs" / "plugins.md").read_text("utf-8")
    named = set(re.findall(r'add_directive\("(\w+)"', sources))
    assert named
    assert {name for name in named if f"`config.{name}" not in page} == set()
