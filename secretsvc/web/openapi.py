"""The API's description, OpenAPI 3.1, read off the tree and the views: there is no list beside them."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from http.client import responses

from colander import SchemaNode
from pyramid.exceptions import ConfigurationError

from secretsvc.kernel.authorization import Role
from secretsvc.web import idempotency
from secretsvc.web.answers import answer_schema
from secretsvc.web.error_codes import ErrorCode
from secretsvc.web.headers import REQUEST_ID_HEADER
from secretsvc.web.request import ServiceRegistry
from secretsvc.web.schema import Body, example_of, field_schema
from secretsvc.web.tree import API, MOUNTS, Node, Root, Tree
from secretsvc.web.types import JsonSchema, described
from secretsvc.web.views import ADMIN_SOMEWHERE, PUBLIC, VISIBLE, Operation

EVERYWHERE = (400, 422, 500)
AUTHENTICATED = (401, 403, 404, 413, 429, 503)

MEANINGS = {
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
REQUIREMENTS = {
    VISIBLE: "Requires that the project is visible: a grant on it, above it, or on one of its environments.",
    ADMIN_SOMEWHERE: "Requires the role `admin` at any scope.",
    PUBLIC: "Open to everybody.",
}


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An operation at its canonical path, relative to the mount, and the package that declared it."""

    path: str
    node: type[Node]
    parameters: tuple[type[Node], ...]
    operation: Operation
    package: str


def endpoints(registry: ServiceRegistry) -> list[Endpoint]:
    """Every operation of the API, in the order of their paths."""
    found_at = dict(node_paths(registry.tree))
    found = []
    for view in registry.introspector.get_category("views"):
        settings = view["introspectable"]
        operation = settings.get("operation")
        if operation is not None:
            if settings["context"] not in found_at:
                raise ConfigurationError(
                    f"operation {operation.operation_id} is on {settings['context'].__qualname__}, which is"
                    " not in the tree: hang it there by config.add_tree_child, or it below another"
                )
            path, parameters = found_at[settings["context"]]
            name = settings["name"]
            path += name if not name or name.startswith(":") else f"/{name}"
            package = _package(settings["callable"].__module__)
            found.append(Endpoint(path or "/", settings["context"], parameters, operation, package))
    return sorted(found, key=lambda endpoint: (endpoint.path, endpoint.operation.method))


def _package(module: str) -> str:
    """The package that declares an operation: in its `api`, a module or a folder, or another module."""
    parts = module.split(".")
    package = parts[: parts.index("api")] if "api" in parts else parts[:-1]
    return (package or parts)[-1]


def node_paths(tree: Tree) -> Iterator[tuple[type[Node], tuple[str, tuple[type[Node], ...]]]]:
    """Each node class with its canonical path and the parameters in it; aliases have no views."""
    waiting: deque[tuple[type[Node], str, tuple[type[Node], ...]]] = deque([(Root, "", ())])
    while waiting:
        node, path, parameters = waiting.popleft()
        yield node, (path, parameters)
        for name, child in tree.children[node].items():
            waiting.append((child, f"{path}/{name}", parameters))
        if node.member is not None and node.member.parameter is not None:
            member = node.member
            waiting.append((member, f"{path}/{{{member.parameter}}}", (*parameters, member)))


def document(registry: ServiceRegistry, version: str) -> JsonSchema:
    """The whole description. Raises `ServerMisconfigured` where the assertion's names are malformed."""
    paths: dict[str, JsonSchema] = defaultdict(dict)
    for endpoint in endpoints(registry):
        paths[endpoint.path][endpoint.operation.method.lower()] = _operation(endpoint)
    settings, codes = registry.service_settings, registry.error_codes
    statuses = {status for status, _ in codes.values()}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "secretsvc",
            "version": version,
            "description": "Secrets by project and environment: versioned, sealed, audited.",
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "servers": [{"url": MOUNTS[API].rstrip("/")}],
        "security": [{"assertionHeader": []}, {"assertionCookie": []}, {"bearerToken": []}],
        "paths": paths,
        "components": {
            "schemas": {"Error": _envelope(codes)},
            "headers": {"RequestId": REQUEST_ID},
            "responses": {f"Error{status}": _error(status, codes) for status in sorted(statuses)},
            "securitySchemes": {
                "assertionHeader": {"type": "apiKey", "in": "header", "name": settings.access_header},
                "assertionCookie": {"type": "apiKey", "in": "cookie", "name": settings.access_cookie},
                "bearerToken": BEARER,
            },
        },
    }


def check_described(registry: ServiceRegistry) -> None:
    """Describes every operation once. Raises `ConfigurationError` for one of which that cannot be done."""
    known = {status for status, _ in registry.error_codes.values()}
    for endpoint in endpoints(registry):
        operation = endpoint.operation
        unknown = {*operation.errors} - known
        if unknown:
            raise ConfigurationError(
                f"operation {operation.operation_id} names the status {min(unknown)}, which no error has:"
                " add one by config.add_error"
            )
        if not isinstance(operation.query, Body):
            raise ConfigurationError(
                f"operation {operation.operation_id} has a query of fields that are not known: derive it from"
                " secretsvc.web.schema.Body"
            )
        _operation(endpoint)


