"""Annotations of type hints: keywords of JSON Schema and names of schemas.

Type hints of the dataclasses that use cases return describe the API's answers (web/response_schemas.py).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Generic, TypeVar

from secretsvc.kernel.actors import Kind
from secretsvc.kernel.authorization import Role, ScopeType
from secretsvc.kernel.identifiers import NO_NUL, NOT_BLANK, SECRET_KEY, SECRET_KEY_LENGTH, SLUG, SLUG_LENGTH

MAX_INTEGER = 2**53 - 1
T = TypeVar("T")
#: Schema names that `schema_name` declared.
NAMES: dict[type, str] = {}


class SchemaKeywords:
    """Keywords of JSON Schema: `Annotated[str, SchemaKeywords(maxLength=64)]`."""

    def __init__(self, **keywords: object) -> None:
        self.keywords = keywords


def schema_name(name: str) -> Callable[[type[T]], type[T]]:
    """Decorator: the name of a class in the OpenAPI document, if it differs from the class's own."""

    def mark(kind: type[T]) -> type[T]:
        NAMES[kind] = name
        return kind

    return mark


class SchemaName:
    """The name of a schema of texts: `Annotated[str, one_of("red", "green"), SchemaName("Colour")]`."""

    def __init__(self, name: str) -> None:
        self.name = name


def text(minimum: int, maximum: int) -> SchemaKeywords:
    """Text of so many characters, without NUL."""
    return SchemaKeywords(minLength=minimum, maxLength=maximum, pattern=NO_NUL)


def one_of(*words: str) -> SchemaKeywords:
    """One of a few words."""
    return SchemaKeywords(enum=list(words))


Slug = Annotated[
    str, SchemaKeywords(pattern=f"^{SLUG.pattern}$", minLength=1, maxLength=SLUG_LENGTH), SchemaName("Slug")
]
SecretKey = Annotated[
    str,
    SchemaKeywords(pattern=f"^{SECRET_KEY.pattern}$", minLength=1, maxLength=SECRET_KEY_LENGTH),
    SchemaName("SecretKey"),
]
Name = Annotated[str, SchemaKeywords(minLength=1, maxLength=256, pattern=NOT_BLANK)]
Description = Annotated[str, text(0, 1024)]
Subject = Annotated[str, text(1, 320)]
Reason = Annotated[str, text(0, 512)]
Kid = Annotated[str, text(16, 16)]
Cursor = Annotated[str, text(0, 64)]
Word = Annotated[str, text(1, 64)]
Count = Annotated[int, SchemaKeywords(minimum=0, maximum=MAX_INTEGER)]
#: Epoch milliseconds.
Time = Annotated[int, SchemaKeywords(minimum=0, maximum=MAX_INTEGER), SchemaName("Time")]
#: Of versions of a secret, and of what is counted only where there is one.
Ordinal = Annotated[int, SchemaKeywords(minimum=1, maximum=MAX_INTEGER)]
#: As the database has them: text, which is equal to the members of the enumeration.
KindText = Annotated[str, one_of(*Kind), SchemaName("IdentityKind")]
RoleText = Annotated[str, one_of(*Role), SchemaName("Role")]
ScopeText = Annotated[str, one_of(*ScopeType), SchemaName("ScopeType")]


@dataclass(frozen=True, slots=True)
class Items(Generic[T]):
    """A whole list."""

    items: list[T]
