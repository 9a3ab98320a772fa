"""docs/operations/monitoring.md: every figure of `/metrics` has its row there."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from architecture.parsed import nodes_of
from prometheus_client import CollectorRegistry, ProcessCollector

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "operations" / "monitoring.md"
COUNTERS = {"Counter", "CounterMetricFamily"}
FAMILIES = COUNTERS | {
    f"{kind}{family}"
    for kind in ("Gauge", "Histogram", "Summary", "Info", "GaugeHistogram", "Unknown")
    for family in ("", "MetricFamily")
}


def figures_of(source: str) -> set[str]:
    """Those that a module makes; a name that is put together ends with the keys of its function's tables."""
    found: set[str] = set()
    if "prometheus_client" not in source:
        return found
    for function in (node for node in nodes_of(source) if isinstance(node, ast.FunctionDef)):
        inside = [*ast.walk(function)]
        tables = [one for one in inside if isinstance(one, ast.Dict)]
        keys = [key.value for one in tables for key in one.keys if isinstance(key, ast.Constant)]
        for call in (node for node in inside if isinstance(node, ast.Call)):
            kind = getattr(call.func, "id", None)
            if kind not in FAMILIES:
                continue
            name = call.args[0]
            names = (
                [name.value] if isinstance(name, ast.Constant) else [f"{start_of(name)}{key}" for key in keys]
            )
            found |= {f"{one}_total" if kind in COUNTERS else str(one) for one in names}
    return found


def start_of(name: ast.expr) -> str:
    """What such a name begins with."""
    assert isinstance(name, ast.JoinedStr)
    assert isinstance(name.values[0], ast.Constant)
    return str(name.values[0].value)


def figures_of_the_process() -> set[str]:
    families = ProcessCollector(registry=CollectorRegistry()).collect()
    return {f"{one.name}_total" if one.type == "counter" else one.name for one in families}


def rows_of(page: str) -> list[str]:
    table = page.partition("\n## Every figure\n")[2].partition("\n## ")[0]
    return re.findall(r"(?m)^\| `(\w+)`.* \| [^|]+ \| [^|]+ \|$", table)


def test_every_figure_has_its_row_and_every_row_a_figure() -> None:
    sources = [path.read_text("utf-8") for path in (ROOT / "secretsvc").rglob("*.py")]
    told = figures_of_the_process().union(*map(figures_of, sources))
    assert len(told) > 20
    assert sorted(rows_of(PAGE.read_text("utf-8"))) == sorted(told)


def test_the_rule_of_figures_that_are_told_can_fail() -> None:
    code = "import prometheus_client\ndef f():\n known = {'a': 1, 'b': 2}\n"
    code += " for name in known:\n  yield Gauge(f'x_{name}', 'h')\n"
    code += "def g():\n return Counter('y', 'h'), Histogram('z', 'h'), print('w')\n"
    assert figures_of(code) == {"x_a", "x_b", "y_total", "z"}
    assert rows_of("\n## Every figure\n\n| `x_a` by `l` | what | when |\n| `x_b` | what |\n\n## More\n") == [
        "x_a"
    ]
