"""Errors of a plugin: the status that it gives them, and what becomes of those that it gives none."""

from __future__ import annotations

import sys

import pytest
from openapi_spec_validator import validate
from pages import Browser, words

LOCKED = """
from secretsvc.kernel.errors import SecretsvcError
from secretsvc.web.schema import Document
from secretsvc.web.tree import Root
from secretsvc.web.views import ANY_IDENTITY

class Locked(SecretsvcError):
    code = "ACME_LOCKED"
    default_message = "It is locked."

def view(context, request):
    raise Locked()

def includeme(config):
    {registered}
    usual = dict(context=Root, name="locked", role=ANY_IDENTITY)
    config.add_api_view(view, operation_id="locked", summary="L", response=Document(), {declared}**usual)
    config.add_page(view, template="secretsvc.home:templates/home.pt", **usual)
"""


@pytest.fixture
def locked(make_service, tmp_path, monkeypatch):
    def make(registered, declared=""):
        (tmp_path / "acme_locked.py").write_text(LOCKED.format(registered=registered, declared=declared))
        monkeypatch.syspath_prepend(tmp_path)
        monkeypatch.delitem(sys.modules, "acme_locked", raising=False)
        return make_service(**{"PYRAMID.INCLUDES": "acme_locked"})

    return make


@pytest.mark.slow
def test_a_status_that_secretsvc_has_no_error_of_is_answered_and_described(locked):
    service = locked("config.add_error(Locked, 423, 'Unlock it.')", "errors=(423,), ")
    assert service.user().get("/locked", 423).json["code"] == "ACME_LOCKED"
    page = Browser(service).open("/locked", status=423)
    assert "It is locked. Unlock it." in words(page)
    found = service.nobody().get("/openapi.json").json
    validate(found)
    assert found["components"]["responses"]["423"]["description"] == "Locked: `ACME_LOCKED`"


def test_an_error_without_a_status_is_a_failure_that_the_log_names(locked, caplog):
    service = locked("pass")
    assert service.user().get("/locked", 500).json["code"] == "INTERNAL"
    assert Browser(service).open("/locked", status=500)
    assert "unexpected Locked at " in caplog.text
