"""Series over time: amounts are kept, gaps stay gaps, time never runs back."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from pathlib import Path

import polars as pl
import pytest

from thinktime.analyses.timeline import analysis as timeline
from thinktime.analyses.timeline.section import TimeAxis
from thinktime.log import Log, LogWriter

START = datetime(2024, 1, 1, tzinfo=timezone.utc)


def write(path: Path, starts: list[float], lengths: list[float], forks: list[int | None]) -> Log:
    frame = pl.DataFrame(
        {
            "start": [START + timedelta(seconds=start) for start in starts],
            "length_s": lengths,
            "forks": forks,
        },
        schema={"start": pl.Datetime("us", "UTC"), "length_s": pl.Float64(), "forks": pl.UInt64()},
    )
    with LogWriter.open(path, source="test", start_us=0) as writer:
        writer.write("samples", frame)
    return Log.open(path)


def test_amounts_are_kept_when_intervals_are_joined(tmp_path: Path) -> None:
    forks = [number % 7 for number in range(1000)]
    log = write(tmp_path / "log", [float(number) for number in range(1000)], [1.0] * 1000, list(forks))
    data = timeline.over_time(log, ["forks"], [], stretches_max=60)
    assert len(data.starts_s) <= 60
    lengths = [end - start for start, end in zip(data.starts_s, data.ends_s, strict=True)]
    amounts = [
        rate * length for rate, length in zip(data.series["forks"], lengths, strict=True) if rate is not None
    ]
    assert sum(amounts) == pytest.approx(sum(forks))


def test_no_line_is_drawn_across_a_gap(tmp_path: Path) -> None:
    log = write(tmp_path / "log", [0.0, 1.0, 60.0, 61.0], [1.0] * 4, [1, 2, 3, 4])
    data = timeline.over_time(log, ["forks"], [])
    assert data.segments == (0, 0, 1, 1)
    rows = TimeAxis.of(data).steps(data.series["forks"])
    assert [(row["t"], row["segment"]) for row in rows] == [(0, 0), (1, 0), (2, 0), (60, 1), (61, 1), (62, 1)]


def test_gaps_too_short_to_be_seen_are_counted_and_not_drawn(tmp_path: Path) -> None:
    """A machine that was stopped every ten seconds, and once for long."""
    starts = [
        float(12 * (number // 10) + number % 10 + (9000 if number >= 5000 else 0)) for number in range(10_000)
    ]
    log = write(tmp_path / "log", starts, [1.0] * len(starts), [1] * len(starts))
    data = timeline.over_time(log, ["forks"], [])
    assert data.gaps == 999
    assert sorted(set(data.segments)) == [0, 1]
    assert len(data.starts_s) <= timeline.STRETCHES_MAX + 1
    # Nothing was counted while nothing was measured: a rate is over the measured time alone.
    assert data.series["forks"] == pytest.approx([1.0] * len(data.starts_s))
    rows = TimeAxis.of(data).steps(data.series["forks"])
    assert [row["segment"] for row in rows].count(1) > 100


def test_a_clock_set_back_does_not_turn_time_back(tmp_path: Path) -> None:
    log = write(tmp_path / "log", [100.0, 101.0, 50.0, 51.0], [1.0] * 4, [1, 2, 3, 4])
    data = timeline.over_time(log, ["forks"], [])
    assert data.starts_s == (0.0, 1.0, 2.0, 3.0)
    assert data.segments == (0, 0, 1, 1)


def test_what_was_not_measured_is_not_zero(tmp_path: Path) -> None:
    log = write(tmp_path / "log", [0.0, 1.0, 2.0], [1.0] * 3, [1, None, 3])
    data = timeline.over_time(log, ["forks", "interrupts"], ["runnable"])
    assert data.series["forks"] == (1.0, None, 3.0)
    assert not data.measured("interrupts")
    assert not data.measured("runnable")
    assert [row["t"] for row in TimeAxis.of(data).steps(data.series["forks"])] == [0.0, 1.0, 2.0, 3.0]


@pytest.mark.parametrize(("span", "unit"), [(60, "s"), (1800, "min"), (40_000, "h"), (1e7, "d")])
def test_the_unit_of_time_fits_the_record(span: float, unit: str) -> None:
    record = timeline.Timeline(starts_s=(0.0,), ends_s=(span,), segments=(0,), series={})
    assert TimeAxis.of(record).unit == unit
