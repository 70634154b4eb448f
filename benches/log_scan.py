"""Reading a log: all samples of a week at 5 s, beside polars on the same Parquet files."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from programs import least_in_turn, own_cpu_seconds

ROWS = 7 * 86_400 // 5
PARTS = 7 * 24
ROUNDS = 7


def write_log(folder: Path) -> None:
    """A week of samples in hourly parts, with values that do not compress to nothing."""
    import numpy as np
    import polars as pl

    from thinktime.log import LogWriter, vocabulary

    rng = np.random.default_rng(1971)
    rows = ROWS // PARTS
    with LogWriter.open(folder, source="bench", start_us=0) as writer:
        for part in range(PARTS):
            columns: dict[str, Any] = {}
            for column in vocabulary("samples"):
                if column.name == "start":
                    columns[column.name] = pl.Series((np.arange(rows) + part * rows) * 5_000_000).cast(
                        pl.Datetime("us", "UTC")
                    )
                elif column.type == "u64":
                    columns[column.name] = rng.poisson(1000, rows).astype("uint64")
                else:
                    columns[column.name] = np.round(rng.uniform(0, 5, rows), 2)
            writer.write("samples", pl.DataFrame(columns))


def run() -> list[dict[str, Any]]:
    """CPU seconds of the mean of every column, and of opening the log."""
    import polars as pl
    import polars.selectors as cs
    from polars import testing

    from thinktime.log import Log

    def mean(frame: pl.LazyFrame) -> pl.DataFrame:
        return frame.select(cs.numeric().mean()).collect()

    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "log"
        write_log(folder)
        files = sorted((folder / "samples").glob("*.parquet"))
        # Threads add up the parts of a column in an order of their own.
        testing.assert_frame_equal(
            mean(Log.open(folder).samples()), mean(pl.scan_parquet(files)), rel_tol=1e-12, abs_tol=0.0
        )
        log_s, polars_s = least_in_turn(
            ROUNDS,
            lambda: own_cpu_seconds(lambda: mean(Log.open(folder).samples())),
            lambda: own_cpu_seconds(lambda: mean(pl.scan_parquet(files))),
        )
        (check_s,) = least_in_turn(3, lambda: own_cpu_seconds(Log.open(folder).check))
    work = f"mean of all {len(files)} parts' columns, {ROWS} samples"
    row = {"unit": "s CPU", "reference_name": "polars.scan_parquet"}
    return [
        {"work": work, **row, "ours": log_s, "reference": polars_s, "ratio": polars_s / log_s},
        {
            "work": "check of the same log",
            **row,
            "ours": check_s,
            "reference": polars_s,
            "ratio": polars_s / check_s,
        },
    ]
