"""What makes the API's description fit for generators of clients (docs/use/generated-clients.md)."""

from __future__ import annotations

import json
from collections import defaultdict

import pytest

from secretsvc.meta import api
from secretsvc.meta.glossary import GLOSSARY
from secretsvc.web.openapi.document import endpoints
from secretsvc.web.openapi.references import extract_references, with_description, without_bounds
from secretsvc.web.response_schemas import response_schema
from secretsvc.web.types import NamedSchema

#: Bytes, as they are served.
LARGEST = 96 * 1024
#: The names of bodies in the specification, and of resources in the specification and the contract.
SPECIFIED = [
    "AddGroupMemberBody",
    "BatchBody",
    "CreateEnvironmentBody",
    "CreateGrantBody",
    "CreateGroupBody",
    "CreateGroupGrantBody",
    "CreateProjectBody",
    "ImportBody",
    "RekeyBody",
    "RenameBody",
    "RollbackBody",
    "UpdateGroupBody",
    "UpdateIdentityBody",
    "UpdateProjectBody",
    "AuditRecord",
    "EffectivePermissions",
    "Environment",
    "Error",
    "Export",
    "Grant",
    "Group",
    "Identity",
    "KeyRing",
    "Project",
    "SecretValue",
    "UnknownIdentity",
    "WhoAmI",
    "WriteResult",
]


@pytest.fixture
def raw(service):
    return service.nobody().get("/openapi.json").body


@pytest.fixture
def document(raw):
    return json.loads(raw)


@pytest.fixture
def schemas(document):
    return document["components"]["schemas"]


def operations(document):
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield f"{method.upper()} {path}", operation


def parts(value):
    """Every object within a value, itself included."""
    if isinstance(value, dict):
        yield value
        for member in value.values():
            yield from parts(member)
    elif isinstance(value, list):
        for item in value:
            yield from parts(item)


def resolved(document, part):
    """What a part stands for, with what is said beside a reference."""
    found = document
    for name in part.get("$ref", "#").split("/")[1:]:
        found = found[name]
    return {**found, **part} if "$ref" in part else part


def test_it_is_small(raw):
    assert len(raw) < LARGEST


def test_it_is_made_once_and_then_answered_from_memory(make_service, monkeypatch):
    service = make_service()
    before = service.nobody().get("/openapi.json").body
    monkeypatch.setattr(api, "document", None)
    assert service.nobody().get("/openapi.json").body == before


def test_every_reference_leads_to_something(document):
    references = [part["$ref"] for part in parts(document) if "$ref" in part]
    mappings = [part["mapping"].values() for part in parts(document) if "mapping" in part]
    assert len(references) > 500
    assert mappings
    for reference in [*references, *(one for mapping in mappings for one in mapping)]:
        assert resolved(document, {"$ref": reference})


def test_what_has_a_name_is_used(document):
    used = {part["$ref"] for part in parts(document) if "$ref" in part}
    for kind in ("schemas", "parameters", "headers", "responses"):
        for name in document["components"][kind]:
            assert f"#/components/{kind}/{name}" in used, name


def test_every_object_has_a_name(document, schemas):
    named = {id(schema) for schema in schemas.values()}
    inline = [part for part in parts(document) if "properties" in part and id(part) not in named]
    assert inline == []


def test_the_names_are_those_of_the_specification(schemas):
    assert set(SPECIFIED) - schemas.keys() == set()


def test_no_schema_stands_under_two_names_but_where_the_specification_has_both(schemas):
    names = defaultdict(list)
    for name, schema in schemas.items():
        names[json.dumps(schema)].append(name)
    for same in names.values():
        assert len(same) == 1 or set(same) <= {*SPECIFIED}


def test_every_field_has_a_sentence_of_its_own_or_of_its_type(document, schemas):
    fields = 0
    for name, schema in schemas.items():
        for field, part in schema.get("properties", {}).items():
            assert resolved(document, part).get("description", "").endswith("."), f"{name}.{field}"
            fields += 1
    assert fields > 250


def test_every_parameter_has_a_sentence(document):
    found = 0
    for name, operation in operations(document):
        for part in operation.get("parameters", ()):
            parameter = resolved(document, part)
            assert parameter.get("description"), f"{name}: {parameter['name']}"
            found += 1
    assert found > 90


def test_every_word_of_the_glossary_is_used(document, make_service):
    with_tokens = make_service(SERVICE_TOKENS="on").nobody().get("/openapi.json").json
    described = [part.get("description") for part in parts([document, with_tokens])]
    said = {one for one in described if isinstance(one, str)}
    assert [word for word, sentence in GLOSSARY.items() if sentence not in said] == []


