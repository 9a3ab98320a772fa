"""What templates need to draw a page's form: what was typed, and the form token."""

from __future__ import annotations

from functools import cached_property

from secretsvc.web.forms import CSRF_FIELD, Form, form_token
from secretsvc.web.request import ServiceRequest


class PageForm:
    """The part of `ui` about the page's form."""

    request: ServiceRequest
    token_field = CSRF_FIELD

    @property
    def form(self) -> Form:
        """What was typed into the page's form, and what was wrong with it."""
        return self.request.form

    @cached_property
    def token(self) -> str:
        """The token of the caller's forms."""
        call = self.request.call
        return form_token(call.ring, call.actor, call.now)

    @staticmethod
    def typed(text: str) -> str:
        """Text as the content of a text area, whose first line break a browser would swallow."""
        return f"\n{text}"
