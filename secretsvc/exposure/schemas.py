"""What clients ask and get of an identity's exposure."""

from __future__ import annotations

import colander
from colander import SchemaNode

from secretsvc.kernel.identifiers import SECRET_KEY, SLUG, is_secret_key, is_slug
from secretsvc.web.schema import Body, IntegerText, Type, optional
from secretsvc.web.types import JsonSchema

#: Instead of a key: after all keys of the environment, as in the use case. It sorts after them.
END = "~"
# As a number up to 2^53 has them.
_DIGITS = 16


class Cursor(Type):
    """Where a page begins: after `project/environment/KEY/version`. It is opaque to clients."""

    example = "shop/prod/API_KEY/12"

    def read(self, node: SchemaNode, value: object) -> tuple[str, str, str, int]:
        parts = value.split("/") if isinstance(value, str) else []
        if len(parts) == 4:
            project, environment, key, version = parts
            named = is_slug(project) and is_slug(environment) and (is_secret_key(key) or key == END)
            if named and version.isascii() and version.isdigit() and len(version) <= _DIGITS:
                return project, environment, key, int(version)
        raise colander.Invalid(node, "Must be a cursor.")

    def json_schema(self) -> JsonSchema:
        slug, key = SLUG.pattern, SECRET_KEY.pattern
        return {"type": "string", "pattern": f"^{slug}/{slug}/(?:{key}|{END})/[0-9]{{1,{_DIGITS}}}$"}


class ExposureQuery(Body):
    """`GET /identities/{id}/exposure`."""

    limit = optional(IntegerText(minimum=1, maximum=500), missing=100)
    cursor = optional(Cursor())
