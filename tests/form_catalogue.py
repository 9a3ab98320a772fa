"""Every form of the pages: what is typed into it, what refuses it, what others may change meanwhile.

By node class and name of the view. `furnished.furnish` makes what they are sent to.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from bs4.element import Tag
from sample_data import DEV, PROD, SHOP, TOKENS
from webtest import TestResponse

KEY = f"{PROD}/secrets/API_KEY"
LONG_NAME, LONG_REASON = {"name": "n" * 257}, {"reason": "r" * 513}
TOO_BIG = "x" * 65_537
PAST = {"expires_at": "2001-01-02T10:30"}
END = {"until": "1d", "expires_at": "2031-01-02T10:30"}
#: What Back finds: what was typed, or, once the browser may send it again, what was sent to make the page.
TYPED_AGAIN, SENT_AGAIN = "typed", "sent"
WRITTEN = ("POST", f"{PROD}/secrets:batch", {"mode": "merge", "set": {"API_KEY": "theirs"}})


class Typed(NamedTuple):
    """A form with what somebody types into it.

    `wrong` is what makes a refusal of it, `back` what Back finds of it, `large` what is over a limit, None
    where no field may be so long; `theirs` is the request to the API by which it is out of date, None where
    it is drawn from no state.
    """

    page: str
    action: str
    fields: dict[str, str]
    wrong: dict[str, str]
    back: str
    large: dict[str, str] | None = None
    theirs: tuple[str, str, dict[str, Any]] | None = None


def giving(page: str, action: str, **who: str) -> Typed:
    """The panel that gives access."""
    fields = {**who, "role": "writer", "scope": "shop/dev", **END}
    return Typed(f"{page}?grant", action, fields, PAST, TYPED_AGAIN)


def draft(page: str, action: str, wrong: dict[str, str], large: dict[str, str], **fields: str) -> Typed:
    """A change of an environment; the editor and the page of a secret carry a revision.

    A review answers a form, and so does the text, which holds every value.
    """
    at = DEV if page.startswith(DEV) else PROD
    theirs = WRITTEN[0], WRITTEN[1].replace(PROD, at), WRITTEN[2]
    is_sent = page.endswith("/text") or not action.endswith("-review")
    return Typed(page, action, fields, wrong, SENT_AGAIN if is_sent else TYPED_AGAIN, large, theirs)


def editor(name: str, **more: str) -> Typed:
    fields = {"value.API_KEY": "typed", "new.1.key": "FRESH", "new.1.value": "new", **more}
    return draft(PROD, f"{PROD}/{name}", {"new.1.key": "no key"}, {"new.1.value": TOO_BIG}, **fields)


def file(name: str, **more: str) -> Typed:
    fields = {"content": "FRESH=typed", "format": "env", "mode": "merge", **more}
    big = {"content": f"FRESH={TOO_BIG}"}
    return draft(f"{PROD}/import", f"{PROD}/{name}", {"content": "no line"}, big, **fields)


def text(name: str, **more: str) -> Typed:
    fields = {"content": "API_KEY=typed", "rev": "1", **more}
    big = {"content": f"FRESH={TOO_BIG}"}
    return draft(f"{DEV}/text", f"{DEV}/{name}", {"content": "no line"}, big, **fields)


def value(name: str, **more: str) -> Typed:
    fields = {"value.API_KEY": "typed", **more}
    return draft(KEY, f"{KEY}/{name}", {"value.API_KEY": TOO_BIG}, {"value.API_KEY": TOO_BIG}, **fields)


WHY = {"reason": "for a reason"}
RENAMED = {"name": "Another name", "description": "And what for"}
TYPED: dict[tuple[str, str], Typed] = {
    ("Projects", ""): Typed(
        "/projects?new",
        "/projects",
        {"name": "Till", "slug": "till", "description": "Pays", "environments": "One\nTwo", "protect": "yes"},
        {"slug": "No slug"},
        TYPED_AGAIN,
    ),
    ("Project", "settings"): Typed(
        f"{SHOP}/settings",
        f"{SHOP}/settings",
        RENAMED,
        LONG_NAME,
        TYPED_AGAIN,
        theirs=("PATCH", SHOP, {"name": "Theirs"}),
    ),
    ("Project", "delete"): Typed(
        f"{SHOP}/settings", f"{SHOP}/delete", {"confirm": "shop"}, {"confirm": "sho"}, TYPED_AGAIN
    ),
    ("Environments", ""): Typed(
        f"{SHOP}/environments?new",
        f"{SHOP}/environments",
        {"name": "Stage", "slug": "stage", "description": "Before", "protect": "yes"},
        {"slug": "No slug"},
        TYPED_AGAIN,
    ),
    ("Environment", "settings"): Typed(
        f"{PROD}/settings",
        f"{PROD}/settings",
        {**RENAMED, "protected": "yes"},
        LONG_NAME,
        TYPED_AGAIN,
        theirs=("PATCH", PROD, {"name": "Theirs"}),
    ),
    ("Environment", "delete"): Typed(
        f"{PROD}/settings", f"{PROD}/delete", {"confirm": "prod"}, {"confirm": "pro"}, TYPED_AGAIN
    ),
    ("Identities", ""): Typed(
        "/identities?new=user",
        "/identities",
        {"subject": "nina@example.com", "display_name": "Nina"},
        {"subject": "nobody"},
        TYPED_AGAIN,
    ),
    ("Tokens", ""): Typed(
        f"{TOKENS}?new", TOKENS, {"name": "Of the CI", "until": "1w"}, LONG_NAME, TYPED_AGAIN
    ),
    ("Grants", ""): giving("/grants", "/grants", holder="wendy@example.com"),
    ("Grant", ""): Typed(
        "/grants/{late}",
        "/grants/{late}",
        {"role": "admin", **END, "until": ""},
        PAST,
        TYPED_AGAIN,
    ),
    ("Identity", ""): Typed(
        "/identities/{wendy}?rename",
        "/identities/{wendy}",
        {"display_name": "Wendy W."},
        {"display_name": "w" * 257},
        TYPED_AGAIN,
        theirs=("PATCH", "/identities/{wendy}", {"display_name": "Theirs"}),
    ),
    ("Identity", "give"): giving("/identities/{wendy}", "/identities/{wendy}/give"),
    ("Project", "access"): giving(f"{SHOP}/access", f"{SHOP}/access", holder="wendy@example.com"),
    ("Environment", "access"): giving(f"{PROD}/access", f"{PROD}/access", holder="wendy@example.com"),
    ("Groups", ""): Typed(
        "/groups?new", "/groups", {"slug": "ops", **RENAMED}, {"slug": "No slug"}, TYPED_AGAIN
    ),
    ("Group", ""): Typed(
        "/groups/{crew}?edit",
        "/groups/{crew}",
        RENAMED,
        LONG_NAME,
        TYPED_AGAIN,
        theirs=("PATCH", "/groups/{crew}", {"name": "Theirs"}),
    ),
    ("Group", "delete"): Typed(
        "/groups/{crew}?delete", "/groups/{crew}/delete", {"confirm": "crew"}, {"confirm": "cre"}, TYPED_AGAIN
    ),
    ("Group", "add-member"): Typed(
        "/groups/{crew}?add",
        "/groups/{crew}/add-member",
        {"holder": "root@example.com"},
        {"holder": "nobody"},
        TYPED_AGAIN,
    ),
    ("Group", "give"): giving("/groups/{crew}", "/groups/{crew}/give"),
    ("Secret", "describe"): Typed(
        f"{KEY}?describe",
        f"{KEY}/describe",
        {"description": "Of theirs", **WHY},
        LONG_REASON,
        TYPED_AGAIN,
        theirs=WRITTEN,
    ),
    ("Secret", "rename"): Typed(
        f"{KEY}?rename",
        f"{KEY}/rename",
        {"to": "OTHER_KEY", **WHY},
        {"to": "1 bad"},
        TYPED_AGAIN,
        theirs=WRITTEN,
    ),
    ("Secret", "rollback"): Typed(
        f"{KEY}?rollback=1", f"{KEY}/rollback", WHY, LONG_REASON, TYPED_AGAIN, theirs=WRITTEN
    ),
    ("Secret", "delete"): Typed(
        f"{KEY}?delete", f"{KEY}/delete", WHY, LONG_REASON, TYPED_AGAIN, theirs=WRITTEN
    ),
    ("Environment", "restore"): Typed(
        f"{DEV}/restore?rev=0",
        f"{DEV}/restore",
        WHY,
        LONG_REASON,
        TYPED_AGAIN,
        theirs=(WRITTEN[0], f"{DEV}/secrets:batch", WRITTEN[2]),
    ),
    ("Project", "copy"): Typed(
        SHOP,
        f"{SHOP}/copy",
        {"key.API_KEY": "1", "key.ONLY_HERE": "1", "from": "dev", "to": "prod"},
        {"to": "dev"},
        TYPED_AGAIN,
    ),
    ("Environment", "copy-apply"): Typed(
        SHOP,
        f"{PROD}/copy-apply",
        {
            "from": "dev",
            "from_rev": "1",
            "rev": "{rev}",
            "existing": "overwrite",
            "keys": "API_KEY,ONLY_HERE",
            **WHY,
        },
        LONG_REASON,
        SENT_AGAIN,
        theirs=WRITTEN,
    ),
    ("Project", "rename-everywhere"): Typed(
        f"{SHOP}/rename-everywhere?key=API_KEY",
        f"{SHOP}/rename-everywhere",
        {"to": "OTHER_KEY", **WHY},
        {"to": "1 bad"},
        TYPED_AGAIN,
        theirs=WRITTEN,
    ),
    ("Project", "delete-everywhere"): Typed(
        f"{SHOP}/delete-everywhere?key=API_KEY",
        f"{SHOP}/delete-everywhere",
        WHY,
        LONG_REASON,
        TYPED_AGAIN,
        theirs=WRITTEN,
    ),
    ("Environment", "edit-review"): editor("edit-review"),
    ("Environment", "edit-reveal"): editor("edit-reveal", **WHY),
    ("Environment", "edit-apply"): editor("edit-apply", **WHY),
    ("Environment", "edit-back"): editor("edit-back", **WHY),
    ("Environment", "import-review"): file("import-review"),
    ("Environment", "import-reveal"): file("import-reveal", **WHY),
    ("Environment", "import-apply"): file("import-apply", rev="{rev}", **WHY),
    ("Environment", "import-back"): file("import-back", **WHY),
    ("Environment", "text-review"): text("text-review"),
    ("Environment", "text-reveal"): text("text-reveal", **WHY),
    ("Environment", "text-apply"): text("text-apply", **WHY),
    ("Environment", "text-back"): text("text-back", **WHY),
    ("Secret", "write-review"): value("write-review"),
    ("Secret", "write-reveal"): value("write-reveal", **WHY),
    ("Secret", "write-apply"): value("write-apply", **WHY),
    ("Secret", "write-back"): value("write-back", **WHY),
}
#: Forms into which nothing is typed: buttons, and choices that the address of their page holds.
BUTTONS = {
    ("Access", "remove-grant"),
    ("Access", "extend-grant"),
    ("Admin", "rekey"),
    ("Environment", "copy-review"),
    ("Environment", "export"),
    ("Environment", "extend-grant"),
    ("Environment", "read"),
    ("Environment", "remove-grant"),
    ("Environment", "text"),
    ("Environment", "undo"),
    ("Grant", "remove"),
    ("Group", "extend-grant"),
    ("Group", "remove-grant"),
    ("Group", "remove-member"),
    ("Identity", "extend-grant"),
    ("Identity", "remove-grant"),
    ("Identity", "remove"),
    ("Identity", "switch"),
    ("Project", "compare"),
    ("Project", "delete-keys"),
    ("Project", "extend-grant"),
    ("Project", "remove-grant"),
    ("Secret", "reveal"),
    ("Token", "remove"),
}


def is_value(name: str) -> bool:
    """Whether a field of this name holds values of secrets."""
    return name.startswith("value.") or name.endswith(".value") or name in ("content", "paste", "file")


def held(page: TestResponse) -> dict[str, set[str]]:
    """What the controls of a page hold, by their names, as it would be sent."""
    found: dict[str, set[str]] = {}
    for one in page.html.select("input[name], textarea[name], select[name], button[name]"):
        for each in _values(one):
            found.setdefault(one["name"], set()).add(each.replace("\r\n", "\n"))
    return found


def _values(control: Tag) -> list[str]:
    if control.name == "textarea":
        # The first line break after the tag is not of the text.
        return [control.get_text().removeprefix("\n")]
    if control.name == "select":
        return [one.get("value", one.get_text()) for one in control.select("option[selected]")]
    if control.get("type") in ("checkbox", "radio") and not control.has_attr("checked"):
        return []
    return [str(control.get("value", ""))]
