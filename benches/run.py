"""Run the benchmarks and print each figure beside a reference that was measured in the same run.

    python benches/run.py [NAME ...]

A benchmark is a module ``benches/NAME.py`` with ``def run() -> list[dict]``: objects with ``work``,
``unit``, ``ours``, ``reference``, ``reference_name`` and ``ratio`` (above 1: ours is better). A figure
without a reference on this machine has None in the last three. The figures go to
``benches/latest.json``, together: a benchmark that was not asked for keeps what it had.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
import traceback
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
LATEST = FOLDER / "latest.json"
KEYS = ("work", "unit", "ours", "reference", "reference_name", "ratio")


def discover() -> list[str]:
    """Names of the modules in this folder that are benchmarks."""
    return sorted(path.stem for path in FOLDER.glob("*.py") if "\ndef run(" in path.read_text())


def checked(name: str, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows with the benchmark's name, each with all its keys."""
    for row in rows:
        if set(row) != set(KEYS):
            raise ValueError(f"benches/{name}.py: a row has the keys {sorted(row)}, it needs {sorted(KEYS)}")
    return [{"benchmark": name, **row} for row in rows]


def figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}" if abs(value) < 1e4 else f"{value:,.0f}".replace(",", " ")


def print_rows(rows: list[dict[str, Any]]) -> None:
    for row in rows:
        ratio = "-" if row["ratio"] is None else f"{row['ratio']:.2f}"
        against = f"{figure(row['reference'])} {row['reference_name']}" if row["reference_name"] else "-"
        print(
            f"{row['work']:<58} {figure(row['ours']):>9} {row['unit']:<16} {ratio:>6}   {against}", flush=True
        )


def saved() -> list[dict[str, Any]]:
    try:
        found = json.loads(LATEST.read_text())
    except (FileNotFoundError, ValueError):
        return []
    return [row for row in found if isinstance(row, dict) and "benchmark" in row]


def main(names: list[str]) -> int:
    known = discover()
    unknown = sorted(set(names) - set(known))
    if unknown:
        print(f"no benchmark {', '.join(unknown)}; there are {', '.join(known)}", file=sys.stderr)
        return 2
    sys.path.insert(0, str(FOLDER))
    failed = []
    print(f"{'work':<58} {'ours':>9} {'unit':<16} {'ratio':>6}   reference (ratio above 1: ours is better)")
    for name in names or known:
        began = time.monotonic()
        try:
            rows = checked(name, importlib.import_module(name).run())
        except Exception:
            traceback.print_exc()
            failed.append(name)
            continue
        print_rows(rows)
        kept = [row for row in saved() if row["benchmark"] != name and row["benchmark"] in known]
        together = sorted(kept + rows, key=lambda row: known.index(row["benchmark"]))
        LATEST.write_text(json.dumps(together, indent=1) + "\n")
        print(f"  {name}: {time.monotonic() - began:.0f} s", file=sys.stderr)
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
