"""The pages of the prototype: the path of ours beside each, and the elements that are measured on both."""

from __future__ import annotations

#: Of every page: what is measured of an element is its left edge, its width, its height.
SHELL = {
    "sidebar": (".side", "xwh"),
    "brand": (".brand .mark", "xwh"),
    "search": ("#find", "xwh"),
    "entry": (".nav a", "xwh"),
    "title": ("main h1", "x"),
    "main": ("main", "xw"),
    "topbar": (".topbar", "xwh"),
    "menu": (".topbar button", "xwh"),
    "place": (".topbar .where", "x"),
    "search link": (".topbar a.ib", "xwh"),
}
HEAD = {"head": (".head", "xw"), "main action": (".acts .btn.main, .acts .btn", "h")}
TOOLS = {"tools": (".tools", "xwh"), "filter": (".tools .find input", "xwh"), "segment": (".seg a", "xh")}
TABS = {"tabs": (".tabs", "xwh"), "tab": (".tabs a", "xh")}
LOST = {
    "column": (".lost", "xw"),
    "number": (".lost .code", "xh"),
    "heading": (".lost h1", "xw"),
    "reason": (".lost .quiet", "xw"),
}


def columns(table: str, *names: str) -> dict[str, tuple[str, str]]:
    """The heads of a table's first columns."""
    return {
        f"column {name or number}": (f"{table} thead th:nth-child({number})", "xw")
        for number, name in enumerate(names, 1)
    }


