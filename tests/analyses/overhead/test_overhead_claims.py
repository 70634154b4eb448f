"""What a summary may say of a cost, and which system time it is measured by."""

import numpy as np
import pytest
from test_overhead import FAULT, FORK, SWITCH, cost, machine, said

from thinktime.analyses.overhead import analysis as overhead
from thinktime.analyses.overhead import comparison, subtraction
from thinktime.analyses.overhead.caveats import doubt
from thinktime.analyses.overhead.section import section
from thinktime.documents import format as shown
from thinktime.stats.estimate import NotApplicable


def doubts(result, request):
    return {item.kind for item in cost(result, request).doubts}


def sampled(made, missed=0.6):
    """The log of a recorder that samples modes, while ticks miss a share of the time of forks."""
    system = made["system_s"] + made["softirq_s"]
    hidden = missed * FORK * made["forks"]
    return {
        **made,
        "system_s": made["system_s"] - hidden,
        "user_s": made["user_s"] + hidden,
        "system_sampled_s": system,
        "user_sampled_s": made["user_s"],
    }


def test_sampled_system_time_has_what_ticks_miss(log_of):
    log = log_of(sampled(machine()))
    result, ticks = overhead.analyse(log), overhead.analyse(log, sampled=False)
    assert (result.timing, ticks.timing) == ("sampled", "as recorded")
    assert cost(result, "forks").seconds.value == pytest.approx(FORK, rel=0.03)
    assert cost(ticks, "forks").seconds.value == pytest.approx(0.4 * FORK, rel=0.1)
    assert result.sampling.disagreement == pytest.approx(-0.15, abs=0.05)
    assert said(result, "short runs begin after one tick and end before the next")
    # Nothing confirms it: a cost that a direct measurement could refute is no finding without one.
    assert doubts(result, "page_faults_minor") == {"no_direct_cost"}


def test_system_time_that_was_sampled_rarely_is_not_used(log_of):
    made = sampled(machine())
    made["system_sampled_s"] = np.where(np.arange(400) < 60, np.nan, made["system_sampled_s"])
    assert overhead.analyse(log_of(made)).target_columns == ("system_s", "irq_s", "softirq_s")


def test_several_logs_are_compared_by_the_same_time(log_of):
    """One log without samples: both by ticks, or the difference of the clocks would be one of the costs."""
    logs = [log_of(sampled(machine(), missed=0.0)), log_of(machine(seed=2), name="other")]
    compared = comparison.compare(logs, ["a", "b"])
    assert {result.target_columns[0] for result in compared.results} == {"system_s"}
    both = comparison.compare([logs[0], log_of(sampled(machine(seed=3)), name="third")], ["a", "b"])
    assert {result.timing for result in both.results} == {"sampled"}


def test_a_part_is_subtracted_from_a_whole_of_the_same_clock(log_of):
    result = subtraction.subtract(log_of(sampled(machine())), ["softirq_s"])
    assert "system_s" in result.whole.target_columns
    assert result.share.value == pytest.approx(0.1, abs=0.03)


def test_a_cost_by_ticks_is_no_finding(log_of):
    result = overhead.analyse(log_of(machine(), source="linux"))
    assert result.timing == "ticks"
    assert not any(item.claimed for item in result.costs[1:])
    assert "by_ticks" in doubts(result, "page_faults_minor")
    assert "No cost of a kind of request" in section(result).summary[0]
    assert said(result, "ticks, which miss short runs")


def test_a_fork_is_in_the_table_and_no_finding(log_of):
    result = overhead.analyse(log_of(machine()))
    assert doubts(result, "forks") == {"of_many_sizes"}
    assert not doubts(result, "page_faults_minor")
    text = " ".join(section(result).summary)
    assert "CPU time of one request: minor page fault" in text
    assert "In the table only: fork (it has no single cost, and this is not its direct one)" in text


@pytest.mark.parametrize("timing", ["sampled", "as recorded"])
@pytest.mark.parametrize(("factor", "agrees"), [(1.0, True), (1.03, True), (1.5, False), (0.7, False)])
def test_a_cost_is_a_finding_where_the_direct_one_agrees(log_of, factor, agrees, timing):
    """Both have errors: 3 % is within those of the direct cost, half as much again is not."""
    direct = {"request": "page_faults_minor", "n": 30, "method": "loop", "seconds": factor * FAULT}
    direct |= {"low": 0.95 * factor * FAULT, "high": 1.05 * factor * FAULT}
    made = machine() if timing == "as recorded" else sampled(machine(), missed=0.0)
    result = overhead.analyse(log_of(made, direct_costs=[direct]))
    found = cost(result, "page_faults_minor")
    assert result.timing == timing
    assert found.direct.agrees == agrees
    assert doubts(result, "page_faults_minor") == (set() if agrees else {"direct_cost_differs"})
    text = " ".join(section(result).summary)
    assert ("CPU time of one request: minor page fault" in text) == agrees
    ratio = shown.number(found.direct.ratio)
    assert (f"minor page fault ({ratio} times what was measured directly)" in text) != agrees


