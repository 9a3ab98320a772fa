"""The figures of docs/scale.md and sizing.md follow from one measured table and the bytes of a record."""

from __future__ import annotations

import re
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
CLIENTS, DAY, YEAR = 100_000, 86_400, 365 * 86_400
MICRO, MEGA, GIGA = 1e-6, 1e6, 1e9
NOT_REMEMBERED, SEEN = "304 to an assertion that is not remembered", "304 that also writes `last_seen_at`"
EXPORT, NOTHING_NEW, ENVIRONMENT = "export of 500", "export, answered 304", "the environment"


def page(name: str) -> str:
    return (DOCS / name).read_text("utf-8")


def table(text: str, head: str) -> dict[str, list[str]]:
    """The rows of the table whose head begins so, by their first cells."""
    _, found, below = text.partition(f"\n| {head} |")
    assert found, head
    rows = below.partition("\n\n")[0].splitlines()[2:]
    cells = [[cell.strip() for cell in row.strip("|").split(" | ")] for row in rows]
    return {first: rest for first, *rest in cells}


def number(text: str) -> float:
    return float(text.replace(",", ""))


SCALE, SIZING = page("scale.md"), page("operations/sizing.md")
MEASURED = {name: [number(one) for one in row] for name, row in table(SCALE, "Measured").items()}
PROCESS, SERVER = ({name: row[at] * MICRO for name, row in MEASURED.items()} for at in (0, 1))
#: Of a record, on PostgreSQL.
RECORD = number(table(SIZING, "Bytes of")["the record of one read, sealed"][1])
#: A turn of `run --watch`: the processes' time and PostgreSQL's, with assertions remembered and not.
TURN = PROCESS[NOTHING_NEW] + PROCESS[ENVIRONMENT]
UNREMEMBERED = TURN + 2 * (PROCESS[NOT_REMEMBERED] - PROCESS[NOTHING_NEW])
ASKED = SERVER[NOTHING_NEW] + SERVER[ENVIRONMENT]
ASKED_BY_UNREMEMBERED = ASKED + 2 * (SERVER[NOT_REMEMBERED] - SERVER[NOTHING_NEW])


def short(figure: float) -> str:
    """Two digits, or whole numbers."""
    return f"{figure:,.0f}" if figure >= 10 else f"{figure:.1f}"


def span(low: float, high: float) -> str:
    """Both, or the one that they are."""
    digits = 0 if high >= 10 else 1
    ends = [f"{low:.{digits}f}", f"{high:.{digits}f}"]
    return ends[0] if ends[0] == ends[1] else " to ".join(ends)


def test_what_a_primary_bears_is_a_second_by_what_a_request_takes() -> None:
    computed = {
        name: [f"{1 / SERVER[of]:,.0f}", f"{1 / PROCESS[of]:,.0f}", f"{PROCESS[of] / SERVER[of]:.1f}"]
        for name in ("read one", "list of 500", EXPORT, "304", "write one")
        for of in [NOTHING_NEW if name == "304" else name]
    }
    assert table(SCALE, "Computed, requests a second") == computed


def test_requests_a_core_are_the_same_on_both_pages() -> None:
    for name, shown in table(SIZING, "Requests a core").items():
        row = MEASURED[NOTHING_NEW if "304" in name else name]
        assert [number(one) for one in shown] == [round(MEGA / row[at], -1) for at in (0, 3)], name


def test_what_a_304_saves_is_what_an_export_takes_more() -> None:
    shown = table(SCALE, "| Export")
    for name, at, unit in (("process", 0, "µs"), ("PostgreSQL", 1, "µs"), ("write-ahead log", 2, "bytes")):
        whole, rest = MEASURED[EXPORT][at], MEASURED[NOTHING_NEW][at]
        saved = f"{100 * (1 - rest / whole):.0f} %"
        assert shown[name] == [f"{whole:,.0f} {unit}", f"{rest:,.0f} {unit}", saved]


def test_what_many_clients_take_is_their_number_by_what_one_takes() -> None:
    polls = table(SCALE, "`--interval`")
    exports = table(SCALE, "The same by exports without `If-None-Match`, every")
    for seconds, shown, other in zip((10, 60, 300), polls.values(), exports.values(), strict=True):
        each = CLIENTS / seconds
        servers = span(each * ASKED, each * ASKED_BY_UNREMEMBERED)
        assert shown == [f"{2 * each:,.0f}", short(each * TURN), short(each * UNREMEMBERED), servers]
        log = f"{each * DAY * RECORD / GIGA:,.0f} GB"
        assert other == [short(each * PROCESS[EXPORT]), short(each * SERVER[EXPORT]), log]


def phrases() -> list[str]:
    """What the text of both pages says of them."""
    minute, start = CLIENTS / 60, CLIENTS / 600
    seen = [minute * (of[SEEN] - of[NOTHING_NEW]) for of in (PROCESS, SERVER)]
    spare = [16 / (minute * UNREMEMBERED), 4 / (minute * ASKED_BY_UNREMEMBERED)]
    begun = [short(start * of[EXPORT]) for of in (PROCESS, SERVER)]
    told = [short(minute * of[EXPORT]) for of in (PROCESS, SERVER)]
    second = [100 * PROCESS[ENVIRONMENT] / TURN, 100 * SERVER[ENVIRONMENT] / ASKED]
    record = f"{RECORD:,.0f} bytes"
    return [
        f"each request verifies a signature: {(UNREMEMBERED - TURN) / 2 / MICRO:,.0f} µs",
        f"A turn takes {TURN / MICRO:,.0f} µs of a process and {ASKED / MICRO:,.0f} µs of PostgreSQL, "
        f"of which {second[0]:.0f} and {second[1]:.0f} % are for the second question",
        f"| one record, [{record}]",
        f"{seen[0]:.1f} cores of processes, {seen[1]:.1f} of PostgreSQL and {minute:,.0f} commits a second",
        f"are {spare[0]:.1f} and {spare[1]:.1f} times the figures above",
        f"[{16 * (4 + 1) + 13} connections]",
        f"is {start:.0f} exports a second: {begun[0]} core of processes, {begun[1]} of PostgreSQL, and "
        f"{CLIENTS * RECORD / MEGA:.0f} MB of audit log",
        f"that is {told[0]} cores of processes and {told[1]} of PostgreSQL for a minute",
        f"leaves {CLIENTS * 365 * RECORD / GIGA:.0f} GB of audit log a year",
        f"{2 * minute:,.0f} new connections a second",
        f"some {round(10 * YEAR * RECORD / GIGA, -1):.0f} GB",
    ]


def test_what_the_pages_say_in_words_follows_from_the_same_figures() -> None:
    text = re.sub(r"\s+", " ", SCALE + SIZING)
    assert [one for one in phrases() if one not in text] == []