#: By the prototype's page: the path of ours, and its elements beside the shell's.
PAGES: dict[str, tuple[str, dict[str, tuple[str, str]]]] = {
    "01-home": (
        "/",
        HEAD
        | columns("table.still", "project", "environments", "change")
        | {
            "attention": (".lines", "xw"),
            "its action": (".lines .btn.s", "h"),
            "aside": ("main aside", "xw"),
            "activity": (".feed li", "xw"),
            "chip": (".chip", "h"),
        },
    ),
    "02-matrix": (
        "/projects/webshop",
        HEAD
        | TOOLS
        | columns("table.matrix", "", "key", "first", "second", "third", "fourth", "more")
        | {
            "row": ("table.matrix tbody tr:not(.group)", "h"),
            "group": ("table.matrix tr.group", "h"),
            "cell": ("a.cell", "h"),
            "tick": (".matrix .pick input", "wh"),
        },
    ),
    "03b-editor-clean": (
        "/projects/webshop/environments/production",
        HEAD
        | TABS
        | TOOLS
        | columns("table.editor", "", "key", "value", "changed", "more")
        | {
            "value": ("tr.old .well", "xw"),
            "reveal": ("tr.old .ib", "wh"),
            "author": (".by .ava, .by.ava", "wh"),
        },
    ),
    "05-secret": (
        "/projects/webshop/environments/production/secrets/DATABASE_URL",
        HEAD
        | {
            "way": (".crumbs", "xw"),
            "value": ("section.card", "xw"),
            "timeline": ("ol.line", "xw"),
            "version": ("ol.line li .knot", "wh"),
            "aside": ("main aside", "xw"),
            "facts": (".facts", "xw"),
        },
    ),
    "06-compare": (
        "/projects/webshop/compare?from=staging&to=production",
        {"head": HEAD["head"]}
        | columns("table.compare", "", "key", "from", "to")
        | {
            "segment": TOOLS["segment"],
            "row": ("table.compare tbody tr", "h"),
            "cell": (".compare .cell", "h"),
            "tick": (".compare .pick input", "wh"),
            "tools": (".tools", "xw"),
            "choice": (".tools select", "xh"),
            "compare": (".tools .btn", "h"),
            "reveal": (".compare .ib", "wh"),
        },
    ),
    "07-access": (
        "/projects/webshop/access",
        HEAD
        | TOOLS
        | columns("table.access", "who")
        | {
            "row": ("table.access tbody tr", "h"),
            "who": (".access .ava", "wh"),
            "role": (".access .pill", "h"),
            "more": (".access .ib", "wh"),
        },
    ),
    "07-access-grant": (
        "/projects/webshop/access?grant",
        {
            "panel": (".panel", "xwh"),
            "panel head": (".panel > header", "xw"),
            "who": (".panel .body .field input", "xwh"),
            "choice": (".panel .choice", "xw"),
            "chip": (".panel .chip", "h"),
            "give": (".panel footer .btn.main", "xh"),
            "foot": (".panel > footer", "xw"),
        },
    ),
    "08-identity": (
        "/identities/{wendy}",
        HEAD
        | {
            "way": (".crumbs", "xw"),
            "face": (".ava.big", "xwh"),
            "roles": ("table.perms", "xw"),
            "role": ("table.perms .pill", "h"),
            "aside": ("main aside", "xw"),
            "facts": (".facts", "xw"),
        },
    ),
    "09-audit": (
        "/audit",
        HEAD
        | {
            "question": (".seg a", "xh"),
            "chip": (".chips .chip", "h"),
            "chart": ("svg.chart", "xwh"),
            "day": (".day", "xw"),
            "record": (".log summary", "xwh"),
            "time": (".log summary time", "x"),
            "sentence": (".log .what", "x"),
        },
    ),
    "10-operations": (
        "/admin/keyring",
        {"head": HEAD["head"]}
        | {
            "rotation": ("section.card", "xw"),
            "ring": ("table.still", "xw"),
            "line": (".lines > li", "xw"),
            "again": (".acts .btn", "h"),
            "state": ("table.still .pill", "h"),
            "section": ("main aside .sect", "xw"),
            "limits": ("main .stack .sect:last-of-type table", "xw"),
            "limit": (".sect:last-of-type table.still tbody tr", "h"),
            "symbol": (".lines .i", "wh"),
            "row": ("table.still tbody tr", "h"),
            "aside": ("main aside", "xw"),
            "progress": ("progress", "xwh"),
        },
    ),
    "11-history": (
        "/projects/webshop/environments/production/history",
        {"head": HEAD["head"]}
        | TABS
        | {
            "revisions": (".revs", "xw"),
            "revision": (".revs .rev", "x"),
            "changes": ("table.diff", "xw"),
            "sign": ("table.diff .sign", "wh"),
            "restore": ("form.card", "xw"),
        },
    ),
    "12-404": (
        "/projects/absent",
        LOST
        | {
            "search": (".hero input", "xwh"),
            "home": (".lost .btn.main", "xh"),
            "request": (".lost .help", "xw"),
        },
    ),
    "01c-search": (
        "/search?q=DATABASE",
        {
            "head": HEAD["head"],
            "search": (".hero input", "xwh"),
            "segment": (".seg a", "xh"),
            "section": ("main .sect", "xw"),
            "line": ("main .lines > li", "xw"),
            "key": ("main .lines .key", "x"),
            "chip": (".chip", "h"),
        },
    ),
    "01b-first-run": (
        "/",
        {
            "head": HEAD["head"],
            "steps": ("ol.steps", "xw"),
            "number": (".steps .no", "xwh"),
            "form": (".steps form", "xw"),
            "name": ("input[name=name]", "xwh"),
            "address": ("input[name=slug]", "xwh"),
            "chip": (".steps .chip", "h"),
            "create": (".steps .btn.main", "xh"),
            "command": ("pre.cmd", "xw"),
            "aside": ("main aside", "xw"),
            "card": ("main aside .card", "xw"),
            "line": ("main aside .lines li", "xw"),
            "roles": ("main aside .facts", "xw"),
        },
    ),
    "02b-matrix-selected": (
        "/projects/webshop",
        {
            "dock": (".dock.when-picked", "xwh"),
            "number": (".dock.when-picked b", "xh"),
            "target": (".dock.when-picked #to", "h"),
            "copy": (".dock.when-picked .btn.main", "h"),
            "compare": (".dock.when-picked .hide-s", "h"),
            "delete": (".dock.when-picked .btn.bad", "xwh"),
            "tick": (".matrix .pick input", "xwh"),
            "row": ("table.matrix tbody tr:not(.group)", "h"),
            "filter": TOOLS["filter"],
        },
    ),
    "03-editor": (
        "/projects/webshop/environments/production",
        {
            "dock": (".dock.when-staged", "xwh"),
            "tally": (".dock.when-staged .tally", "xh"),
            "review": (".dock.when-staged .btn.main", "xwh"),
            "discard": (".dock.when-staged .btn.plain", "wh"),
            "new key": ("tr.new .nk", "xwh"),
            "description": ("tr.new .d", "xwh"),
            "new value": ("tr.new .well", "xw"),
            "generate": ("tr.new .ib", "wh"),
            "state": ("tr.new .pill", "h"),
            "keep": ("tr.old label.btn", "h"),
        },
    ),
    "04-review": (
        "/projects/webshop/environments/production",
        {
            "way": (".crumbs", "xw"),
            "head": HEAD["head"],
            "what": ("form .sect", "xw"),
            "reveal all": (".more .btn", "h"),
            "changes": ("table.diff", "xw"),
            "row": ("table.diff tbody tr:not(:has(.sub))", "h"),
            "sign": ("table.diff .sign", "xwh"),
            "reveal": ("table.diff .btn", "h"),
            "rest": ("form .stack > .card", "xw"),
            "aside": ("main aside", "xw"),
            "note": ("aside .note", "xw"),
            "reason": ("#reason", "xw"),
            "apply": ("aside .btn.main", "xh"),
        },
    ),
    "12-403": (
        "/projects/webshop/environments/production/import",
        LOST
        | {
            "why": (".lost .why", "xw"),
            "decides": (".lost .why .pill", "h"),
            "admins": (".lost .card", "xw"),
            "admin": (".lost .lines li", "xw"),
            "face": (".lost .ava", "xwh"),
            "back": (".lost .btn.main", "xh"),
            "request": (".lost > .help:last-child", "xw"),
        },
    ),
    "12-412": (
        "/projects/webshop/environments/production",
        LOST
        | {
            "way": (".crumbs", "x"),
            "table": ("table.still", "xw"),
            "row": ("table.still tbody tr", "h"),
            "key": ("table.still .key", "x"),
            "both": ("table.still .pill", "h"),
            "review": (".lost .btn.main", "xh"),
            "discard": (".lost .btn.bad", "h"),
            "request": (".lost > .help", "xw"),
        },
    ),
}
