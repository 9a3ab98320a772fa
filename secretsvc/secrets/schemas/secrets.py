"""What clients send and get of secrets."""

from __future__ import annotations

import re
from collections.abc import Collection

import colander

from secretsvc.kernel.identifiers import SECRET_KEY, SECRET_KEY_LENGTH, is_secret_key
from secretsvc.web.schema import (
    DESCRIPTION,
    Body,
    Boolean,
    Choice,
    Integer,
    IntegerText,
    JsonSchema,
    ListOf,
    MapOf,
    NamedSchema,
    Text,
    Type,
    optional,
    required,
)

SUBDOMAIN_LENGTH = 253
_LABEL = "[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?"
SUBDOMAIN = re.compile(rf"{_LABEL}(\.{_LABEL})*")
KEY_GRAMMAR = "Use A-Z, a-z, 0-9 and _, not starting with a digit."


class SecretKey(Type):
    """The name of a secret (specification, "Common grammar")."""

    example = "API_KEY"

    def read(self, node: colander.SchemaNode, value: object) -> str:
        if not isinstance(value, str) or not is_secret_key(value):
            raise colander.Invalid(node, KEY_GRAMMAR)
        return value

    def json_schema(self) -> JsonSchema:
        found = {
            "type": "string",
            "pattern": f"^{SECRET_KEY.pattern}$",
            "minLength": 1,
            "maxLength": SECRET_KEY_LENGTH,
        }
        return NamedSchema("SecretKey", found)


class SecretValue(Type):
    """A value: any text, NUL included, because what is stored is its envelope."""

    example = "s3cr3t"

    def read(self, node: colander.SchemaNode, value: object) -> str:
        if not isinstance(value, str):
            raise colander.Invalid(node, "Must be a string.")
        return value

    def json_schema(self) -> JsonSchema:
        return {"type": "string"}


class Revision(Integer):
    """A revision of an environment."""

    def json_schema(self) -> JsonSchema:
        return NamedSchema("Rev", super().json_schema())


class RevisionText(IntegerText, Revision):
    """The same in a query string."""


class Subdomain(Type):
    """The name of a Kubernetes object: a DNS subdomain (RFC 1123)."""

    example = "shop-prod"

    def read(self, node: colander.SchemaNode, value: object) -> str:
        if not isinstance(value, str) or len(value) > SUBDOMAIN_LENGTH or not SUBDOMAIN.fullmatch(value):
            raise colander.Invalid(node, "Must be a DNS subdomain in lower case.")
        return value

    def json_schema(self) -> JsonSchema:
        return {
            "type": "string",
            "pattern": f"^{SUBDOMAIN.pattern}$",
            "minLength": 1,
            "maxLength": SUBDOMAIN_LENGTH,
        }


MODE = Choice("merge", "replace", name="Mode")
REASON = Text(maximum=512, nullable=True)
READ_REASON = Choice("reveal", "copy", "export", "run")
VALUES = MapOf(SecretKey(), SecretValue())
DESCRIPTIONS = MapOf(SecretKey(), DESCRIPTION)


class StateQuery(Body):
    """`GET …/secrets`."""

    rev = optional(RevisionText())


class RevealQuery(Body):
    """`GET …/secrets/{key}`."""

    reason = optional(READ_REASON, missing="reveal")
    version = optional(IntegerText(minimum=1))
    format = optional(Choice("json", "raw"), missing="json")


class ExportQuery(Body):
    """`GET …/secrets:export`; `formats` are the names of those that can be written."""

    def __init__(self, formats: Collection[str]) -> None:
        super().__init__()
        self.children.insert(0, optional(Choice.of(formats), name="format", missing="json"))

    reason = optional(READ_REASON, missing="export")
    rev = optional(RevisionText())
    name = optional(Subdomain())


class BatchBody(Body):
    """`POST …/secrets:batch`."""

    mode = required(MODE)
    set = optional(VALUES)
    descriptions = optional(DESCRIPTIONS)
    delete = optional(ListOf(SecretKey()))
    expected_rev = optional(Revision(), missing=None)
    reason = optional(REASON)


class ImportBody(Body):
    """`POST …/secrets:import`; `formats` are the names of those that can be read."""

    def __init__(self, formats: Collection[str]) -> None:
        super().__init__()
        self.children.insert(0, required(Choice.of(formats), name="format"))

    content = required(SecretValue(), example="API_KEY=s3cr3t")
    mode = required(MODE)
    dry_run = optional(Boolean(), missing=False)
    expected_rev = optional(Revision(), missing=None)
    reason = optional(REASON)


class RenameBody(Body):
    """`POST …/secrets:rename`."""

    # `from` is a word of the language, so that the field's name is given as text.
    source = required(SecretKey(), name="from")
    to = required(SecretKey(), example="API_TOKEN")
    reason = optional(REASON)


class RollbackBody(Body):
    """`POST …/secrets:rollback`."""

    key = required(SecretKey())
    to_version = required(Integer(minimum=1))
    reason = optional(REASON)


class ApplyForm(Body):
    """The form that writes a draft: why, and the revision that it was drawn from."""

    rev = optional(IntegerText(), missing=None)
    reason = optional(REASON)


class KeyQuery(Body):
    """The page of one key in all environments."""

    key = required(SecretKey())


class EverywhereForm(KeyQuery):
    """The form that deletes it there."""

    reason = optional(REASON)


class SeenRevision(Body):
    """The revision at which somebody saw an environment."""

    rev = required(IntegerText())


class RollbackForm(RollbackBody):
    """As the API's, by a form, where all is text."""

    to_version = required(IntegerText(minimum=1))


class SecretPageQuery(Body):
    """The page of a secret: which versions it compares, which it shows, and what was done to it."""

    left = optional(IntegerText(minimum=1))
    right = optional(IntegerText(minimum=1))
    before = optional(IntegerText(minimum=1))
    rollback = optional(IntegerText(minimum=1))
    rolled_back = optional(IntegerText(minimum=1))
    to = optional(IntegerText(minimum=1))
    renamed = optional(IntegerText(minimum=1))


class RevealForm(Body):
    """The form that shows a value: the current one, that of a version, or those of two."""

    reason = optional(READ_REASON, missing="reveal")
    version = optional(IntegerText(minimum=1))
    left = optional(IntegerText(minimum=1))
    right = optional(IntegerText(minimum=1))


class DescribeForm(Body):
    """The form that changes a description."""

    description = required(DESCRIPTION)
    reason = optional(REASON)
