"""A small part of `make coverage`: intervals hold the truth, and a wrong one is found out.

H0 of each kind: coverage is at least `LEAST`; false alarm 1e-4 for each figure (binomial).
"""

import dataclasses

import numpy as np
import pytest
from interval_coverage.registry import Kind, all_kinds, holds
from interval_coverage.run import counted, row, table, total
from interval_coverage.series import autoregressive
from scipy import stats

from thinktime.stats.series.batch_means import plain_mean

FALSE_ALARM = 1e-4
TRIALS = 150
LEAST = {"mean-ar0.9-200": 0.92, "mean-ar0-200": 0.93, "line-ar0.9": 0.92, "proportion-blocks-20": 0.92}
"""Kinds that take less than a second, with the coverage that is tested."""


def passes(kind, least):
    """Whether no figure of the first trials holds the truth less often than is likely."""
    found = counted(dataclasses.replace(kind, block=TRIALS), 0).values()
    return all(held >= stats.binom.ppf(FALSE_ALARM, held + missed, least) for held, missed, *_ in found)


@pytest.mark.parametrize("name", LEAST)
def test_intervals_hold_under_correlation(name):
    assert passes(all_kinds()[name], LEAST[name])


def test_an_interval_for_independent_data_is_found_out():
    """The canary: Student's t on AR(1) observations covers about 35 %."""

    def trial(seed):
        values = 10.0 + autoregressive(np.random.default_rng(seed), 200, 0.9)
        return {"mean": holds(plain_mean(values), 10.0)}

    assert not passes(Kind(name="canary", interval="canary", data="AR(1)", trial=trial), 0.92)


def test_kinds_are_many_and_their_seeds_differ():
    kinds = all_kinds()
    assert len(kinds) >= 20
    assert len({kind.seed(0) for kind in kinds.values()}) == len(kinds)


def test_a_row_marks_a_coverage_outside_its_goal(tmp_path):
    kind = Kind(name="k", interval="Means", data="normal", trial=lambda seed: {"mean": True}, block=10)
    assert "missed" in row(kind, "mean", [300, 100, 0, 0])
    assert "missed" not in row(kind, "mean", [380, 20, 0, 0])
    assert "20 %" in row(kind, "mean", [76, 4, 20, 38])
    blocks = {0: {"mean": [9, 1, 0, 2]}, 1: {"mean": [10, 0, 0, 0]}, 2: {"mean": [0, 10, 0, 0]}}
    assert total(blocks, 2) == {"mean": [19, 1, 0, 2]}
    assert "### Means" in table([kind], {"k": {"mean": [19, 1, 0, 2]}})
