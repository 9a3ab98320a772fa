"""The API's description and its viewer: made from the configuration, complete, and valid."""

from __future__ import annotations

import re
import sys

import pytest
from bs4 import BeautifulSoup
from openapi_spec_validator import validate
from pyramid.exceptions import ConfigurationError
from service import arrange

from secretsvc.meta import viewer
from secretsvc.web.openapi.document import endpoints

#: Written from the specification and contract 5.2 to 5.6, 5.9, 5.10, 5.12 and 5.13 alone.
SPECIFIED = (
    "GET /health",
    "GET /whoami",
    "GET /openapi.json",
    "GET /docs",
    "GET /search",
    "GET /projects",
    "POST /projects",
    "GET /projects/{project}",
    "PATCH /projects/{project}",
    "DELETE /projects/{project}",
    "GET /projects/{project}/environments",
    "POST /projects/{project}/environments",
    "GET /projects/{project}/environments/{env}",
    "PATCH /projects/{project}/environments/{env}",
    "DELETE /projects/{project}/environments/{env}",
    "GET /projects/{project}/environments/{env}/revisions",
    "GET /projects/{project}/environments/{env}/secrets:deleted",
    "GET /projects/{project}/environments/{env}/secrets",
    "POST /projects/{project}/environments/{env}/secrets:batch",
    "POST /projects/{project}/environments/{env}/secrets:import",
    "GET /projects/{project}/environments/{env}/secrets:export",
    "POST /projects/{project}/environments/{env}/secrets:rename",
    "POST /projects/{project}/environments/{env}/secrets:rollback",
    "GET /projects/{project}/environments/{env}/secrets:compare",
    "POST /projects/{project}/environments/{env}/secrets:copy",
    "POST /projects/{project}/environments/{env}/secrets:restore",
    "GET /projects/{project}/environments/{env}/secrets/{key}",
    "GET /projects/{project}/environments/{env}/secrets/{key}:reveal",
    "GET /projects/{project}/environments/{env}/secrets/{key}/versions",
    "GET /identities",
    "POST /identities",
    "PATCH /identities/{id}",
    "DELETE /identities/{id}",
    "GET /identities/{id}/effective-permissions",
    "GET /identities/{id}/exposure",
    "GET /grants",
    "POST /grants",
    "PATCH /grants/{id}",
    "DELETE /grants/{id}",
    "GET /access/unknown-identities",
    "GET /groups",
    "POST /groups",
    "GET /groups/{id}",
    "PATCH /groups/{id}",
    "DELETE /groups/{id}",
    "GET /groups/{id}/members",
    "POST /groups/{id}/members",
    "DELETE /groups/{id}/members/{identityId}",
    "GET /groups/{id}/grants",
    "POST /groups/{id}/grants",
    "PATCH /groups/{id}/grants/{grantId}",
    "DELETE /groups/{id}/grants/{grantId}",
    "GET /audit",
    "GET /audit/checkpoint",
    "GET /audit/key",
    "GET /admin/keyring",
    "POST /admin/rekey",
)


@pytest.fixture
def document(service):
    return service.nobody().get("/openapi.json").json


def operations(document):
    for path, found in document["paths"].items():
        for method, operation in found.items():
            yield f"{method.upper()} {path}", operation


NOBODY = "0" * 8 + "-0000-0000-0000-" + "0" * 12


def test_the_document_holds_every_operation_of_the_specification_and_no_other(document):
    assert sorted(name for name, _ in operations(document)) == sorted(SPECIFIED)


def test_every_operation_of_the_document_is_served(service, admin, document):
    values = {
        "project": "shop",
        "env": "prod",
        "key": "A",
        **dict.fromkeys(("id", "identityId", "grantId"), NOBODY),
    }
    for name, _ in operations(document):
        method, path = name.split(" ")
        for parameter, value in values.items():
            path = path.replace(f"{{{parameter}}}", value)
        answer = admin.request(method, path, {} if method in ("POST", "PATCH") else None)
        missing = answer.status_int == 404 and answer.json["message"] == "Not found."
        assert not missing, name