def test_a_word_of_the_glossary_without_a_schema_stands_in_several(document, make_service):
    """Or it would be said of a field of a package outside, which means something else by it."""
    service = make_service(SERVICE_TOKENS="on")
    owners = defaultdict(set)
    with_tokens = service.nobody().get("/openapi.json").json
    for name, schema in with_tokens["components"]["schemas"].items():
        for field in schema.get("properties", {}):
            owners[field].add(name)
    for endpoint in endpoints(service.app.registry):
        for node in endpoint.operation.query.children:
            owners[node.name].add(type(endpoint.operation.query).__name__)
        for node in endpoint.parameters:
            owners[node.parameter] |= {"path", endpoint.path}
    words = [word for word in GLOSSARY if word[0].islower()]
    assert len(words) > 30
    assert [word for word in words if len(owners[word]) < 2] == []


def test_a_choice_of_schemas_tells_by_which_field_to_choose(document, schemas):
    choices = {name: schema for name, schema in schemas.items() if "oneOf" in schema}
    assert set(choices) == {"CreateGrantBody", "CreateGroupGrantBody", "CreateIdentityBody"}
    for schema in choices.values():
        chosen = schema["discriminator"]
        assert [*chosen["mapping"].values()] == [one["$ref"] for one in schema["oneOf"]]
        for value, reference in chosen["mapping"].items():
            branch = resolved(document, {"$ref": reference})
            assert branch["properties"][chosen["propertyName"]]["enum"] == [value]
            assert chosen["propertyName"] in branch["required"]
    assert len([part for part in parts(document) if "oneOf" in part]) == len(choices)


def test_the_only_other_choice_is_that_of_null(document):
    for part in parts(document):
        if "anyOf" in part:
            assert "$ref" in part["anyOf"][0]
            assert part["anyOf"][1:] == [{"type": "null"}]


def test_null_is_a_type_and_never_a_default_or_one_of_a_list(document):
    for part in parts(document):
        assert part.get("default", 0) is not None
        # Some generators have no name for the member null.
        assert None not in (part.get("enum") or ()) or part["type"] == ["string", "null"]


def test_integers_that_may_pass_32_bits_say_so(document):
    described = [document["paths"], document["components"]["schemas"], document["components"]["parameters"]]
    for part in parts(described):
        if part.get("type") in ("integer", ["integer", "null"]):
            assert part.get("maximum", 2**53) < 2**31 or part["format"] == "int64"


def test_bodies_are_closed_and_answers_open_to_what_a_later_release_adds(document, schemas):
    bodies = [
        operation["requestBody"]["content"]["application/json"]["schema"]
        for _, operation in operations(document)
        if "requestBody" in operation
    ]
    sent, waiting = set(), [part["$ref"] for body in bodies for part in parts(body) if "$ref" in part]
    while waiting:
        reference = waiting.pop()
        if reference not in sent:
            sent.add(reference)
            waiting += [
                part["$ref"] for part in parts(resolved(document, {"$ref": reference})) if "$ref" in part
            ]
    for name, schema in schemas.items():
        if "properties" in schema:
            assert ("additionalProperties" in schema) == (f"#/components/schemas/{name}" in sent), name


def test_there_is_one_schema_of_errors(document):
    for response in document["components"]["responses"].values():
        assert response["content"]["application/json"]["schema"] == {"$ref": "#/components/schemas/Error"}


def test_json_comes_first_of_several_types_of_an_answer(document):
    several = 0
    for name, operation in operations(document):
        for response in operation["responses"].values():
            media = [*response.get("content", {})]
            if "application/json" in media:
                assert media[0] == "application/json", name
                several += len(media) > 1
    assert several == 3


def test_no_operation_is_options(document):
    assert {name.split(" ")[0] for name, _ in operations(document)} == {"GET", "POST", "PATCH", "DELETE"}


def test_every_tag_is_declared_once(document):
    declared = [tag["name"] for tag in document["tags"]]
    assert declared == sorted({tag for _, operation in operations(document) for tag in operation["tags"]})


def test_what_a_field_says_itself_goes_before_the_glossary_and_the_schema_s_entry_before_the_word():
    glossary = {"a": "Anything.", "S.b": "Of S.", "b": "Any b.", "T": "A type."}
    typed = NamedSchema("T", {"type": "string"})
    fields = {"a": {"description": "Own."}, "b": {}, "c": {}, "d": typed, "a2": {}}
    found = {}
    assert extract_references(NamedSchema("S", {"properties": fields}), found, glossary) == {
        "$ref": "#/components/schemas/S"
    }
    assert found["S"]["properties"] == {
        "a": {"description": "Own."},
        "b": {"description": "Of S."},
        "c": {},
        "d": {"$ref": "#/components/schemas/T"},
        "a2": {},
    }
    assert found["T"] == {"type": "string", "description": "A type."}
    assert with_description({}, glossary, "a") == {"description": "Anything."}


def test_answers_promise_no_bounds_but_a_field_may_be_called_like_one():
    answer = {"properties": {"pattern": {"type": "string", "maxLength": 3}}, "required": ["pattern"]}
    assert without_bounds(answer) == {"properties": {"pattern": {"type": "string"}}, "required": ["pattern"]}
    assert without_bounds(response_schema(dict[str, int])) == {
        "type": "object",
        "additionalProperties": {"type": "integer", "format": "int64"},
    }
