"""What the home page is asked with."""

from __future__ import annotations

from secretsvc.web.schema import Body, Text, required


class SearchQuery(Body):
    """What is searched for on the page `/`; empty for nothing."""

    text = required(Text(maximum=256))
