"""The overhead regression recovers costs that were put in, and says what it cannot know."""

import numpy as np
import pytest
from known_logs import starts
from scipy.signal import lfilter

from thinktime.analyses.overhead import analysis as overhead
from thinktime.analyses.overhead.caveats import WORDS, reason
from thinktime.analyses.overhead.regression import FitOptions
from thinktime.analyses.overhead.section import section
from thinktime.documents.render import text as render_text
from thinktime.documents.wording import worded
from thinktime.stats.estimate import NotApplicable

FORK, FAULT, SWITCH, BASE = 400e-6, 4e-6, 3e-6, 0.01
FACTS = [
    {"request": "forks", "seconds": 410e-6, "low": 395e-6, "high": 425e-6, "n": 30, "method": "loop"},
    {
        "request": "page_faults_minor",
        "seconds": 1e-6,
        "low": 0.9e-6,
        "high": 1.1e-6,
        "n": 30,
        "method": "loop",
    },
    {"request": "context_switches", "seconds": 3e-6},
]


def machine(n=400, seed=1, noise=0.01, rho=0.0, interval_s=2.0):
    """Requests with known costs; rates and errors follow their own past by `rho`."""
    random = np.random.default_rng(seed)
    length = interval_s * (1 + 0.1 * random.random(n))

    def series():
        """AR(1) with variance one."""
        return lfilter([1.0], [1.0, -rho], random.normal(size=n + 100))[100:] * np.sqrt(1 - rho**2)

    rates = {
        "forks": 100.0 * np.exp(0.5 * series()),
        "page_faults_minor": 20_000.0 * np.exp(0.5 * series()),
        "context_switches": 6_000.0 * np.exp(0.5 * series()),
    }
    errors = noise * series()
    # Whole counts, and the system time that they cost.
    counts = {name: np.round(rate * length) for name, rate in rates.items()}
    system = (
        BASE * length
        + FORK * counts["forks"]
        + FAULT * counts["page_faults_minor"]
        + SWITCH * counts["context_switches"]
        + errors * length
    )
    user = length * (0.2 + 0.5 * random.random(n))
    return {
        "start": starts(length),
        "length_s": length,
        "user_s": user,
        "nice_s": np.zeros(n),
        "system_s": 0.9 * system,
        "softirq_s": 0.1 * system,
        "irq_s": np.zeros(n),
        **counts,
        "page_faults_major": np.zeros(n),
        "interrupts": np.round(length * 1000),
        "recorder_cpu_s": 0.001 * length,
    }


def cost(result, request):
    return next(item for item in result.costs if item.request == request)


def said(result, words):
    return any(words in text for text in worded(result.caveats, WORDS))


def test_costs_that_were_put_in_come_out(log_of):
    result = overhead.analyse(log_of(machine(), direct_costs=FACTS))
    assert result.costs[0].request == "base"
    assert {item.request for item in result.costs} >= {"forks", "page_faults_minor", "context_switches"}
    for request, truth in (("forks", FORK), ("page_faults_minor", FAULT), ("context_switches", SWITCH)):
        found = cost(result, request).seconds
        # Fixed seed; half as wide again as a 95 % interval: |t| < 3.
        assert abs(found.value - truth) < 1.5 * (found.high - found.low) / 2
        assert found.value == pytest.approx(truth, rel=0.03)
    assert result.r_squared > 0.95
    assert sum(item.share.value for item in result.costs) == pytest.approx(1.0, abs=1e-6)
    assert result.target_columns == ("system_s", "irq_s", "softirq_s")
    assert result.recorder.value == pytest.approx(0.001)


def test_units_say_what_a_cost_is_for(log_of):
    result = overhead.analyse(log_of(machine()))
    assert cost(result, "forks").seconds.unit == "s/fork"
    assert cost(result, "forks").rate.unit == "fork/s"
    assert cost(result, "base").seconds.unit == "s/s"
    assert result.target_mean.unit == "s/s"


