"""Pages as a browser without JavaScript sees them."""

from __future__ import annotations

from typing import Any

from service import ADMIN, HEADER, Service
from webtest import TestApp, TestResponse


class Browser(TestApp):
    """A browser of one person: it follows links and submits forms, and runs nothing."""

    def __init__(self, service: Service, subject: str = ADMIN) -> None:
        variable = "HTTP_" + HEADER.upper().replace("-", "_")
        token = service.issuer.sign(subject)
        super().__init__(service.app, extra_environ={variable: token, "HTTP_HOST": "localhost:80"})

    def open(self, path: str, status: int = 200, **options: Any) -> TestResponse:
        """The page at a path."""
        return self.get(path, status=status, **options)


def form_of(page: TestResponse, action: str) -> Any:
    """The form whose action ends so."""
    (found,) = {id(form): form for form in page.forms.values() if form.action.endswith(action)}.values()
    return found


def submit(page: TestResponse, action: str, status: int = 303, **fields: str) -> TestResponse:
    """Fills in the form whose action ends so, and sends it; a redirection is followed."""
    form = form_of(page, action)
    for name, value in fields.items():
        form[name] = value
    answer = form.submit(status=status)
    return answer.follow() if status == 303 else answer
