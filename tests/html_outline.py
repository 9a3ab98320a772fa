"""A page's elements in their order, without a tree: to build one takes most of the time of parsing a page."""

from __future__ import annotations

from html.parser import HTMLParser

CONTROLS = ("input", "select", "textarea", "button")
#: What browsers execute, or take for styles.
CODE = ("script", "style")
Element = tuple[str, dict[str, str]]


class Outline(HTMLParser):
    """Of one page: `elements` with their attributes, and the `text` that stands between them.

    `inline` is what stands in elements of code. `forms` are the attributes of
    each form and the names of its controls, None for those without a name.
    """

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[Element] = []
        self.forms: list[tuple[dict[str, str], frozenset[str | None]]] = []
        self._text: list[str] = []
        self._inline: list[str] = []
        self._inside: list[tuple[dict[str, str], set[str | None]]] = []
        self._elsewhere: list[tuple[str, str | None]] = []
        self._in_form = self._in_code = False
        self.feed(page)
        self.close()
        self.text, self.inline = "".join(self._text), "".join(self._inline)
        for attributes, names in self._inside:
            own = {name for form, name in self._elsewhere if form == attributes.get("id")}
            self.forms.append((attributes, frozenset(names | own)))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        self.elements.append((tag, attributes))
        self._in_code = tag in CODE
        if tag == "form":
            self._inside.append((attributes, set()))
            self._in_form = True
        elif tag in CONTROLS:
            name = attributes.get("name")
            if self._in_form:
                self._inside[-1][1].add(name)
            if "form" in attributes:
                self._elsewhere.append((attributes["form"], name))

    def handle_endtag(self, tag: str) -> None:
        self._in_code = False
        if tag == "form":
            self._in_form = False

    def handle_data(self, data: str) -> None:
        (self._inline if self._in_code else self._text).append(data)
