"""How far regression costs can be trusted: the page has the figures that are measured, as theory has them."""

from __future__ import annotations

import math
import sys

import numpy as np
import pytest
from documented import ROOT

sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "benches")]

import validate_regression as measuring  # noqa: E402 - the path is set above

PAGE = measuring.PAGE.read_text(encoding="utf-8")


def rows(name: str) -> list[list[str]]:
    """Rows of a table of the page, as cells."""
    text = PAGE.partition(f"<!-- {name}: written by ")[2].partition(measuring.END)[0]
    lines = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("|")]
    assert lines[0] == list(measuring.HEADS[name])
    return lines[2:]


def share(cell: str) -> float:
    """Per cent as a number."""
    return float(cell.removesuffix(" %")) / 100.0


def test_every_setting_has_its_row() -> None:
    spreads, biases = list(measuring.spreads()), list(measuring.biases())
    assert [row[:3] for row in rows("spread")] == [
        [measuring.percent(item.own), f"{1.0 / item.own:.3g}", str(item.n)] for item in spreads
    ]
    assert [row[:2] for row in rows("causes")] == [
        [item.cause, measuring.percent(item.own)] for item in biases
    ]
    assert {row[0] for row in rows("machine")} == {f"{name}, {runs}" for name, runs in measuring.RUNS.items()}


def test_a_row_is_what_the_script_measures() -> None:
    """The same seeds give the same figures; with fewer logs they are others."""
    setting = next(measuring.spreads())
    row = rows("spread")[0]
    assert measuring.spread_row(measuring.measured(setting, measuring.TRIALS)) == row
    fewer = measuring.measured(setting, measuring.QUICK_TRIALS)
    assert measuring.spread_row(fewer) != row


def test_the_spread_is_that_of_the_own_variation() -> None:
    """Of 12 standard deviations over 200 logs, one is off by 4 standard errors in 1 of 1300 tables."""
    reach = 4.0 / math.sqrt(2.0 * measuring.TRIALS)
    of_rows = list(zip(measuring.spreads(), rows("spread"), strict=True))
    for setting, row in of_rows:
        assert share(row[3]) == pytest.approx(setting.spread, abs=6e-4)
        assert share(row[4]) == pytest.approx(setting.spread, rel=reach), row
    # The canary: the whole variation in place of the own one.
    wrong = [
        share(row[4]) != pytest.approx(setting.spread * math.sqrt(setting.own), rel=reach)
        for setting, row in of_rows
        if setting.own < 1.0
    ]
    assert all(wrong)


def test_the_bias_is_that_of_theory_and_no_interval_knows_it() -> None:
    """Within 4 standard errors of a mean over 200 logs, and 2 % for what the outlier rule adds."""
    for setting, row in zip(measuring.biases(), rows("causes"), strict=True):
        off, spread = share(row[3]), share(row[4])
        assert share(row[2]) == pytest.approx(setting.bias, abs=6e-3)
        assert off == pytest.approx(setting.bias, abs=4.0 * spread / math.sqrt(measuring.TRIALS) + 0.02), row
        if setting.bias == 0.0:
            assert share(row[5]) > 0.9, row
        elif setting.own < 1.0:
            assert share(row[5]) < 0.5, row


def test_what_the_page_says_of_the_machine_is_in_its_rows() -> None:
    """Errors by own swing, and how often intervals held."""
    swing = np.array([float(row[4]) for row in rows("machine")])
    bias = np.array([float(row[5].split(" ")[0]) / 100.0 for row in rows("machine")])
    error = np.hypot(bias, [share(row[7]) for row in rows("machine")])
    assert (error * swing).max() <= 0.1
    assert np.median(error * swing) == pytest.approx(0.05, abs=0.005)
    assert error[swing > 1.0].max() < 0.10
    assert error[(swing > 0.2) & (swing < 1.0)].max() < 0.25
    assert not ((swing > 0.1) & (swing < 0.2)).any()
    assert 0.15 <= error[swing < 0.1].min() <= error[swing < 0.1].max() <= 0.70
    named = {(row[0].split(",")[0], row[1]): place for place, row in enumerate(rows("machine"))}
    ratio = {
        name: error[named["II-2", name]] / error[place]
        for (period, name), place in named.items()
        if period == "III-3"
    }
    assert ratio.pop("page io") == pytest.approx(0.5, abs=0.05)
    assert (min(ratio.values()), max(ratio.values())) == pytest.approx((1.5, 3.1), abs=0.06)
    held = sum(int(row[8]) for row in rows("machine"))
    assert f"holds in {held} of {5 * sum(measuring.RUNS.values())} cases" in PAGE
    assert rows("machine")[named["III-3", "vsio"]][10] == "0"


@pytest.mark.thorough
def test_the_machine_is_the_one_that_was_measured() -> None:
    """The simulated CP-67 of today gives the rows of the page for the shortest period."""
    made = list(measuring.machine_rows("II-2", measuring.RUNS["II-2"]))
    assert made == [row for row in rows("machine") if row[0] == made[0][0]]
