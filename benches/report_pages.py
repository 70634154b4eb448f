"""The report of a day and of a month: CPU time, size of the page, and how soon a browser shows it.

    python benches/report_pages.py [--days N ...]

A minute of this machine with a few synthetic users is recorded; the log of a day repeats its rows, each time
with other users, amounts and hours, every 5 s: 17,280 samples with the tables and columns of a real one. The
reference is polars, which reads every column of every table of the same log and does nothing with them.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

from programs import cpu_seconds, least_in_turn

INTERVAL_S = 5.0
RECORDED_S = 60
SPEED = 10.0
"""Recorded intervals are of half a second, and stand for 5 s."""
USERS = 50
ACTIVE = 10
"""Users of each interval."""
DAYS = (1.0, 30.0)
DAY_S = 86_400.0
CHUNK = 200
"""Repetitions of the recorded minute in one part of a table."""
THINKTIME = (sys.executable, "-m", "thinktime")
READ = """
import sys
from pathlib import Path
import polars as pl
for table in Path(sys.argv[1]).iterdir():
    if table.is_dir() and any(table.glob("*.parquet")):
        pl.read_parquet(table / "*.parquet")
"""
OPEN = """
import sys
from selenium import webdriver
options = webdriver.ChromeOptions()
options.binary_location = sys.argv[2]
for flag in ("--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={sys.argv[4]}"):
    options.add_argument(flag)
driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(sys.argv[3]))
took = []
for _ in range(5):
    driver.get(f"file://{sys.argv[1]}")
    took.append(driver.execute_script("return performance.getEntriesByType('navigation')[0].loadEventEnd"))
driver.quit()
print(min(took) / 1000)
"""


def record(folder: Path) -> None:
    """A minute of this machine, with synthetic users."""
    play = ("play", "--users", "4", "--duration", f"{RECORDED_S}s", "-o", str(folder.with_name("played")))
    users = subprocess.Popen([*THINKTIME, *play], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        recorded = ("--interval", f"{INTERVAL_S / SPEED}s", "--duration", f"{RECORDED_S}s", "-o", str(folder))
        subprocess.run([*THINKTIME, "record", *recorded], check=True, capture_output=True)
    finally:
        users.terminate()
        users.wait()


def write_log(folder: Path, source: Path, days: float) -> None:
    """Log of so many days that repeats the rows of `source`, every time with other users and amounts."""
    import numpy as np
    import polars as pl

    from thinktime.log import Log, LogWriter

    rng = np.random.default_rng(1983)
    log = Log.open(source)
    tables = {name: log.table(name).collect() for name in log.tables if name != "interactions"}
    first = tables["samples"]["start"].min()
    span_s = INTERVAL_S * tables["samples"].height
    repetitions = round(days * DAY_S / span_s)

    def repeated(frame: pl.DataFrame, number: int, factor: float) -> pl.DataFrame:
        """The rows of a repetition: later, with amounts in proportion, divided among those who are active."""
        later = timedelta(seconds=number * span_s)
        amounts = [name for name in frame.columns if name.endswith("_s") and name != "length_s"]
        factor *= SPEED
        if "user" in frame.columns:
            names = [f"uid:{1000 + (7 * number + 5 * one) % USERS}" for one in range(ACTIVE)]
            frame = frame.drop("user").join(pl.DataFrame({"user": names}), how="cross").select(frame.columns)
            factor /= ACTIVE
        lengths = [pl.lit(INTERVAL_S).alias("length_s")] if "length_s" in frame.columns else []
        return frame.with_columns(
            (first + SPEED * (pl.col("start") - first) + later).alias("start"),
            pl.col(amounts) * factor,
            *lengths,
        )

    with LogWriter.open(
        folder, source="linux", machine=log.manifest["sessions"][-1]["machine"], start_us=0
    ) as writer:
        for chunk in range(0, repetitions, CHUNK):
            numbers = range(chunk, min(chunk + CHUNK, repetitions))
            factors = 0.2 + 0.4 * (1 - np.cos(2 * np.pi * np.array(numbers) * span_s / DAY_S)) * rng.gamma(
                9.0, 1 / 9.0, len(numbers)
            )
            for name, frame in tables.items():
                parts = [
                    repeated(frame, number, float(factor))
                    for number, factor in zip(numbers, np.minimum(factors, 1.0), strict=True)
                ]
                writer.write(name, pl.concat(parts))


def measured(days: float, source: Path, folder: Path) -> list[dict[str, Any]]:
    """Rows of the report of one log."""
    log, page = folder / "log", folder / "page.html"
    write_log(log, source, days)
    samples = round(days * DAY_S / INTERVAL_S)
    name = f"report, {samples} samples, {USERS} users"
    report_s, read_s = least_in_turn(
        2 if days < 2 else 1,
        partial(cpu_seconds, [*THINKTIME, "report", str(log), "-o", str(page), "--force"]),
        partial(cpu_seconds, [sys.executable, "-c", READ, str(log)]),
    )
    rows = [row(name, "s CPU", report_s, read_s, "polars reads its columns")]
    rows.append(row(f"{name}: page", "MB", page.stat().st_size / 1e6))
    browser, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if browser and driver:
        command = [sys.executable, "-c", OPEN, str(page), browser, driver, str(folder / "profile")]
        told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        rows.append(row(f"{name}: loaded in Chromium", "s", float(told)))
    shutil.rmtree(log)
    return rows


def row(
    work: str, unit: str, ours: float, reference: float | None = None, name: str | None = None
) -> dict[str, Any]:
    ratio = None if reference is None else reference / ours
    return {
        "work": work,
        "unit": unit,
        "ours": ours,
        "reference": reference,
        "reference_name": name,
        "ratio": ratio,
    }


def run(days: tuple[float, ...] = DAYS) -> list[dict[str, Any]]:
    """CPU time of reports beside that of reading; sizes and times of their pages."""
    rows = []
    with tempfile.TemporaryDirectory() as temporary:
        source = Path(temporary) / "recorded"
        record(source)
        for count in days:
            folder = Path(temporary) / f"{count:g}"
            folder.mkdir()
            rows += measured(count, source, folder)
    return rows


def main() -> None:
    """Print a line for each figure."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--days", type=float, nargs="+", default=list(DAYS), metavar="N")
    for found in run(tuple(parser.parse_args().days)):
        beside = f"   {found['reference']:.2f} {found['reference_name']}" if found["reference_name"] else ""
        print(f"{found['work']:<60} {found['ours']:>8.2f} {found['unit']}{beside}")


if __name__ == "__main__":
    main()
