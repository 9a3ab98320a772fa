"""What clients send and get of secrets."""

from __future__ import annotations

from typing import Any

import colander

from secretsvc.kernel.grammar import SECRET_KEY, SECRET_KEY_LENGTH, is_secret_key
from secretsvc.web.schema import (
    DESCRIPTION,
    Body,
    Boolean,
    Choice,
    Identifier,
    Integer,
    IntegerText,
    Items,
    JsonSchema,
    ListOf,
    MapOf,
    Text,
    Type,
    optional,
    required,
)

KEY_GRAMMAR = "Must be the name of an environment variable."


class SecretKey(Type):
    """The name of a secret (specification, "Common grammar")."""

    example = "API_KEY"

    def read(self, node: Any, value: Any) -> str:
        if not isinstance(value, str) or not is_secret_key(value):
            raise colander.Invalid(node, KEY_GRAMMAR)
        return value

    def json_schema(self) -> JsonSchema:
        return {
            "type": "string",
            "pattern": f"^{SECRET_KEY.pattern}$",
            "minLength": 1,
            "maxLength": SECRET_KEY_LENGTH,
        }


class SecretValue(Type):
    """A value: any text, NUL included, because what is stored is its envelope."""

    example = "s3cr3t"

    def read(self, node: Any, value: Any) -> str:
        if not isinstance(value, str):
            raise colander.Invalid(node, "Must be a string.")
        return value

    def json_schema(self) -> JsonSchema:
        return {"type": "string"}


MODE = Choice("merge", "replace")
REASON = Text(maximum=512, nullable=True)
READ_REASON = Choice("reveal", "copy", "export", "run")
KID = Text(minimum=16, maximum=16, nullable=True)
VALUES = MapOf(SecretKey(), SecretValue())
DESCRIPTIONS = MapOf(SecretKey(), DESCRIPTION)


class StateQuery(Body):
    """`GET …/secrets`."""

    rev = optional(IntegerText())


class RevealQuery(Body):
    """`GET …/secrets/{key}`."""

    reason = optional(READ_REASON, missing="reveal")
    version = optional(IntegerText(minimum=1))


class ExportQuery(Body):
    """`GET …/secrets:export`."""

    format = optional(Choice("json", "env"), missing="json")
    reason = optional(READ_REASON, missing="export")
    rev = optional(IntegerText())


class BatchBody(Body):
    """`POST …/secrets:batch`."""

    mode = required(MODE)
    set = optional(VALUES)
    descriptions = optional(DESCRIPTIONS)
    delete = optional(ListOf(SecretKey()))
    expected_rev = optional(Integer(), missing=None)
    reason = optional(REASON)


class ImportBody(Body):
    """`POST …/secrets:import`."""

    format = required(Choice("env", "json"))
    content = required(SecretValue())
    mode = required(MODE)
    dry_run = optional(Boolean(), missing=False)
    expected_rev = optional(Integer(), missing=None)
    reason = optional(REASON)


class RenameBody(Body):
    """`POST …/secrets:rename`."""

    # `from` is a word of the language, so that the field's name is given as text.
    source = required(SecretKey(), name="from")
    to = required(SecretKey())
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


class RollbackForm(RollbackBody):
    """As the API's, by a form, where all is text."""

    to_version = required(IntegerText(minimum=1))


class ListedSecret(Body):
    """A secret without its value."""

    key = required(SecretKey())
    version = required(Integer(minimum=1))
    description = required(DESCRIPTION)
    kid = required(KID)
    created_at = required(Integer())
    updated_at = required(Integer())
    readable = required(Boolean())
    error = required(Choice("DECRYPT_FAILED", "UNKNOWN_KID", nullable=True))


class SecretList(Body):
    """The secrets of an environment."""

    items = required(Items(ListedSecret()))
    rev = required(Integer())


class Secret(Body):
    """A secret with its value."""

    key = required(SecretKey())
    value = required(SecretValue())


class Version(Body):
    """One version of a secret."""

    version = required(Integer(minimum=1))
    kid = required(KID)
    deleted = required(Boolean())
    created_at = required(Integer())
    created_by = required(Identifier(literals=("system",)))


class VersionList(Body):
    """The history of a key."""

    key = required(SecretKey())
    items = required(Items(Version()))


class Change(Body):
    """What a write did to one key."""

    key = required(SecretKey())
    kind = required(Choice("added", "changed", "removed"))
    version = optional(Integer(minimum=1))


class WriteResult(Body):
    """The outcome of a write, or of a dry run."""

    rev = required(Integer())
    dry_run = optional(Boolean())
    changes = required(Items(Change()))


class Export(Body):
    """Every value of an environment."""

    rev = required(Integer())
    secrets = required(VALUES)
