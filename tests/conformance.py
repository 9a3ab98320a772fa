"""Every answer that a test sees is held against the API's own description, and the bounds of its type.

A client is told no bounds of answers, and that fields may be added; what this release answers has both.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from jsonschema_rs import Draft202012Validator
from webtest import TestResponse

from secretsvc.meta.glossary import GLOSSARY
from secretsvc.web.openapi.document import document, endpoints
from secretsvc.web.response_schemas import response_schema

ALIAS = re.compile(r"^/p/([^/]+)/e/([^/]+)(?=/|$)")


@dataclass(frozen=True)
class Described:
    """One operation of the description and the pattern of its paths."""

    pattern: re.Pattern[str]
    method: str
    responses: dict[str, Any]
    #: Of what the view returns, with its bounds.
    answer: dict[str, Any] | None


class Conformance:
    """The description of one configuration, ready to judge answers."""

    def __init__(self, registry: Any) -> None:
        self.document = document(registry, "1", GLOSSARY)
        self._validators: dict[int, Draft202012Validator] = {}
        declared = [endpoint.operation for endpoint in endpoints(registry)]
        answers = {
            one.operation_id: one.response and closed(response_schema(one.response)) for one in declared
        }
        self.operations = [
            Described(
                _pattern(path), method.upper(), operation["responses"], answers[operation["operationId"]]
            )
            for path, operations in self.document["paths"].items()
            for method, operation in operations.items()
        ]

    def judge(self, method: str, path: str, response: TestResponse) -> None:
        """Asserts that the answer is documented: its status, its headers, its body.

        What no operation describes must be an error in the envelope.
        """
        operation = self._operation("GET" if method == "HEAD" else method, path)
        if operation is None:
            assert response.status_int >= 400, f"{method} {path} is served but not described"
            return
        status = str(response.status_int)
        assert status in operation.responses, f"{method} {path} answered {status}, which is not described"
        described = self._resolved(operation.responses[status])
        for name, header in described.get("headers", {}).items():
            if self._resolved(header).get("required"):
                assert name in response.headers, f"{method} {path} answered {status} without {name}"
        if method != "HEAD":
            self._judge_body(described, response, operation.answer)

    def _judge_body(
        self, described: dict[str, Any], response: TestResponse, answer: dict[str, Any] | None
    ) -> None:
        if "content" not in described:
            assert response.body == b""
            return
        media = response.content_type
        assert media in described["content"], f"{media} is not described"
        if media == "application/json":
            self._validator(described["content"][media]["schema"]).validate(response.json)
            if answer is not None and response.status_int < 300:
                self._validator(answer).validate(response.json)

    def _validator(self, schema: dict[str, Any]) -> Draft202012Validator:
        key = id(schema)
        if key not in self._validators:
            resolved = {**schema, "components": self.document["components"]}
            self._validators[key] = Draft202012Validator(resolved)
        return self._validators[key]

    def _operation(self, method: str, path: str) -> Described | None:
        canonical = ALIAS.sub(r"/projects/\1/environments/\2", unquote(path.partition("?")[0]))
        found = [one for one in self.operations if one.method == method and one.pattern.fullmatch(canonical)]
        # `…/secrets/KEY:reveal` fits the path of a plain key too; the longer template means it.
        return max(found, key=lambda one: len(one.pattern.pattern), default=None)

    def _resolved(self, described: dict[str, Any]) -> dict[str, Any]:
        if "$ref" not in described:
            return described
        found: Any = self.document
        for part in described["$ref"].removeprefix("#/").split("/"):
            found = found[part]
        return found


def closed(schema: Any) -> Any:
    """The schema without members that it does not name."""
    if isinstance(schema, list):
        return [closed(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    found = {name: closed(part) for name, part in schema.items()}
    return {"additionalProperties": False} | found if "properties" in found else found


def _pattern(path: str) -> re.Pattern[str]:
    parts = re.split(r"\{[^}]+\}", path)
    return re.compile("[^/]+".join(re.escape(part) for part in parts))


_known: dict[tuple[str, str, int], Conformance] = {}


def conformance_of(registry: Any) -> Conformance:
    """The description that an application would serve; those of the same names and as many views share it."""
    found: Conformance | None = vars(registry).get("conformance")
    if found is None:
        found = registry.conformance = _shared(registry)
    return found


def _shared(registry: Any) -> Conformance:
    settings = registry.service_settings
    # A package outside adds views.
    views = len(registry.introspector.get_category("views"))
    key = (settings.access_header, settings.access_cookie, views)
    if key not in _known:
        _known[key] = Conformance(registry)
    return _known[key]
