"""Samples read in pieces are the samples read at once, and need no more memory when there are more."""

import subprocess
import sys

import numpy as np
import polars as pl
import pytest
from known_logs import EPOCH_US, starts

from thinktime.log import Log, LogWriter, observations

NAMES = ("forks", "user_s", "swap_in_pages", "net_packets_in", "no_such_column")


def patchy(n=1000, seed=1):
    """Intervals with gaps, a clock set back, unusable lengths, and columns that are measured in part."""
    random = np.random.default_rng(seed)
    length = 1.0 + random.random(n)
    start = starts(length).cast(pl.Int64).to_numpy().copy()
    start[n // 4 :] += 3_600_000_000
    start[n // 2 :] -= 7_200_000_000
    length[[0, n // 2, n // 2 + 1, n - 1]] = (0.0, -1.0, np.nan, np.nan)
    return {
        "start": pl.Series(start).cast(pl.Datetime("us", "UTC")),
        "length_s": length,
        "user_s": np.where(random.random(n) < 0.1, np.inf, length),
        "forks": random.poisson(100.0, n),
        # Never measured in the pieces at the start, then always.
        "net_packets_in": np.where(np.arange(n) < 3 * n // 4, np.nan, 7.0),
    }


def same(left, right):
    """Whether two lots of observations are the same, nan for nan."""
    assert left.start_us.tolist() == right.start_us.tolist()
    assert left.segments.tolist() == right.segments.tolist()
    np.testing.assert_array_equal(left.length_s, right.length_s)
    assert left.columns.keys() == right.columns.keys()
    for name, values in left.columns.items():
        np.testing.assert_array_equal(values, right.columns[name])
    assert (left.dropped, left.absent) == (right.dropped, right.absent)


def joined(pieces, names=NAMES):
    return observations.Observations(
        start_us=np.concatenate([piece.start_us for piece in pieces]),
        length_s=np.concatenate([piece.length_s for piece in pieces]),
        segments=np.concatenate([piece.segments for piece in pieces]),
        columns={name: np.concatenate([piece.columns[name] for piece in pieces]) for name in names},
        dropped=sum(piece.dropped for piece in pieces),
        absent=pieces[-1].absent,
    )


@pytest.mark.parametrize("rows", [1, 7, 250, 1000, 5000])
def test_pieces_laid_end_to_end_are_the_whole(log_of, rows):
    log = log_of(patchy())
    whole = observations.read(log, NAMES)
    pieces = list(observations.chunks(log, NAMES, rows))
    assert all(len(piece) <= rows for piece in pieces)
    assert len(pieces) >= len(whole) / rows
    same(joined(pieces), whole)
    # The canary: segments that began anew in each piece would not be these.
    assert whole.segments.max() == 2
    assert whole.dropped == 4
    assert whole.absent == {"swap_in_pages", "no_such_column"}


@pytest.mark.parametrize("rows", [100, 5000])
def test_a_sum_over_pieces_is_the_sum_over_the_whole(log_of, rows):
    """A column measured late makes a sum unknown before; one that never was is left out of it."""
    log, both = log_of(patchy()), ("forks", "net_packets_in", "swap_in_pages")
    whole = observations.read(log, both).total(both)
    pieces = np.concatenate([piece.total(both) for piece in observations.chunks(log, both, rows)])
    np.testing.assert_array_equal(pieces, whole)
    assert np.isnan(whole[:700]).all()
    assert np.isfinite(whole[750:]).all()


def in_parts(path, parts=5, rows=300):
    """A log of several parts whose forks count its rows."""
    with LogWriter.open(path, source="test") as writer:
        for part in range(parts):
            at = np.arange(part * rows, (part + 1) * rows)
            start = pl.Series(EPOCH_US + at * 1_000_000).cast(pl.Datetime("us", "UTC"))
            columns = {"start": start, "length_s": np.ones(rows), "forks": at.astype(np.uint64)}
            writer.write("samples", pl.DataFrame(columns))
    return Log.open(path)


def test_a_log_of_several_parts_keeps_its_order(tmp_path):
    log = in_parts(tmp_path / "log")
    pieces = list(observations.chunks(log, ["forks"], 256))
    assert np.concatenate([piece.columns["forks"] for piece in pieces]).tolist() == list(range(1500))
    assert not np.concatenate([piece.segments for piece in pieces]).any()
    same(joined(pieces, ["forks"]), observations.read(log, ["forks"]))


@pytest.mark.parametrize(("bytes_max", "frames"), [(1, 5), (1 << 30, 1)])
def test_parts_in_turn_are_the_table(tmp_path, bytes_max, frames):
    log = in_parts(tmp_path / "log")
    found = [frame.collect() for frame in log.in_turn("samples", bytes_max)]
    assert sum(not frame.is_empty() for frame in found) == frames
    assert pl.concat(found).equals(log.samples().collect())
    (nothing,) = log.in_turn("events")
    assert nothing.collect().equals(log.events().collect())


def test_extents_are_those_of_usable_intervals(log_of):
    made = patchy()
    log = log_of(made)
    usable = np.isfinite(made["length_s"]) & (made["length_s"] > 0)
    forks = made["forks"][usable]
    found = observations.extents(log, ["forks", "net_packets_in", "swap_in_pages", "no_such_column"])
    assert found == {"forks": (forks.min(), forks.max()), "net_packets_in": (7.0, 7.0)}
    assert observations.extents(log, []) == {}


def test_a_log_without_a_usable_row_is_one_empty_piece(log_of):
    unusable = {name: values[:1] for name, values in patchy().items()}
    for log, dropped in ((log_of(name="empty"), 0), (log_of(unusable, name="unusable"), 1)):
        (only,) = observations.chunks(log, NAMES)
        assert len(only) == 0
        assert only.dropped == dropped
        assert only.absent == set(NAMES)
        same(observations.read(log, NAMES), only)


def test_pieces_hold_a_row_at_least(log_of):
    with pytest.raises(ValueError, match="rows: 0"):
        next(observations.chunks(log_of(patchy()), NAMES, 0))


PEAK = """
import sys
from thinktime.log import observations
from thinktime.log import Log
log, names = Log.open(sys.argv[1]), sys.argv[3:]
pieces = observations.chunks(log, names) if sys.argv[2] == "chunks" else [observations.read(log, names)]
rows = sum(len(piece) for piece in pieces)
# Not ru_maxrss: that begins with the size of the process that started this one.
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(rows, 1024 * int(peak.split()[1]))
"""


@pytest.mark.thorough
def test_pieces_need_less_memory_than_the_whole(tmp_path):
    """Five million rows at once need at least their own size; in pieces, less than that.

    Peak resident memory of a process each, the interpreter and its libraries included.
    """
    counts = ["forks", "context_switches", "page_faults_minor", "page_faults_major", "disk_reads"]
    names = ["user_s", "system_s", "idle_s", "nice_s", *counts]
    rows, parts = 250_000, 20
    at = np.arange(rows)
    columns = {name: at % 100 if name in counts else at % 100 + 0.5 for name in names}
    one = pl.DataFrame(columns).with_columns(pl.col(counts).cast(pl.UInt64), length_s=pl.lit(1.0))
    with LogWriter.open(tmp_path / "log", source="test") as writer:
        for part in range(parts):
            start = pl.Series("start", EPOCH_US + (part * rows + at) * 1_000_000)
            writer.write("samples", one.with_columns(start.cast(pl.Datetime("us", "UTC"))))
    size = rows * parts * (len(names) + 2) * 8
    peak = {}
    for mode in ("chunks", "read"):
        arguments = [sys.executable, "-c", PEAK, tmp_path / "log", mode, *names]
        told = subprocess.run(arguments, check=True, capture_output=True, text=True)
        seen, peak[mode] = map(int, told.stdout.split())
        assert seen == rows * parts
    assert peak["read"] > 2 * size
    assert peak["chunks"] < 0.5 * peak["read"]
