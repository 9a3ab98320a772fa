"""What is searched for, and what is found."""

from __future__ import annotations

from secretsvc.secrets.schemas.secrets import SecretKey
from secretsvc.web.schema import (
    Body,
    Choice,
    IntegerText,
    Items,
    Slug,
    Text,
    optional,
    required,
)


class PageQuery(Body):
    """What is searched for on the page `/`."""

    text = required(Text(minimum=1, maximum=256))


class SearchQuery(Body):
    """`GET /search`."""

    q = required(Text(minimum=2, maximum=64))
    limit = optional(IntegerText(minimum=1, maximum=100), missing=20)


class Found(Body):
    """A project, environment or secret."""

    kind = required(Choice("project", "environment", "secret"))
    project = required(Slug())
    environment = required(Slug(nullable=True))
    key = required(SecretKey(nullable=True))
    name = required(Text(minimum=1, maximum=256, strip=True, nullable=True))


class FoundList(Body):
    """What a search found."""

    items = required(Items(Found()))