def test_no_example_of_a_body_is_refused_by_its_schema(admin, document):
    sent = 0
    for name, operation in operations(document):
        method, path = name.split(" ")
        content = operation.get("requestBody", {}).get("content", {}).get("application/json")
        if content is None:
            continue
        for parameter in ("project", "env", "key", "id", "identityId", "grantId"):
            path = path.replace(f"{{{parameter}}}", {"project": "shop", "env": "prod"}.get(parameter, NOBODY))
        answer = admin.request(method, path, content["example"])
        assert answer.status_int not in (400, 413, 422), (name, answer.json)
        sent += 1
    assert sent > 15


@pytest.mark.slow
def test_the_document_is_valid_openapi_3_1(document):
    assert document["openapi"].startswith("3.1.")
    validate(document)


def test_paths_are_relative_to_the_server_and_canonical(document):
    assert document["servers"] == [{"url": "/api/v1"}]
    assert not [path for path in document["paths"] if path.startswith("/p/")]


def test_answers_are_described_by_the_types_that_views_return(make_service):
    found = [one.operation for one in endpoints(make_service(SERVICE_TOKENS="on").app.registry)]
    told = {one.operation_id for one in found if hasattr(one.response, "json_schema")}
    assert told == {"openapi", "docs", "getAuditCheckpoint", "getAuditKey"}


def test_operation_ids_are_unique_and_every_operation_has_a_summary(document):
    found = [operation for _, operation in operations(document)]
    assert len({operation["operationId"] for operation in found}) == len(found)
    assert all(operation["summary"] and operation["description"] for operation in found)


@pytest.mark.slow
def test_the_document_holds_service_tokens_where_they_are_switched_on(make_service):
    document = make_service(SERVICE_TOKENS="on").nobody().get("/openapi.json").json
    more = {name for name, _ in operations(document)} - set(SPECIFIED)
    assert more == {
        "GET /identities/{id}/tokens",
        "POST /identities/{id}/tokens",
        "DELETE /identities/{id}/tokens/{tokenId}",
    }
    validate(document)
    created = document["paths"]["/identities/{id}/tokens"]["post"]["responses"]["201"]
    assert "headers" not in created


def test_three_operations_are_public_and_all_others_take_header_cookie_or_bearer_token(document):
    public = {name for name, operation in operations(document) if operation.get("security") == []}
    assert public == {"GET /health", "GET /openapi.json", "GET /docs"}
    assert document["security"] == [{"bearerToken": []}, {"assertionHeader": []}, {"assertionCookie": []}]
    schemes = document["components"]["securitySchemes"]
    assert schemes["assertionHeader"]["name"] == "Proxy-Access-Jwt-Assertion"
    assert schemes["assertionCookie"]["name"] == "Proxy_Authorization"
    assert (schemes["bearerToken"]["type"], schemes["bearerToken"]["scheme"]) == ("http", "bearer")


@pytest.mark.slow
def test_the_security_schemes_bear_the_deployment_s_names(make_service):
    service = make_service(ACCESS_HEADER="Cf-Access-Jwt-Assertion", ACCESS_COOKIE="CF_Authorization")
    schemes = service.nobody().get("/openapi.json").json["components"]["securitySchemes"]
    assert schemes["assertionHeader"]["name"] == "Cf-Access-Jwt-Assertion"
    assert schemes["assertionCookie"]["name"] == "CF_Authorization"


def test_the_answers_to_creations_link_to_what_can_be_done_next(document):
    created = document["paths"]["/projects"]["post"]["responses"]["201"]
    assert created["links"]["getProject"]["parameters"] == {"project": "$response.body#/slug"}
    assert created["headers"]["Location"] == {"$ref": "#/components/headers/Location"}
    assert document["components"]["headers"]["Location"]["required"]
    ids = {operation["operationId"] for _, operation in operations(document)}
    for _, operation in operations(document):
        for response in operation["responses"].values():
            assert {link["operationId"] for link in response.get("links", {}).values()} <= ids


def test_the_document_is_the_same_for_every_caller_and_holds_no_data(service, admin):
    before = service.nobody().get("/openapi.json").body
    assert admin.get("/openapi.json").body == before
    assert b"Shop" not in before