def test_direct_costs_stand_beside_and_disagreement_is_said(log_of):
    result = overhead.analyse(log_of(machine(), direct_costs=FACTS))
    fork, fault = cost(result, "forks").direct, cost(result, "page_faults_minor").direct
    assert fork.agrees
    assert fork.ratio == pytest.approx(FORK / 410e-6, rel=0.03)
    assert fork.seconds.n == 30
    assert not fault.agrees
    assert fault.ratio == pytest.approx(4.0, rel=0.03)
    assert cost(result, "context_switches").direct.seconds.low is None
    assert any(
        "minor page faults differ from the direct measurement" in text
        for text in worded(result.caveats, WORDS)
    )


def test_outliers_are_dropped_once_and_counted(log_of):
    made = machine(n=500)
    late = np.random.default_rng(3).choice(500, 12, replace=False)
    made["system_s"][late] += 0.5 * made["length_s"][late]
    result = overhead.analyse(log_of(made))
    starts_us = {point.start_us for point in result.points if point.outlier}
    assert starts_us >= {int(made["start"].dt.epoch("us")[int(at)]) for at in late}
    assert result.outliers_above >= 12
    assert result.n + result.outliers == 500
    assert cost(result, "forks").seconds.value == pytest.approx(FORK, rel=0.03)


def test_columns_that_cannot_be_used_are_named_with_the_reason(log_of):
    made = machine()
    made["disk_reads"] = np.where(np.arange(400) < 100, np.nan, 5.0)
    made["disk_writes"] = np.full(400, 3.0)
    # Constant per second up to the rounding of the counts.
    made["net_packets_in"] = np.round(made["length_s"] * 0)
    result = overhead.analyse(log_of(made))
    reasons = {item.request: reason(item.reason) for item in result.left_out}
    assert "never happened" in reasons["page_faults_major"]
    assert "never happened" in reasons["net_packets"]
    assert "300 of 400 intervals" in reasons["disk_operations"]
    assert "not measured" in reasons["loopback_packets"]
    assert result.n + result.outliers == 400


def test_requests_that_come_together_are_one_row_with_the_cost_of_either(log_of):
    """Two interrupts with each context switch: a third of its cost for one more of either."""
    made = machine()
    made["interrupts"] = 2 * made["context_switches"]
    result = overhead.analyse(log_of(made))
    both = cost(result, "context_switches+interrupts")
    assert both.seconds.value == pytest.approx(SWITCH / 3, rel=0.03)
    assert both.columns == ("context_switches", "interrupts")
    assert {"context_switches", "interrupts"}.isdisjoint(item.request for item in result.costs)
    assert said(result, "do not show which of context switches and interrupts has the cost")
    assert both.shown_to_cost
    again = overhead.analyse(log_of(made, name="again"), requests=result.requests)
    assert cost(again, both.request).seconds.value == pytest.approx(both.seconds.value)


def test_what_competes_for_the_cpu_is_no_cost(log_of):
    made = machine()
    made["user_s"] = 2 * made["length_s"] - 1.1 * (made["system_s"] + made["softirq_s"])
    made["user_s"] += 0.1 * made["length_s"] * np.random.default_rng(5).random(400)
    result = overhead.analyse(log_of(made))
    assert "user_time" not in {item.request for item in result.costs}
    assert "user_time" in {item.request for item in result.left_out}


def test_a_negative_cost_has_one_without_beside_it(log_of):
    made = machine(noise=0.001)
    made["system_s"] = made["system_s"] + 0.5 * made["length_s"] - 0.3 * made["user_s"]
    names = ("forks", "page_faults_minor", "context_switches", "user_time")
    result = overhead.analyse(log_of(made), requests=names)
    found = cost(result, "user_time")
    assert found.seconds.value == pytest.approx(-0.3, abs=0.02)
    assert found.non_negative == 0.0
    assert all(item.non_negative >= 0.0 for item in result.costs)
    assert said(result, "user time is negative")


def test_ticks_that_are_off_are_said_and_can_be_scaled(log_of):
    made = machine()
    made["cpu_exact_s"] = 1.5 * (made["user_s"] + made["system_s"] + made["softirq_s"])
    log = log_of(made)
    by_ticks, scaled = overhead.analyse(log), overhead.analyse(log, scaled=True)
    assert by_ticks.tick_check.disagreement == pytest.approx(1 / 1.5 - 1)
    assert said(by_ticks, "costs are in tick-sampled time")
    assert scaled.scaled
    assert cost(scaled, "forks").seconds.value == pytest.approx(1.5 * FORK, rel=0.03)
    assert said(scaled, "exact time is used for the total")


