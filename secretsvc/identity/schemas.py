"""What clients send and get of identities."""

from __future__ import annotations

import colander

from secretsvc.kernel.display_names import can_be_set
from secretsvc.kernel.identifiers import PLAIN_NAME
from secretsvc.kernel.subjects import MAX_LENGTH, email_subject, exact_subject
from secretsvc.web.schema import Body, Boolean, Choice, Text, Type, Variants, optional, required
from secretsvc.web.types import JsonSchema, NamedSchema


class PersonSubject(Type):
    """The e-mail address of a person, which is lower-cased."""

    example = "ada@example.com"

    def read(self, node: colander.SchemaNode, value: object) -> str:
        try:
            return email_subject(value)
        except ValueError:
            raise colander.Invalid(node, "Must be an e-mail address.") from None

    def json_schema(self) -> JsonSchema:
        return {"type": "string", "minLength": 3, "maxLength": MAX_LENGTH, "pattern": "^[^@]+@[^@]+$"}


class ServiceSubject(Type):
    """The `common_name` of a service token, as it is."""

    example = "deploy.access"

    def read(self, node: colander.SchemaNode, value: object) -> str:
        try:
            return exact_subject(value)
        except ValueError:
            raise colander.Invalid(node, "Must be the common name of a service token.") from None

    def json_schema(self) -> JsonSchema:
        return {"type": "string", "minLength": 1, "maxLength": MAX_LENGTH}


class DisplayName(Text):
    """A display name, which cannot look like an address (contract 17.1)."""

    example = "Ada Lovelace"

    def read(self, node: colander.SchemaNode, value: object) -> str:
        name = super().read(node, value)
        if not can_be_set(name):
            raise colander.Invalid(node, "Must have no @ and no control or format characters.")
        return name

    def json_schema(self) -> JsonSchema:
        return NamedSchema("DisplayName", super().json_schema() | {"pattern": PLAIN_NAME})


DISPLAY_NAME = DisplayName(minimum=1, maximum=256, strip=True)


class Announced(Body):
    """What may be said of every identity beforehand."""

    display_name = optional(DISPLAY_NAME)


class AnnouncedPerson(Announced):
    """A person."""

    kind = required(Choice("user"))
    subject = required(PersonSubject())


class AnnouncedService(Announced):
    """A service token."""

    kind = required(Choice("service"))
    subject = required(ServiceSubject())


def create_identity_body() -> Variants:
    """`POST /identities`: what a subject may be depends on its kind."""
    people, machines = AnnouncedPerson(), AnnouncedService()
    return Variants("kind", {"user": people, "service": machines}, name="CreateIdentityBody")


class UpdateIdentityBody(Body):
    """`PATCH /identities/{id}`."""

    display_name = optional(DISPLAY_NAME)
    disabled = optional(Boolean())


class IdentityFilter(Body):
    """The filter of the list."""

    q = required(Text(maximum=320, strip=True))
    show = required(Choice("", "people", "services", "announced", "disabled"))
