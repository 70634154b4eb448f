"""Rates against truth that was put in."""

import numpy as np
import pytest
from known_logs import steady

from thinktime.analyses.rates import analysis as rates
from thinktime.stats.estimate import Caveat, NotApplicable


def test_rates_weigh_by_length_and_gauges_over_time(log_of):
    made = steady()
    result = rates.analyse(log_of(made))
    by_name = {rate.column: rate for rate in result.rates}
    assert by_name["forks"].mean.value == pytest.approx(made["forks"].sum() / made["length_s"].sum())
    assert by_name["forks"].mean.unit == "fork/s"
    assert by_name["forks"].total == made["forks"].sum()
    assert by_name["forks"].mean.low < 100 < by_name["forks"].mean.high  # fixed seed, true rate 100
    expected = np.average(made["runnable"], weights=made["length_s"])
    assert by_name["runnable"].mean.value == pytest.approx(expected)
    assert by_name["runnable"].total is None
    assert by_name["processes"].autocorrelation is None
    assert by_name["user_s"].lowest == pytest.approx(0.5)
    assert result.time_s == pytest.approx(made["length_s"].sum())


def test_absent_is_not_zero(log_of):
    result = rates.analyse(log_of(steady()))
    assert result.always_zero == ("net_packets_in",)
    assert {"softirq_net_rx", "swap_in_pages"} <= set(result.not_measured)
    assert not {rate.column for rate in result.rates} & {"net_packets_in", "swap_in_pages"}


def test_a_column_measured_in_part_is_a_rate_over_that_part(log_of):
    made = steady()
    made["forks"] = np.where(np.arange(200) < 50, np.nan, 10.0 * made["length_s"])
    result = rates.analyse(log_of(made))
    found = next(rate for rate in result.rates if rate.column == "forks").mean
    assert found.value == pytest.approx(10.0, rel=0.05)
    assert found.n == 150


def test_an_empty_log_has_no_rates(log_of):
    assert isinstance(rates.analyse(log_of()), NotApplicable)


def test_short_and_drifting_logs_say_so(log_of):
    few = rates.analyse(log_of({name: values[:9] for name, values in steady().items()}, name="few"))
    assert Caveat("few_intervals", intervals=9) in few.caveats
    made = steady()
    made["forks"] = np.arange(200)
    drifting = rates.analyse(log_of(made, name="drifting"))
    assert [(caveat.kind, caveat.values["example"]) for caveat in drifting.caveats] == [("drifting", "forks")]


def test_means_of_chosen_loads_have_no_interval(log_of):
    """How many intervals have which load was chosen: an interval of their mean would be of nothing."""
    plain = rates.analyse(log_of(steady()))
    stepped = rates.analyse(log_of(steady(), name="stepped", terminals={"users": "1..9..2"}))
    one = rates.analyse(log_of(steady(), name="one", terminals={"users": "9"}))
    for rate, of_play, of_one in zip(plain.rates, stepped.rates, one.rates, strict=True):
        assert of_play.mean.value == of_one.mean.value == rate.mean.value
        assert of_play.mean.low is None
        assert of_play.mean.high is None
        assert of_one.mean == rate.mean
    assert [caveat.kind for caveat in stepped.caveats] == ["loads_chosen"]
