"""Pages as a browser without JavaScript sees them."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cached_property
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from bs4 import BeautifulSoup
from bs4.element import Tag
from html_outline import CONTROLS, Outline
from service import ADMIN, HEADER, QUICK, Service
from webtest import TestApp, TestRequest, TestResponse
from webtest.forms import Form

from secretsvc.web.openapi.document import node_paths
from secretsvc.web.tree import PAGES

_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}")


class _Controls:
    """Those of one form, where WebTest looks for them."""

    def __init__(self, found: list[Tag]) -> None:
        self._found = found

    def find_all(self, _: Any) -> list[Tag]:
        return self._found


class _PageForm(Form):
    """A form of a page that is parsed already."""

    def __init__(self, page: TestResponse, element: Tag, controls: list[Tag]) -> None:
        self.response, self.html = page, _Controls(controls)
        self.action, self.method = element.get("action", ""), element.get("method", "GET")
        self.enctype = element.get("enctype", "application/x-www-form-urlencoded")
        # With an id WebTest would look through the whole page for what names it.
        self.id = None
        self._parse_fields()
        self.id = element.get("id")


class _Page(TestResponse):
    """An answer whose forms are made of the page: WebTest writes each of them out and parses it again."""

    def _parse_forms(self) -> None:
        self._forms_indexed = forms = {}
        belonging: dict[Any, list[tuple[int, Tag]]] = defaultdict(list)
        for one in enumerate(self.html.find_all(CONTROLS)):
            around, named = one[1].find_parent("form"), one[1].get("form")
            if around is not None:
                belonging[id(around)].append(one)
            if named is not None and (around is None or around.get("id") != named):
                belonging[named].append(one)
        for number, element in enumerate(self.html.find_all("form")):
            numbered = belonging[id(element)] + (belonging[element["id"]] if element.has_attr("id") else [])
            controls = [control for _, control in sorted(numbered, key=lambda one: one[0])]
            forms[number] = form = _PageForm(self, element, controls)
            if form.id:
                forms[form.id] = form


class _Request(TestRequest):
    ResponseClass = _Page


class Browser(TestApp):
    """A browser of one person: it follows links and submits forms, and runs nothing."""

    RequestClass = _Request

    def __init__(self, service: Service, subject: str = ADMIN) -> None:
        variable = "HTTP_" + HEADER.upper().replace("-", "_")
        token = service.issuer.sign(subject, kid=QUICK)
        super().__init__(service.app, extra_environ={variable: token, "HTTP_HOST": "localhost:80"})

    def open(self, path: str, status: int = 200, **options: Any) -> TestResponse:
        """The page at a path."""
        return self.get(path, status=status, **options)


class SweptPage(_Page):
    """An answer to a `Sweeper`, which has seen the forms that are left out."""

    @cached_property
    def outline(self) -> Outline:
        """Its elements; the tree is made where a form is new."""
        return Outline(self.testbody)

    def _parse_forms(self) -> None:
        news = [self.test_app.is_new(*form) for form in self.outline.forms]
        self._forms_indexed = {}
        if any(news):
            super()._parse_forms()
            found = [form for number, form in self._forms_indexed.items() if isinstance(number, int)]
            kept = [form for form, new in zip(found, news, strict=True) if new]
            self._forms_indexed = dict(enumerate(kept))


class _SweptRequest(TestRequest):
    ResponseClass = SweptPage


class Sweeper(Browser):
    """Meets a form that stands on many pages, as the search does, on the first whose forms are looked at."""

    RequestClass = _SweptRequest

    def __init__(self, service: Service) -> None:
        super().__init__(service)
        self._seen: set[Any] = set()

    def is_new(self, attributes: dict[str, str], names: frozenset[str | None]) -> bool:
        """Whether none with these fields was sent to such an address before; from now on it was."""
        url = urlsplit(attributes.get("action", ""))
        asked = frozenset(name for name, _ in parse_qsl(url.query))
        shape = attributes.get("method", "get").lower(), _UUID.sub("id", url.path), asked, names
        known = shape in self._seen
        self._seen.add(shape)
        return not known


def declared(registry: Any) -> Iterator[tuple[str, str]]:
    """Each page and form of an application: its path with parameters, and its method."""
    found_at = dict(node_paths(registry.tree))
    for entry in registry.introspector.get_category("views"):
        view = entry["introspectable"]
        if view["route_name"] == PAGES and view.get("page"):
            path, _ = found_at[view["context"]]
            yield f"{path}/{view['name']}".rstrip("/") or "/", view["page"].method


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