def test_a_view_without_its_declaration_stops_the_start(service):
    from pyramid.config import Configurator

    from secretsvc.web.tree import Root

    config = Configurator()
    config.include("secretsvc.web")
    with pytest.raises(TypeError, match="operation_id"):
        config.add_api_view(lambda *_: {}, context=Root, name="odd")


ACME = """
import colander
from secretsvc.kernel.authorization import Role
from secretsvc.projects.resources import Environment, Project
from secretsvc.web.schema import Body, Document, ListOf, Type, Variants, required
from secretsvc.web.tree import Node


class Colour(Type):
    def read(self, node, value):
        if value not in ("red", "green"):
            raise colander.Invalid(node, "Must be a colour.")
        return value

    {method}


class Paint(Body):
    colour = required({type_})


class Gate(Node):
    parameter, grammar_type = "gate", {gate}


class Gates(Node):
    member = Gate


def paint(context, request):
    return request.body_values if request.method == "POST" else {{"colour": "red"}}


def includeme(config):
    usual = {{"context": Environment, "role": Role.READER, "summary": "Paint", "response": Document()}}
    config.add_api_view(paint, name="paint", operation_id="paint", **{{**usual, {declared}}})
    config.add_tree_child(Project, "gates", Gates)
"""
DESCRIBES = 'def json_schema(self):\n        return {"type": "string", "enum": ["red", "green"]}'
PAINT = {"type_": "Colour()", "gate": "Colour()", "declared": "'body': Paint(), 'method': 'POST'"}


@pytest.fixture
def acme(make_service, tmp_path, monkeypatch):
    """Makes a service with a plugin that has a type of its own."""

    def make(method, **parts):
        (tmp_path / "acme_paint.py").write_text(ACME.format(method=method, **{**PAINT, **parts}))
        monkeypatch.syspath_prepend(tmp_path)
        monkeypatch.delitem(sys.modules, "acme_paint", raising=False)
        return make_service(**{"PYRAMID.INCLUDES": "acme_paint"})

    return make


@pytest.mark.slow
def test_a_plugin_s_own_type_is_described_by_itself(acme):
    service = acme(DESCRIBES)
    found = service.nobody().get("/openapi.json").json
    validate(found)
    operation = found["paths"]["/projects/{project}/environments/{env}/paint"]["post"]
    assert operation["tags"] == ["acme_paint"]
    body = found["components"]["schemas"]["Paint"]
    assert body["properties"] == {"colour": {"type": "string", "enum": ["red", "green"]}}
    content = operation["requestBody"]["content"]["application/json"]
    assert content["schema"] == {"$ref": "#/components/schemas/Paint"}
    arrange(service)
    path = "/projects/shop/environments/prod/paint"
    assert service.user().post(path, {"colour": "green"}).json == {"colour": "green"}
    assert service.user().post(path, {"colour": 5}, 422).json["issues"][0]["path"] == "colour"


@pytest.mark.parametrize(
    ("parts", "told"),
    [
        ({}, "body of the operation paint: acme_paint.Colour"),
        ({"type_": "colander.String()"}, "body of the operation paint: colander.String"),
        ({"declared": "'query': Paint()"}, "query of the operation paint: acme_paint.Colour"),
        ({"declared": "'response': ListOf(Paint())"}, "response of the operation paint: acme_paint.Colour"),
        ({"declared": "'response': list[Paint]"}, "response of the operation paint: acme_paint.Paint"),
        (
            {"declared": "'method': 'POST', 'body': Variants('colour', {'red': Paint()})"},
            "body of the operation paint: acme_paint.Colour",
        ),
        ({"declared": ""}, "{gate} in a path: acme_paint.Colour"),
    ],
)
def test_a_type_that_does_not_describe_itself_fails_the_start_by_its_name(acme, parts, told):
    with pytest.raises(ConfigurationError, match=re.escape(told)):
        acme("", **parts)


def test_endpoints_are_read_off_the_configuration_of_the_application(service):
    assert len(endpoints(service.app.registry)) == len(SPECIFIED)


def test_the_viewer_loads_one_script_by_exact_version_and_hash(service):
    page = service.nobody().get("/docs")
    (script,) = re.findall(r"<script[^>]*>", page.text)
    assert re.search(r'src="https://[^"]+@\d+\.\d+\.\d+/[^"]+\.js"', script)
    assert re.search(r'integrity="sha384-[A-Za-z0-9+/]{64}"', script)
    assert 'crossorigin="anonymous"' in script
    assert page.content_type == "text/html"


