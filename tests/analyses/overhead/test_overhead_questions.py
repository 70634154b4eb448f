"""Other questions to the overhead regression: requests left out, a part of the time, several logs."""

import numpy as np
import pytest
from test_overhead import FAULT, FORK, SWITCH, cost, machine

from thinktime.analyses.overhead import analysis as overhead
from thinktime.analyses.overhead.comparison import compare
from thinktime.analyses.overhead.comparison_section import WORDS
from thinktime.analyses.overhead.omission import adjusted, omit
from thinktime.analyses.overhead.regression import FitOptions
from thinktime.analyses.overhead.section import reason
from thinktime.analyses.overhead.subtraction import subtract
from thinktime.documents.wording import worded
from thinktime.errors import InputError
from thinktime.stats.estimate import NotApplicable

ALONG = 10.0
"""Switches that come with every fork."""


def busy(n=600, seed=1, fork=FORK, fault=FAULT, noise=0.004):
    """A machine on which forks bring switches, and that may have other costs."""
    made = machine(n=n, seed=seed, noise=noise)
    switches = np.round(ALONG * made["forks"])
    made["context_switches"] = made["context_switches"] + switches
    more = SWITCH * switches + (fork - FORK) * made["forks"] + (fault - FAULT) * made["page_faults_minor"]
    made["system_s"] = made["system_s"] + 0.9 * more
    made["softirq_s"] = made["softirq_s"] + 0.1 * more
    return made


def test_what_is_left_out_is_charged_to_what_goes_along_with_it(log_of):
    """Table 4: without VMIO, spool I/O, which prints its lines, seems to cost three times as much."""
    log = log_of(busy())
    found = omit(log, ["context_switches"], fit_options=FitOptions(threshold=100.0))
    ratios = {item.request: item.ratio for item in found.costs}
    along = {item.request: item.number.value for item in found.companions}
    assert along["forks"] == pytest.approx(ALONG, abs=3.0)
    switch = cost(found.full, "context_switches").seconds.value
    for item in found.costs:
        # The identity of least squares: no row is an outlier here.
        assert item.reduced.value == pytest.approx(item.full.value + along[item.request] * switch, rel=1e-6)
    assert ratios["forks"] < 0.97 < ratios["page_faults_minor"] < 1.03


def test_costs_of_another_log_are_adjusted_by_the_ratio_and_the_base_is_not(log_of):
    """Table 5: the adjusted rows, theta0 unchanged."""
    logs = [log_of(busy(seed=seed, n=2000, noise=0.001), name=f"log{seed}") for seed in (1, 2)]
    known = omit(logs[0], ["context_switches"])
    unknown = overhead.analyse(logs[1], drop=["context_switches"])
    found = {item.request: item for item in adjusted(unknown, known)}
    ratios = {item.request: item.ratio for item in known.costs}
    assert found["base"].adjusted.value == found["base"].fitted.value
    for name in ("forks", "page_faults_minor"):
        fitted = cost(unknown, name).seconds
        assert found[name].adjusted.value == pytest.approx(fitted.value * ratios[name])
        assert found[name].adjusted.high == pytest.approx(fitted.high * ratios[name])
    assert found["forks"].fitted.value == pytest.approx(FORK + ALONG * SWITCH, rel=0.03)
    assert found["forks"].adjusted.value == pytest.approx(FORK, rel=0.03)


def test_what_is_not_in_the_regression_cannot_be_left_out(log_of):
    found = omit(log_of(busy()), ["page_faults_major"])
    assert isinstance(found, NotApplicable)
    assert "never happened" in found.reason


def test_a_part_taken_out_and_the_rest_add_up(log_of):
    """Table 9: shares of the rest and of the part are all of the system time."""
    found = subtract(log_of(busy()), ["softirq_s"], fit_options=FitOptions(threshold=100.0))
    assert found.share.value == pytest.approx(0.1, rel=1e-6)
    assert sum(item.share.value for item in found.costs) + found.share.value == pytest.approx(1.0, abs=1e-6)
    for item in found.costs:
        assert item.subtracted.value == pytest.approx(0.1 * item.whole.value, rel=1e-6)
        assert item.rest == pytest.approx(0.9 * item.whole.value, rel=1e-6)


