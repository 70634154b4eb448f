"""A fleet of machines, a day of samples every 5 seconds each: what it costs to read in CPU time and memory.

    python benches/fleet.py [--machines N] [--keep FOLDER]

The machines are simulated, with known costs and saturated hours (`simulated_fleet`). CPU time is that
of the process `thinktime fleet`, start and page included; memory is its greatest resident size. The reference
is polars, which reads the same columns of the same files in a process of its own and adds each up. A thousand
machines take a minute to make, and 1 GB of disk while they are read."""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

MACHINES = 100
MODELS = (("Alpha", 1.0), ("Beta", 0.8), ("Gamma", 0.6))
COMMAND = "import sys; from thinktime.cli import main; sys.argv[0] = 'thinktime'; main()"
PLAIN = """
import sys
from pathlib import Path
import polars as pl
for part in sorted(Path(sys.argv[1]).glob("*/samples/*.parquet")):
    pl.scan_parquet(part).select(pl.all().exclude("start").cast(pl.Float64).sum()).collect()
"""


def write_fleet(folder: Path, machines: int) -> None:
    """Logs of machines of three models; each fiftieth is saturated for two hours."""
    from simulated_fleet import Machine, write

    for number in range(machines):
        model, speed = MODELS[number % len(MODELS)]
        hours = (9, 10) if number % 50 == 0 else ()
        host = f"m{number:04}"
        write(folder, Machine(host=host, model=model, speed=speed, saturated=hours, seed=number))


def measured(*arguments: str | Path) -> tuple[float, float, float]:
    """CPU seconds, elapsed seconds and greatest resident size [MB] of a process of Python."""
    began = time.monotonic()
    process = subprocess.Popen([sys.executable, "-c", *map(str, arguments)], stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"status {process.returncode} of {arguments[1:]}")
    return used.ru_utime + used.ru_stime, time.monotonic() - began, resident(used)


def resident(used: resource.struct_rusage) -> float:
    """Greatest resident size [MB]: small processes begin with that of this one, which is smaller still."""
    return used.ru_maxrss * 1024 / 1e6


def figures(machines: int, folder: Path) -> tuple[tuple[float, float, float], tuple[float, float, float]]:
    """What `thinktime fleet` takes of a fleet, and what polars alone does."""
    write_fleet(folder, machines)
    page = folder.parent / "fleet.html"
    return measured(COMMAND, "fleet", folder, "-o", page, "--force"), measured(PLAIN, folder)


def run() -> list[dict[str, Any]]:
    """CPU time and memory of a fleet of 100 machines beside polars alone."""
    with tempfile.TemporaryDirectory() as temporary:
        ours, plain = figures(MACHINES, Path(temporary) / "fleet")
    work = f"fleet of {MACHINES} machines, a day of 5 s samples"
    return [
        {
            "work": work,
            "unit": unit,
            "ours": ours[place],
            "reference": plain[place],
            "reference_name": "polars, sum of every column",
            "ratio": plain[place] / ours[place],
        }
        for place, unit in ((0, "s CPU"), (2, "MB resident"))
    ]


def main() -> None:
    """Print what a fleet of the size that was asked for takes."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--machines", type=int, default=MACHINES, metavar="N")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="write the logs there, and leave them")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        found = figures(options.machines, options.keep or Path(temporary) / "fleet")
    print(f"{'':<16}{'CPU s':>8}{'elapsed s':>11}{'MB resident':>13}")
    for name, (cpu_s, elapsed_s, mb) in zip(("thinktime fleet", "polars alone"), found, strict=True):
        print(f"{name:<16}{cpu_s:>8.1f}{elapsed_s:>11.1f}{mb:>13.0f}")


if __name__ == "__main__":
    main()
