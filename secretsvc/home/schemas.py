"""What is searched for, and what is found."""

from __future__ import annotations

from secretsvc.web.schema import Body, IntegerText, Text, optional, required


class PageQuery(Body):
    """What is searched for on the page `/search`."""

    text = required(Text(minimum=1, maximum=256))


class SearchQuery(Body):
    """`GET /search`."""

    q = required(Text(minimum=2, maximum=64))
    limit = optional(IntegerText(minimum=1, maximum=100), missing=20)
