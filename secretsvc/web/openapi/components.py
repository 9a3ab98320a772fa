"""Components that operations share: parameters, headers, error responses, security schemes."""

from __future__ import annotations

from collections.abc import Mapping
from http.client import responses

from secretsvc.kernel.errors import MAX_ISSUES
from secretsvc.kernel.settings import Settings
from secretsvc.web.error_codes import ErrorCode
from secretsvc.web.headers import REQUEST_ID_HEADER
from secretsvc.web.schema import example_of
from secretsvc.web.tree import Node
from secretsvc.web.types import JsonSchema, NamedSchema, json_schema_of

ERROR_DESCRIPTIONS = {
    400: "Malformed, or a precondition that this API cannot express",
    401: "No valid access assertion",
    403: "Visible, but no grant covers it; or asked from another site",
    404: "Absent or invisible",
    409: "It clashes with what is there",
    412: "The environment is not at the expected revision",
    413: "Over a configured limit",
    422: "Rejected by the schema",
    429: "Too many requests",
    500: "A failure of the service, its configuration or a stored value",
    501: "Known, but not done",
    503: "No administrator is configured, the access proxy's keys are unavailable, or too much is under way",
}

#: The first is what most programs have; the others are put there by the access proxy.
SECURITY: list[dict[str, list[str]]] = [{"bearerToken": []}, {"assertionHeader": []}, {"assertionCookie": []}]


def security_schemes(settings: Settings) -> JsonSchema:
    """The schemes of `SECURITY`, with the deployment's header and cookie.

    Raises `ServerMisconfigured` where one of their names is malformed.
    """
    return {
        "bearerToken": {
            "type": "http",
            "scheme": "bearer",
            "description": "For programs: a service token, or a token of a workload issuer",
        },
        "assertionHeader": {
            "type": "apiKey",
            "in": "header",
            "name": settings.access_header,
            "description": "The access proxy's signed assertion, which the proxy adds to what passes it",
        },
        "assertionCookie": {
            "type": "apiKey",
            "in": "cookie",
            "name": settings.access_cookie,
            "description": "The same assertion, as the proxy leaves it with browsers",
        },
    }


def path_parameter(node: type[Node]) -> JsonSchema:
    """The path parameter of a node class."""
    return {
        "name": node.parameter,
        "in": "path",
        "required": True,
        "schema": json_schema_of(node.grammar_type),
        "example": example_of(node.grammar_type),
    }


def error_responses(error_codes: Mapping[str, ErrorCode]) -> dict[str, JsonSchema]:
    """The response of each error status, by the status."""
    statuses = sorted({status for status, _ in error_codes.values()})
    return {str(status): _error_response(status, error_codes) for status in statuses}


def _error_response(status: int, error_codes: Mapping[str, ErrorCode]) -> JsonSchema:
    codes = [code for code, error in error_codes.items() if error.status == status]
    headers: JsonSchema = {REQUEST_ID_HEADER: {"$ref": "#/components/headers/RequestId"}}
    if status in (429, 503):
        # Of the codes of 503 only UNAVAILABLE knows when.
        headers["Retry-After"] = {"required": status == 429, "schema": {"type": "integer", "minimum": 1}}
    description = ERROR_DESCRIPTIONS.get(status, responses.get(status, "A failure of its own kind"))
    return {
        "description": f"{description}: {', '.join(f'`{code}`' for code in codes)}",
        "headers": headers,
        "content": {"application/json": {"schema": error_schema(error_codes)}},
    }


def error_schema(error_codes: Mapping[str, ErrorCode]) -> NamedSchema:
    """The body of every error response (specification, "Errors")."""
    schema = {
        "type": "object",
        "properties": {
            "code": {"type": "string", "enum": list(error_codes)},
            "message": {"type": "string"},
            "request_id": {"type": "string", "pattern": "^[A-Za-z0-9._-]{1,64}$"},
            "hint": {"type": "string"},
            "issues": {"type": "array", "items": ISSUE, "maxItems": MAX_ISSUES + 1},
        },
        "required": ["code", "message", "request_id"],
    }
    return NamedSchema("Error", schema)


ISSUE = NamedSchema(
    "Issue",
    {
        "type": "object",
        "properties": {"path": {"type": "string"}, "message": {"type": "string"}},
        "required": ["path", "message"],
    },
)
HEADERS = {
    "ETag": {
        "required": True,
        "description": "The environment's revision, in quotes",
        "schema": {"type": "string", "pattern": '^"[0-9]+"$'},
    },
    "Location": {
        "required": True,
        "description": "Where the new resource is, relative to the host",
        "schema": {"type": "string"},
    },
    "RequestId": {
        "required": True,
        "description": "The client's own id where it was offered and well-formed, else a UUIDv7",
        "schema": {"type": "string", "pattern": "^[A-Za-z0-9._-]{1,64}$"},
    },
}
IF_MATCH = {
    "name": "If-Match",
    "in": "header",
    "description": "`*`, or one quoted revision, optionally with the weak prefix; the same as `expected_rev`",
    "schema": {"type": "string", "pattern": '^(\\*|(W/)?"(0|[1-9][0-9]{0,18})")$'},
}
IF_NONE_MATCH = {
    "name": "If-None-Match",
    "in": "header",
    "description": "The revisions that the client knows, or `*`; one that is malformed is ignored",
    "schema": {"type": "string"},
}