def test_scaling_without_exact_time_does_not_apply(log_of):
    result = overhead.analyse(log_of(machine()), scaled=True)
    assert isinstance(result, NotApplicable)
    assert "exactly" in result.reason


def test_bards_divisor_as_printed(log_of):
    log = log_of(machine())
    names = ("forks", "page_faults_minor", "context_switches")
    # A threshold that drops nothing, so that both fits are of the same rows.
    ours = overhead.analyse(log, requests=names, fit_options=FitOptions(threshold=100.0))
    printed = overhead.analyse(log, requests=names, fit_options=FitOptions(threshold=100.0, as_printed=True))
    assert (ours.residual_deviation / printed.residual_deviation) ** 2 == pytest.approx(397 / 396)


def test_a_target_that_is_zero_but_for_outliers_does_not_apply(log_of):
    made = machine()
    made["irq_s"][7] = 0.5
    result = overhead.analyse(log_of(made), target=["irq_s"], requests=["forks"])
    assert isinstance(result, NotApplicable)
    assert "zero in every interval that is not an outlier" in result.reason


NOTHING = dict.fromkeys(("system_s", "softirq_s", "irq_s"), np.full(400, np.nan))
STEADY = dict.fromkeys(("system_s", "softirq_s"), np.zeros(400))


@pytest.mark.parametrize(
    ("n", "change", "reason"),
    [
        (400, NOTHING, "not measured"),
        (12, {}, "regression needs"),
        (1, {}, "single interval"),
        (400, STEADY, "never changed"),
    ],
)
def test_a_log_that_does_not_allow_it_says_why(log_of, n, change, reason):
    result = overhead.analyse(log_of(machine(n) | change))
    assert isinstance(result, NotApplicable)
    assert reason in result.reason
    assert result.remedy


def test_no_samples_and_no_roles_say_why(log_of, without_roles):
    assert isinstance(overhead.analyse(log_of(name="empty")), NotApplicable)
    schema = without_roles("system_time")
    result = overhead.analyse(log_of(machine(), schema=schema, name="bare"))
    assert isinstance(result, NotApplicable)
    assert "role system_time" in result.reason


def test_a_burst_of_one_request_is_said_to_hang_on_few_intervals(log_of):
    made = machine()
    made["page_faults_major"][100:103] = 1e5
    made["system_s"][100:103] += 0.5
    result = overhead.analyse(log_of(made), fit_options=FitOptions(threshold=50.0))
    assert cost(result, "page_faults_major").concentration > 0.75
    assert any(
        "major page faults depends on five intervals" in text for text in worded(result.caveats, WORDS)
    )


def test_a_cost_that_three_intervals_determine_has_no_interval(log_of):
    made = machine()
    made["page_faults_major"][100:103] = 1e5
    made["system_s"][100:103] += 0.5
    result = overhead.analyse(log_of(made), fit_options=FitOptions(threshold=50.0))
    few = cost(result, "page_faults_major")
    assert (few.seconds.low, few.seconds.high, few.bootstrap) == (None, None, None)
    assert few.among_all.low is None
    assert few.seconds.caveat.values["effective"] == pytest.approx(3.0, abs=0.3)
    assert next(item.kind for item in few.doubts) == "few_determine"
    text = render_text.render_section(section(result), width=100)
    assert "because too few observations determine them (in effect 3.1)" in " ".join(text.split())
    assert not any("major page fault includes zero" in item for item in worded(result.caveats, WORDS))
    assert cost(result, "forks").seconds.low is not None


def test_points_are_thinned_but_outliers_stay(log_of):
    made = machine(n=3000)
    made["system_s"][1234] += 5.0
    result = overhead.analyse(log_of(made))
    assert 1000 <= len(result.points) <= 2000
    late = next(point for point in result.points if point.start_us == int(made["start"].dt.epoch("us")[1234]))
    assert late.outlier
    assert late.observed - late.fitted == pytest.approx(5.0 / made["length_s"][1234], rel=0.02)
