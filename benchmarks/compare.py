"""Two runs of the benchmarks beside each other: `compare.py before.json after.json`.

Times of two runs tell little on a machine that has other things to do; ratios within a run tell more.
"""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path
from typing import Any


def lines(path: Path) -> dict[tuple[str, str, str], dict[str, Any]]:
    """Every line of a file by script, engine and name, of which an exponent is no part."""
    return {
        (script, row["engine"], re.sub(r", n\^.*", "", row["name"])): row
        for script, rows in json.loads(path.read_text()).items()
        for row in rows
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    options = parser.parse_args()
    before, after = lines(options.before), lines(options.after)
    print(f"{'':<66}{'ours':>22}{'ratio':>16}{'goal':>7}")
    for key, row in after.items():
        old = before.get(key)
        ours = f"{old['ours'] if old else float('nan'):.0f} > {row['ours']:.0f} {row['unit']}"
        ratios = f"{old['ratio'] if old else float('nan'):.2f} > {row['ratio']:.2f}"
        print(f"{key[0]:<12}{key[1]:<11}{key[2]:<43}{ours:>22}{ratios:>16}{row['goal'] or '':>7}")


if __name__ == "__main__":
    main()