def test_any_counter_can_be_explained(log_of):
    """As calls of FREE by request (Bard 1971): what comes with one is found in the unit of the counter."""
    result = overhead.analyse(log_of(busy()), target=["context_switches"], requests=["forks"])
    assert cost(result, "forks").seconds.unit == "switch/fork"
    assert result.target_mean.unit == "switch/s"
    assert result.tick_check is None
    assert result.cost("forks").seconds.low < ALONG < result.cost("forks").seconds.high


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"requests": ["forkz"]}, "forkz: .* has no such request; did you mean forks"),
        ({"drop": ["vmio"]}, "vmio: .* has no such request"),
        ({"target": ["active_users"]}, "no counter 'active_users'"),
        ({"subtract": ["dispatch_s"]}, "no counter 'dispatch_s'"),
        ({"fit_options": FitOptions(subsets=1)}, "must be at least 2"),
    ],
)
def test_a_name_that_the_log_does_not_have_is_refused(log_of, options, message):
    with pytest.raises(InputError, match=message):
        overhead.analyse(log_of(busy()), **options)


def test_a_cost_that_differs_between_logs_is_named_and_others_are_not(log_of):
    logs = [log_of(busy(), name="before"), log_of(busy(seed=2, fork=0.8 * FORK), name="after")]
    found = compare(logs, ["before", "after"])
    different = [item.request for item in found.costs if item.test.rejected()]
    assert different == ["forks"]
    assert found.every.rejected()
    assert found.requests.rejected()
    gone = next(item for item in found.costs if item.request == "forks").differences[0]
    # Fixed seeds; half as wide again as a 95 % interval: |t| < 3.
    assert abs(gone.value + 0.2 * FORK) < 1.5 * (gone.high - gone.low) / 2


def test_logs_of_one_machine_are_not_told_apart(log_of):
    logs = [log_of(busy(seed=seed), name=f"log{seed}") for seed in (3, 4, 5)]
    found = compare(logs, ["a", "b", "c"])
    assert not found.every.rejected(0.001)
    assert not any(item.test.rejected(0.001) for item in found.costs)
    assert all(len(item.differences) == 2 for item in found.costs)


def test_a_request_that_one_log_lacks_is_not_compared_and_said(log_of):
    made = busy(seed=2)
    made["context_switches"] = np.full(600, np.nan)
    logs = [log_of(busy(), name="new"), log_of(made, name="old")]
    found = compare(logs, ["new", "old"])
    (refused,) = found.not_compared
    assert refused.request == "context_switches"
    assert [reason(caveat, log) for log, caveat in refused.reasons] == ["not measured in old"]
    assert any("Not compared: context_switches" in text for text in worded(found.caveats, WORDS))
    assert "context_switches" not in {item.request for item in found.costs}


def test_a_log_read_in_pieces_gives_the_same_answer(log_of):
    """No piece is kept: every pass reads the log again."""
    log = log_of(busy())
    # Interrupts hardly vary: what their cost is has no more digits than the rounding leaves.
    whole = overhead.analyse(log, drop=["interrupts"])
    pieces = overhead.analyse(log, drop=["interrupts"], fit_options=FitOptions(piece_rows=47))
    assert pieces.requests == whole.requests
    assert (pieces.n, pieces.outliers) == (whole.n, whole.outliers)
    reasons = [[(item.request, reason(item.reason)) for item in each.left_out] for each in (pieces, whole)]
    assert reasons[0] == reasons[1]
    for ours, theirs in zip(pieces.costs, whole.costs, strict=True):
        for name in ("seconds", "textbook", "bootstrap", "share", "rate"):
            mine, other = getattr(ours, name), getattr(theirs, name)
            assert (mine.value, mine.low, mine.high) == pytest.approx((other.value, other.low, other.high))
        assert ours.robust == pytest.approx(theirs.robust)
    assert pieces.recorder.high == pytest.approx(whole.recorder.high)
