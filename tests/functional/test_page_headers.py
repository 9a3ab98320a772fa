"""The headers of every page and every form, whatever comes of it."""

from __future__ import annotations

from uuid import UUID

import pytest
from pages import Browser, declared, submit
from secrets_client import PLAINTEXT_HEADERS

from secretsvc.groups.resources import Group
from secretsvc.identity.resources import Identity
from secretsvc.web.headers import (
    API_CONTENT_SECURITY_POLICY,
    PAGE_CONTENT_SECURITY_POLICY,
    SECURITY_HEADERS,
)


@pytest.fixture
def paths(vault, service):
    """The paths of all pages and forms, filled in with what is there."""
    vault.batch(set={"API_KEY": "x"})
    ids = {Identity: service.identity_id("ada@example.com"), Group: service.group("crew", "ada@example.com")}
    names = {"project": "shop", "env": "prod", "key": "API_KEY", "identityId": ids[Identity]}
    names["grantId"] = service.grant(ids[Group], "reader", "shop", group=True)

    def fill(path):
        one = ids[Identity] if path.startswith("/identities") else ids[Group]
        one = names["grantId"] if path.startswith("/grants") else one
        return path.format(**names, id=one)

    return [(fill(path), method) for path, method in declared(service.app.registry)]


def judge(page):
    names = [name.lower() for name in page.headers]
    assert len(set(names)) == len(names)
    for name, value in SECURITY_HEADERS:
        assert page.headers[name] == value
    # What leads on elsewhere, or is a file to be kept, has nothing to run.
    inert = page.status_int == 303 or "Content-Disposition" in page.headers
    wanted = API_CONTENT_SECURITY_POLICY if inert else PAGE_CONTENT_SECURITY_POLICY
    assert page.headers["Content-Security-Policy"] == wanted
    assert UUID(page.headers["X-Request-Id"]).version == 7
    assert not {name for name in names if name.startswith("access-control-")} | (
        {"server", "set-cookie"} & {*names}
    )
    assert {name: page.headers.get(name) for name in PLAINTEXT_HEADERS} == PLAINTEXT_HEADERS
    assert inert or page.headers["Content-Type"].lower() == "text/html; charset=utf-8"


@pytest.mark.slow
def test_every_page_and_form_has_the_headers_whatever_comes_of_it(paths, service):
    browser, stranger = Browser(service), Browser(service, "eve@example.com")
    nobody = Browser(service)
    nobody.extra_environ.clear()
    assert len(paths) > 20
    for path, method in paths:
        if method == "GET":
            judge(browser.get(path, status=[200, 303]))
            judge(stranger.get(path, status="*"))
            judge(browser.get(f"{path}?a=%FF", status=[200, 400, 303]))
        else:
            refused = browser.post(path, {"x": ""}, status=403)
            assert "too old, or not yours" in refused.text, path
            judge(refused)
            judge(stranger.post(path, {"x": ""}, status=[403, 404]))
            judge(browser.post(path, {"x": ""}, headers={"Sec-Fetch-Site": "cross-site"}, status=403))
        judge(nobody.request(path, method=method, status=401))


def test_what_carries_a_value_forbids_every_cache_to_keep_it(vault, service):
    vault.set(API_KEY="stored-value")
    browser, environment = Browser(service), "/projects/shop/environments/prod"
    revealed = submit(browser.open(f"{environment}/secrets/API_KEY"), "/reveal", 200)
    text = submit(browser.open(f"{environment}/text"), "/text", 200)
    exported = browser.open(environment).forms["export"].submit("format", value="env")
    typed = {"value.API_KEY": "typed-value", "empty.API_KEY": True}
    rerendered = submit(browser.open(f"{environment}/secrets/API_KEY"), "/write-review", 422, **typed)
    reviewed = submit(text, "/text-review", 200, content="API_KEY=typed-value")
    vault.set(API_KEY="another")
    conflict = submit(reviewed, "/text-apply", 412)
    refused = submit(text, "/text-review", 422, content="API_KEY=typed-value\nAPI_KEY=typed-value")
    for answer, value in (
        (revealed, "stored-value"),
        (text, "stored-value"),
        (exported, "stored-value"),
        (rerendered, "typed-value"),
        (reviewed, "typed-value"),
        (conflict, "typed-value"),
        (refused, "typed-value"),
    ):
        assert value in answer.text
        assert {name: answer.headers.get(name) for name in PLAINTEXT_HEADERS} == PLAINTEXT_HEADERS


PLUGIN = """
from secretsvc.web.tree import Root


def shout(context, request):
    request.response.text = "typed-value"
    request.response.cache_control = "public, max-age=60"
    return request.response


def includeme(config):
    config.add_page(shout, context=Root, name="shout", role="any identity")
    config.add_route("acme", "/acme/shout")
    config.add_view(shout, route_name="acme")
"""


@pytest.mark.parametrize("path", ["/shout", "/acme/shout"])
def test_a_page_of_a_plugin_need_not_think_of_it(make_service, tmp_path, monkeypatch, path):
    (tmp_path / "acme_shout.py").write_text(PLUGIN)
    monkeypatch.syspath_prepend(tmp_path)
    page = Browser(make_service(**{"PYRAMID.INCLUDES": "acme_shout"})).open(path)
    assert {name: page.headers.get(name) for name in PLAINTEXT_HEADERS} == PLAINTEXT_HEADERS


@pytest.mark.slow
def test_without_a_name_for_the_edge_cache_no_form_is_carried_out(vault, service):
    vault.set(API_KEY="stored-value")
    broken = service.restarted(EDGE_CACHE_HEADER="not: a name")
    page = Browser(broken).open("/projects/shop/environments/prod/secrets/API_KEY")
    assert page.headers["Vary"] == PLAINTEXT_HEADERS["Vary"]
    assert "stored-value" not in submit(page, "/reveal", 500).text
    submit(page, "/write-review", 500, **{"value.API_KEY": "another"})
    assert service.audit("secret.reveal") == []
    assert vault.values() == {"API_KEY": "stored-value"}


def test_static_files_need_an_assertion_and_are_kept_by_browsers(service):
    browser, nobody = Browser(service), Browser(service)
    nobody.extra_environ.clear()
    for name, media in (
        ("secretsvc.css", "text/css"),
        ("keyboard.js", "javascript"),
        ("icon.svg", "image/svg"),
    ):
        file = browser.get(f"/static/web/{name}")
        assert media in file.headers["Content-Type"]
        assert "max-age=" in file.headers["Cache-Control"]
        assert not {"Vary", "Edge-CDN-Cache-Control"} & {*file.headers}
        for header, value in SECURITY_HEADERS:
            assert file.headers[header] == value
        judge(nobody.get(f"/static/web/{name}", status=401))
    for path in (
        "/static/web/",
        "/static/web/nothing.css",
        "/static/web/../request.py",
        "/static/web/%2e%2e/request.py",
    ):
        judge(browser.get(path, status=404))
