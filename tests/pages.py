"""Pages as a browser without JavaScript sees them."""

from __future__ import annotations

from typing import Any

from bs4 import BeautifulSoup
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


def form_token(page: str) -> str:
    """The token against forged requests that all forms of a page carry."""
    fields = BeautifulSoup(page, "html.parser").find_all(attrs={"name": "csrf"})
    (token,) = {field["value"] for field in fields}
    return str(token)


def form_of(page: TestResponse, action: str) -> Any:
    """The form whose action ends so."""
    found = [*{id(form): form for form in page.forms.values() if form.action.endswith(action)}.values()]
    # The filter of a list and the panel for a new entry have one address.
    (one,) = found if len(found) == 1 else [form for form in found if form.method.upper() == "POST"]
    return one


def submit(page: TestResponse, action: str, status: int = 303, **fields: str) -> TestResponse:
    """Fills in the form whose action ends so, and sends it; a redirection is followed."""
    form = form_of(page, action)
    for name, value in fields.items():
        form[name] = value
    answer = form.submit(status=status)
    return answer.follow() if status == 303 else answer


def press(page: TestResponse, form: str, button: str, value: str, status: int = 303) -> TestResponse:
    """Presses one of the buttons of the form whose action ends so; a redirection is followed."""
    answer = form_of(page, form).submit(button, value=value, status=status)
    return answer.follow() if status == 303 else answer


def words(page: TestResponse, selector: str = "main") -> str:
    """What is to be read in a part of a page, with single spaces."""
    return _read(page.html.select_one(selector))


def rows(page: TestResponse, selector: str = "main") -> list[str]:
    """The same of each row of the tables in a part of a page."""
    return [_read(row) for row in page.html.select(f"{selector} tbody tr")]


def _read(element: Any) -> str:
    return " ".join(element.get_text(" ").split()).replace(" ,", ",")