def test_the_viewer_has_a_content_security_policy_of_its_own(service):
    policy = service.nobody().get("/docs").headers["Content-Security-Policy"].split("; ")
    assert {"connect-src 'self'", "form-action 'none'", "base-uri 'none'"} <= set(policy)
    assert {"style-src 'self' 'unsafe-inline'", "font-src 'self'", "frame-ancestors 'none'"} <= set(policy)
    assert "default-src 'none'" in policy
    (scripts,) = (directive for directive in policy if directive.startswith("script-src"))
    assert scripts.removeprefix("script-src ") in service.nobody().get("/docs").text


def test_the_viewer_lists_every_operation_for_those_without_the_script(service):
    listed = re.findall(r"<code[^>]*>([A-Z]+ [^<]+)</code>", service.nobody().get("/docs").text)
    paths = service.nobody().get("/openapi.json").json["paths"]
    assert sorted(listed) == sorted(f"{method.upper()} {path}" for path in paths for method in paths[path])


def test_the_viewer_calls_no_part_by_the_name_of_its_package(service):
    page = BeautifulSoup(service.user().get("/docs").text, "html.parser")
    headings = [one.text for one in page.select("main h2")]
    assert {"Audit log", "Key ring", "People and tokens"} <= {*headings}
    assert not {"Auditlog", "Keyring", "Identity", "Meta", "Sealedlog"} & {*headings}
    assert len({one["id"] for one in page.select("main h2")}) == len(headings)


def test_the_viewer_reads_the_description_once(service, monkeypatch):
    page = service.nobody().get("/docs").text
    monkeypatch.setattr(viewer, "orjson", None)
    assert service.nobody().get("/docs").text == page


def test_the_frame_of_the_viewer_leads_back_and_says_nothing_of_who_looks_at_it(service, admin):
    page = service.nobody().get("/docs")
    assert admin.get("/docs").body == page.body
    paths = [link["href"] for link in page.html.select(".side a")]
    assert paths == ["/", "/", "/projects"]
    assert not page.html.select("form:not([method=dialog])")


def test_the_public_routes_take_no_parameters(service):
    for path in ("/openapi.json", "/docs", "/health"):
        assert service.nobody().get(f"{path}?a=1", 422).json["issues"][0]["path"] == "a"
        assert service.nobody().request("POST", path, {}, status=401)


MARKED = """
from secretsvc.kernel.schema_annotations import Items
from secretsvc.meta.api import health
from secretsvc.projects.resources import Environment
from secretsvc.web.views import api_view


@api_view("colours", operation_id="listColours", summary="List colours", role="reader")
def colours(context: Environment, request: object) -> Items[str]:
    return Items(["red"])


def includeme(config):
    config.add_api_views(__name__){again}
"""


@pytest.fixture
def marked(make_service, tmp_path, monkeypatch):
    """Makes a service with a plugin that marks an operation, and declares what it marked."""

    def make(again=""):
        (tmp_path / "acme_marked.py").write_text(MARKED.format(again=again))
        monkeypatch.syspath_prepend(tmp_path)
        monkeypatch.delitem(sys.modules, "acme_marked", raising=False)
        return make_service(**{"PYRAMID.INCLUDES": "acme_marked"})

    return make


def test_a_marked_view_is_an_operation_on_what_it_takes_with_what_it_returns(marked):
    found = marked().nobody().get("/openapi.json").json
    operation = found["paths"]["/projects/{project}/environments/{env}/colours"]["get"]
    assert (operation["operationId"], operation["tags"]) == ("listColours", ["acme_marked"])
    content = operation["responses"]["200"]["content"]["application/json"]
    name = content["schema"]["$ref"].rpartition("/")[2]
    assert found["components"]["schemas"][name]["properties"]["items"]["items"] == {"type": "string"}


def test_a_marked_view_is_named_where_there_are_two_of_it(marked):
    with pytest.raises(ConfigurationError, match=r"two of operation listColours: .*acme_marked\.py:"):
        marked("; config.add_api_views(__name__)")