@pytest.mark.parametrize("kind", ["interrupts", "softirq_net_rx"])
def test_an_interrupt_stands_for_what_raised_it(log_of, kind):
    made = machine()
    made[kind] = np.round(made["context_switches"] * 0.1 * np.random.default_rng(2).random(400))
    made["system_s"] = made["system_s"] + 50e-6 * made[kind]
    result = overhead.analyse(log_of(made), requests=[kind, "forks", "page_faults_minor"])
    assert "stand_in" in doubts(result, kind)


def test_a_cost_beyond_all_of_the_system_time_is_no_finding(log_of):
    """What costs most is not counted, and grows faster than the faults that accompany it."""
    made = machine()
    rates = made["page_faults_minor"]
    made["system_s"] = 3 * FAULT * rates - 2.5 * FAULT * rates.mean() + 1e-4
    result = overhead.analyse(log_of(made), requests=["page_faults_minor"])
    found = cost(result, "page_faults_minor")
    assert found.share.value > 1.0
    assert "more_than_all" in doubts(result, "page_faults_minor")
    assert any("of all that was measured" in doubt(item) for item in found.doubts)


def test_a_wide_interval_is_no_finding(log_of):
    """A fork's cost is some 5 standard errors from zero under such errors: 95 % is 40 % of it."""
    result = overhead.analyse(log_of(machine(noise=0.12)), requests=["forks", "page_faults_minor"])
    found = cost(result, "forks")
    assert found.shown_to_cost
    assert "wide" in doubts(result, "forks")


def test_a_cost_that_moves_with_the_length_is_no_finding(log_of):
    """What is not counted has the rate of a fault two intervals ago."""
    made = machine(n=2000, rho=0.0)
    late = np.roll(made["page_faults_minor"], 1)
    made["system_s"] = made["system_s"] + 3 * FAULT * late
    result = overhead.analyse(log_of(made))
    assert "moves_with_length" in doubts(result, "page_faults_minor")


@pytest.mark.parametrize(("spread", "rivals"), [(0.3, ("loopback packets",)), (2.0, ())])
def test_a_rival_takes_most_of_the_variation_of_a_cost(log_of, spread, rivals):
    """Packets that cost nothing follow the faults: closely, most of their variation is the faults'."""
    made = machine()
    factor = np.exp(spread * np.random.default_rng(9).normal(size=400))
    made["loopback_packets"] = np.round(made["page_faults_minor"] * factor)
    result = overhead.analyse(log_of(made))
    assert cost(result, "page_faults_minor").rivals == rivals
    assert doubts(result, "page_faults_minor") == ({"rival_left_out"} if rivals else set())
    assert cost(result, "context_switches").rivals == ()


def full(made):
    """The machine with every CPU busy: user time is what system time leaves."""
    system = made["system_s"] + made["softirq_s"]
    length = made["length_s"]
    return {**made, "user_s": 2 * length - system, "idle_s": 0.0 * length, "iowait_s": 0.0 * length}


def test_user_time_is_refused_where_the_cpu_is_full(log_of):
    log = log_of(full(machine()))
    refused = overhead.analyse(log, requests=["forks", "user_time"])
    assert isinstance(refused, NotApplicable)
    assert "full in 400 of 400 intervals" in refused.reason
    assert "leave out --request user_time" in refused.remedy
    # What is refused: every cost would be zero, and that of user time -1 s/s.
    there = overhead.analyse(log, requests=["forks", "user_time"], target=["system_s"])
    assert cost(there, "user_time").seconds.value == pytest.approx(-0.9, abs=0.1)
    assert abs(cost(there, "forks").seconds.value) < 0.2 * FORK
    assert not isinstance(overhead.analyse(log, requests=["forks"]), NotApplicable)


def test_user_time_is_allowed_where_the_cpu_is_idle_at_times(log_of):
    made = machine()
    made["idle_s"] = 2 * made["length_s"] - made["user_s"] - made["system_s"] - made["softirq_s"]
    result = overhead.analyse(log_of(made), requests=["forks", "user_time", "context_switches"])
    assert cost(result, "context_switches").seconds.value == pytest.approx(SWITCH, rel=0.5)