def _operation(endpoint: Endpoint) -> JsonSchema:
    operation = endpoint.operation
    found: JsonSchema = {
        "operationId": operation.operation_id,
        "summary": operation.summary,
        "description": _requirement(endpoint),
        "tags": [endpoint.package],
        "responses": _responses(operation),
    }
    parameters = [_path_parameter(node) for node in endpoint.parameters]
    parameters += [_query_parameter(node) for node in operation.query.children]
    if operation.expects_revision:
        parameters.append(IF_MATCH)
    if operation.tagged:
        parameters.append(IF_NONE_MATCH)
    if operation.idempotent:
        parameters.append(idempotency.DESCRIBED)
    if parameters:
        found["parameters"] = parameters
    if operation.body is not None:
        content = {"schema": described(operation.body), "example": example_of(operation.body)}
        found["requestBody"] = {"required": True, "content": {"application/json": content}}
    if operation.role is PUBLIC:
        found["security"] = []
    return found


def _requirement(endpoint: Endpoint) -> str:
    role = endpoint.operation.role
    if not isinstance(role, Role):
        return REQUIREMENTS.get(role, "Open to every identity; what it shows or does depends on its grants.")
    scopes = [node.scope for node in endpoint.parameters if node.scope is not None]
    where = f"at the {scopes[-1]}" if scopes else "at global scope"
    return f"Requires the role `{role}` {where}."


def _path_parameter(node: type[Node]) -> JsonSchema:
    return {
        "name": node.parameter,
        "in": "path",
        "required": True,
        "schema": described(node.grammar_type),
        "example": example_of(node.grammar_type),
    }


def _query_parameter(node: SchemaNode) -> JsonSchema:
    return {"name": node.name, "in": "query", "required": node.required, "schema": field_schema(node)}


def _responses(operation: Operation) -> JsonSchema:
    statuses = {*EVERYWHERE, *operation.errors}
    if operation.role is not PUBLIC:
        statuses |= {*AUTHENTICATED}
    found = {str(operation.status): _success(operation)}
    if operation.tagged:
        found["304"] = {"description": "The client knows the revision", "headers": _headers(operation)}
    for status in sorted(statuses):
        found[str(status)] = {"$ref": f"#/components/responses/Error{status}"}
    return found


def _headers(operation: Operation) -> JsonSchema:
    headers: JsonSchema = {REQUEST_ID_HEADER: {"$ref": "#/components/headers/RequestId"}}
    if operation.status == 201 and operation.located:
        headers["Location"] = {"required": True, "schema": {"type": "string"}}
    if operation.tagged:
        headers["ETag"] = {"required": True, "schema": {"type": "string", "pattern": '^"[0-9]+"$'}}
    return headers


def _success(operation: Operation) -> JsonSchema:
    found: JsonSchema = {"description": operation.summary, "headers": _headers(operation)}
    if operation.response is not None:
        found["content"] = {media: {"schema": _body(operation, media)} for media in operation.media}
    if operation.links:
        found["links"] = {
            name: {
                "operationId": name,
                "parameters": {parameter: f"$response.body#/{field}" for parameter, field in fields.items()},
            }
            for name, fields in operation.links.items()
        }
    return found


def _body(operation: Operation, media: str) -> JsonSchema:
    return answer_schema(operation.response) if media == "application/json" else {"type": "string"}


def _error(status: int, known: Mapping[str, ErrorCode]) -> JsonSchema:
    codes = [code for code, mapped in known.items() if mapped.status == status]
    headers: JsonSchema = {REQUEST_ID_HEADER: {"$ref": "#/components/headers/RequestId"}}
    if status in (429, 503):
        # Of the codes of 503 only UNAVAILABLE knows when.
        headers["Retry-After"] = {"required": status == 429, "schema": {"type": "integer", "minimum": 1}}
    meaning = MEANINGS.get(status, responses.get(status, "A failure of its own kind"))
    return {
        "description": f"{meaning}: {', '.join(f'`{code}`' for code in codes)}",
        "headers": headers,
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}},
    }


BEARER = {
    "type": "http",
    "scheme": "bearer",
    "description": "A workload issuer's token or a service token, where header and cookie are both absent",
}


def _envelope(known: Mapping[str, ErrorCode]) -> JsonSchema:
    return {
        "type": "object",
        "properties": {
            "code": {"enum": list(known)},
            "message": {"type": "string"},
            "request_id": {"type": "string", "pattern": "^[A-Za-z0-9._-]{1,64}$"},
            "hint": {"type": "string"},
            "issues": {"type": "array", "items": ISSUE},
        },
        "required": ["code", "message", "request_id"],
        "additionalProperties": False,
    }


ISSUE = {
    "type": "object",
    "properties": {"path": {"type": "string"}, "message": {"type": "string"}},
    "required": ["path", "message"],
    "additionalProperties": False,
}
REQUEST_ID = {
    "required": True,
    "description": "The client's own id where it was offered and well-formed, else a UUIDv7",
    "schema": {"type": "string", "pattern": "^[A-Za-z0-9._-]{1,64}$"},
}
IF_MATCH = {
    "name": "If-Match",
    "in": "header",
    "required": False,
    "description": "`*`, or one quoted revision, optionally with the weak prefix; the same as `expected_rev`",
    "schema": {"type": "string", "pattern": '^(\\*|(W/)?"(0|[1-9][0-9]{0,18})")$'},
}
IF_NONE_MATCH = {
    "name": "If-None-Match",
    "in": "header",
    "required": False,
    "description": "The revisions that the client knows, or `*`; one that is malformed is ignored",
    "schema": {"type": "string"},
}
