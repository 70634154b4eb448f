"""Rows of another table stand beside the intervals of the samples in which they began."""

import numpy as np
import polars as pl
import pytest

from thinktime.log import alongside, observations


def plain(frame, starts):
    """Rows of each interval, by looking at every interval for every row."""
    rows = {number: [] for number in range(len(starts))}
    for begun, value in frame.iter_rows():
        if begun in starts:
            rows[starts.index(begun)].append(value)
    return rows


@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize("rows", [1, 3, 10, 1000])
def test_rows_stand_beside_the_intervals_in_which_they_began(log_of, monkeypatch, ordered, rows):
    random = np.random.default_rng(rows)
    begun = np.cumsum(random.integers(0, 4, 40)) * 1_000_000
    disks = np.sort(random.integers(0, 100, 200)) * 1_000_000
    if not ordered:
        begun, disks = random.permutation(np.unique(begun)), random.permutation(disks)
    log = log_of(
        samples={"start": pl.Series(begun).cast(pl.Datetime("us", "UTC")), "length_s": np.ones(len(begun))},
        disks={
            "start": pl.Series(disks).cast(pl.Datetime("us", "UTC")),
            "device": ["sda"] * 200,
            "reads": np.arange(200),
        },
    )
    monkeypatch.setattr(alongside, "ROWS", 7)
    found = {number: [] for number in range(len(begun))}
    first = 0
    for piece, frames in alongside.alongside(
        log,
        "disks",
        lambda: observations.chunks(log, (), rows),
        lambda part: part.select(pl.col("start").dt.epoch("us"), "reads"),
    ):
        for frame, place in frames:
            for value, at in zip(frame["reads"].to_list(), place.tolist(), strict=True):
                found[first + at].append(value)
        first += len(piece)
    assert found == plain(pl.DataFrame({"start": disks, "reads": np.arange(200)}), begun.tolist())
