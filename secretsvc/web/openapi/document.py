"""The OpenAPI 3.1 document of the API, made from the tree and the declarations of its views."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass
from http import HTTPStatus

from colander import SchemaNode
from pyramid.exceptions import ConfigurationError

from secretsvc.kernel.authorization import Role
from secretsvc.web import idempotency
from secretsvc.web.openapi.components import (
    HEADERS,
    IF_MATCH,
    IF_NONE_MATCH,
    SECURITY,
    error_responses,
    path_parameter,
    security_schemes,
)
from secretsvc.web.openapi.references import Glossary, extract_references, with_description, without_bounds
from secretsvc.web.request import ServiceRegistry
from secretsvc.web.response_schemas import response_schema
from secretsvc.web.schema import Body, example_of, field_schema, own_description
from secretsvc.web.tree import API, MOUNTS, Node, Root, Tree
from secretsvc.web.types import JsonSchema, json_schema_of
from secretsvc.web.views import ADMIN_SOMEWHERE, PUBLIC, VISIBLE, Operation

JSON = "application/json"
COMMON_ERRORS = (400, 422, 500)
AUTHENTICATED_ERRORS = (401, 403, 404, 413, 429, 503)

DESCRIPTION = (
    "Secrets by project and environment: versioned, sealed, audited. Times are epoch milliseconds."
    " Every answer bears an `X-Request-Id`."
)
REQUIREMENTS = {
    VISIBLE: "Requires a grant on the project, above it, or on one of its environments.",
    ADMIN_SOMEWHERE: "Requires `admin` at any scope.",
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


def document(registry: ServiceRegistry, version: str, glossary: Glossary) -> JsonSchema:
    """The whole document. Raises `ServerMisconfigured` where a name of a security scheme is malformed."""
    found = endpoints(registry)
    paths: dict[str, JsonSchema] = defaultdict(dict)
    for endpoint in found:
        paths[endpoint.path][endpoint.operation.method.lower()] = _operation(endpoint, glossary)
    operations = [operation for methods in paths.values() for operation in methods.values()]
    parameters = _share_parameters(operations)
    statuses = {status for operation in operations for status in operation["responses"]}
    errors = error_responses(registry.error_codes)
    responses = {status: response for status, response in errors.items() if status in statuses}
    schemas: dict[str, JsonSchema] = {}
    extracted = extract_references(
        {"paths": paths, "parameters": parameters, "responses": responses}, schemas, glossary
    )
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "secretsvc",
            "version": version,
            "description": DESCRIPTION,
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "servers": [{"url": MOUNTS[API].rstrip("/")}],
        "security": SECURITY,
        "tags": [{"name": name} for name in sorted({endpoint.package for endpoint in found})],
        "paths": extracted["paths"],
        "components": {
            "schemas": dict(sorted(schemas.items())),
            "parameters": extracted["parameters"],
            "headers": HEADERS,
            "responses": extracted["responses"],
            "securitySchemes": security_schemes(registry.service_settings),
        },
    }


def _share_parameters(operations: list[JsonSchema]) -> dict[str, JsonSchema]:
    """Return the parameters that several operations have, by name; put references in their place."""
    parameters = [parameter for operation in operations for parameter in operation.get("parameters", ())]
    # Schemas and parameters share one namespace in clients: `project` is no `Project`.
    shared: dict[str, JsonSchema] = {}
    for parameter in parameters:
        if parameters.count(parameter) > 1:
            shared.setdefault(_parameter_name(parameter), parameter)
    for operation in operations:
        for index, parameter in enumerate(operation.get("parameters", ())):
            name = _parameter_name(parameter)
            if shared.get(name) == parameter:
                operation["parameters"][index] = {"$ref": f"#/components/parameters/{name}"}
    return shared


def _parameter_name(parameter: JsonSchema) -> str:
    return f"{parameter['in']}.{parameter['name']}"


def check_operations(registry: ServiceRegistry) -> None:
    """Describe every operation once. Raises `ConfigurationError` for the first that cannot be described."""
    statuses = {status for status, _ in registry.error_codes.values()}
    components: dict[str, JsonSchema] = {}
    for endpoint in endpoints(registry):
        operation = endpoint.operation
        unknown = {*operation.errors} - statuses
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
        extract_references(_operation(endpoint, {}), components, {})


def _operation(endpoint: Endpoint, glossary: Glossary) -> JsonSchema:
    operation = endpoint.operation
    found: JsonSchema = {
        "operationId": operation.operation_id,
        "summary": operation.summary,
        "description": _requirement(endpoint),
        "tags": [endpoint.package],
        "responses": _responses(operation),
    }
    parameters = [path_parameter(node) for node in endpoint.parameters]
    parameters += [_query_parameter(node) for node in operation.query.children]
    query = type(operation.query).__name__
    parameters = [
        with_description(one, glossary, f"{query}.{one['name']}", one["name"]) for one in parameters
    ]
    if operation.if_match:
        parameters.append(IF_MATCH)
    if operation.etag:
        parameters.append(IF_NONE_MATCH)
    if operation.idempotent:
        parameters.append(idempotency.PARAMETER)
    if parameters:
        found["parameters"] = parameters
    if operation.body is not None:
        content = {"schema": json_schema_of(operation.body), "example": example_of(operation.body)}
        found["requestBody"] = {"required": True, "content": {JSON: content}}
    if operation.role is PUBLIC:
        found["security"] = []
    return found


def _requirement(endpoint: Endpoint) -> str:
    role = endpoint.operation.role
    if not isinstance(role, Role):
        return REQUIREMENTS.get(role, "Open to every identity, as far as its grants reach.")
    scopes = [node.scope for node in endpoint.parameters if node.scope is not None]
    where = f"at the {scopes[-1]}" if scopes else "at global scope"
    return f"Requires `{role}` {where}."


def _query_parameter(node: SchemaNode) -> JsonSchema:
    found = {"name": node.name, "in": "query", "schema": field_schema(node)} | own_description(node)
    return found | {"required": True} if node.required else found


def _responses(operation: Operation) -> JsonSchema:
    errors = {*COMMON_ERRORS, *operation.errors}
    if operation.role is not PUBLIC:
        errors |= {*AUTHENTICATED_ERRORS}
    responses = {str(operation.status): _success_response(operation)}
    if operation.etag:
        responses["304"] = _with_headers({"description": "The client knows the revision"}, operation)
    references = {str(status): {"$ref": f"#/components/responses/{status}"} for status in sorted(errors)}
    return responses | references


def _with_headers(response: JsonSchema, operation: Operation) -> JsonSchema:
    """Add the headers that a client needs of a response that is no error."""
    headers: JsonSchema = {}
    if operation.status == 201 and operation.location_header:
        headers["Location"] = {"$ref": "#/components/headers/Location"}
    if operation.etag:
        headers["ETag"] = {"$ref": "#/components/headers/ETag"}
    return response | {"headers": headers} if headers else response


def _success_response(operation: Operation) -> JsonSchema:
    response = _with_headers({"description": HTTPStatus(operation.status).phrase}, operation)
    if operation.response is not None:
        # Generators that support one type take the first.
        media = sorted(operation.media, key=lambda one: one != JSON)
        schema = without_bounds(response_schema(operation.response))
        response["content"] = {
            one: {"schema": schema if one == JSON else {"type": "string"}} for one in media
        }
    if operation.links:
        response["links"] = {
            name: {
                "operationId": name,
                "parameters": {parameter: f"$response.body#/{field}" for parameter, field in fields.items()},
            }
            for name, fields in operation.links.items()
        }
    return response
