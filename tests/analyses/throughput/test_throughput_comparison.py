"""Curves of several periods against truth that was put in: at equal load, and under the null hypothesis."""

import json

import numpy as np
import pytest
from known_logs import starts
from scipy import stats
from scipy.signal import lfilter

from thinktime import cli
from thinktime.analyses.throughput import analysis as throughput
from thinktime.analyses.throughput import comparison as throughput_comparison
from thinktime.analyses.throughput import load_sums
from thinktime.analyses.throughput.analysis import Measure
from thinktime.analyses.throughput.comparison_section import section
from thinktime.log import loads
from thinktime.stats import critical_values
from thinktime.stats.estimate import Caveat, NotApplicable
from thinktime.stats.series import batch_means, standardised
from thinktime.stats.series.batch_means import KEPT_MOST, GrowingBatches, join_batches

LENGTH_S = 300.0
DAY = 96
USER = Measure(name="user_time", label="user time", unit="s/s", useful=True)


def correlated(random, n, rho):
    """Standard normal errors, each correlated with the one before."""
    return lfilter([1.0], [1.0, -rho], random.standard_normal(n) * np.sqrt(1.0 - rho**2))


def period(random, days, mean_load, *, gain=1.0, day_sd=0.03, sd=0.1):
    """Loads through the day, and user time that saturates; errors last for hours and for days."""
    n = days * DAY
    daily = 1.0 + 0.6 * np.sin(np.pi * (np.arange(n) % DAY) / DAY)
    load = np.rint(np.clip(mean_load * daily + 3.0 * correlated(random, n, 0.9), 1.0, None))
    error = np.repeat(random.normal(0.0, day_sd, days), DAY) + sd * correlated(random, n, 0.8)
    return load, LENGTH_S * (gain * curve(load) + error)


def curve(load):
    return 0.5 * (1.0 - np.exp(-load / 8.0))


def samples(load, user):
    length = np.full(len(load), LENGTH_S)
    return {
        "start": starts(length),
        "length_s": length,
        "user_s": np.maximum(user, 0.0),
        "system_s": 0.4 * np.maximum(user, 0.0),
        "idle_s": length,
        "forks": 10.0 * load * length,
        "active_users": load,
    }


def sums_of(load, amounts, width=2):
    """Sums of one measure, as `load_sums.gather` makes them of a log."""
    names = ("user_time", *load_sums.DERIVED)
    cells = loads.numbers(load, width)
    none, one = np.zeros(len(load), dtype=np.int64), np.ones(len(load))
    at = names.index("load")
    columns = [
        (amounts, [0]),
        (LENGTH_S * one, [1, 3 * names.index("time")]),
        (load, [3 * at]),
        (one, [2, 3 * at + 1, 3 * at + 2, 3 * names.index("time") + 1]),
    ]
    own = GrowingBatches(int(cells.max()) + 1, 1, 3 * len(names))
    time = GrowingBatches(1, int(cells.max()) + 1, 3 * len(names))
    own.add(cells, none, columns)
    time.add(none, cells, columns)
    size = len(load)
    return load_sums.Sums(
        names=names,
        width=width,
        own=own,
        time=time,
        negative=(True,) * len(names),
        n=size,
        time_s=LENGTH_S * size,
    )


def contrasts(first, second):
    """Difference at equal load, and those of all loads, of two periods' sums."""
    both = [first, second]
    result = throughput_comparison.at_equal_load(("a", "b"), both, (USER,), n_few=10, level=0.95)
    return result.overall[0], result.by_load


# Sums of a stream


def test_batches_of_a_stream_are_those_of_the_whole():
    random = np.random.default_rng(1)
    n, clocks = 5000, 3
    clock = random.choice(clocks, n, p=[0.9, 0.09, 0.01])
    slot, values = random.integers(0, 2, n), random.random(n)
    streamed = GrowingBatches(clocks, 2, 2)
    for piece in np.split(np.arange(n), [1, 700, 701, 3000]):
        streamed.add(clock[piece], slot[piece], [(values[piece], [0]), (np.ones(len(piece)), [1])])
    for number in range(clocks):
        own, places = values[clock == number], slot[clock == number]
        size = 1
        while len(own) > size * KEPT_MOST:
            size *= 2
        expected = np.zeros((-(-len(own) // size), 2))
        np.add.at(expected, (np.arange(len(own)) // size, places), own)
        np.testing.assert_allclose(streamed.sums(number)[0], expected)
        assert streamed.sums(number)[1].sum() == len(own)
    assert streamed.totals()[0].sum() == pytest.approx(values.sum())


def test_joined_batches_keep_the_sums_and_the_order():
    batches = np.arange(20.0).reshape(1, 20)
    three = join_batches(batches, 3)
    assert three.shape == (1, 3)
    assert three.sum() == batches.sum()
    assert (np.diff(three[0]) > 0).all()
    assert join_batches(batches, 20) is batches


def test_a_mean_of_short_series_is_that_of_all_its_observations():
    """Up to `KEPT_MOST` observations no batches were joined: the interval is `batch_ratio`'s, to rounding."""
    random = np.random.default_rng(3)
    for n in (12, 40, KEPT_MOST):
        amounts, load = random.random(n) * LENGTH_S, np.full(n, 3.0)
        own, bases, count = sums_of(load, amounts).batched("user_time", 2)
        found = batch_means.of_sums(own, bases, count, 0.95, negative=False)
        expected = batch_means.batch_ratio(amounts, np.full(n, LENGTH_S))
        assert found.value == pytest.approx(expected.value)
        assert (found.low, found.high) == pytest.approx((expected.low, expected.high))
        assert found.method == expected.method


def test_stretches_left_out_in_turn_give_the_error_of_the_mean():
    """With equal stretches and one load the jackknife is Student's t on their means."""
    random = np.random.default_rng(4)
    amounts, lengths = random.random((10, 1)), np.full((10, 1), 2.0)
    found = standardised.standardised(amounts, lengths, np.ones(1), 10)
    mean, variance = batch_means.ratio_error(amounts[:, 0], lengths[:, 0], independent=True)
    assert (found.value, found.error) == pytest.approx((mean, variance.error))
    assert found.degrees == pytest.approx(9.0)
    twice = standardised.standardised(amounts, lengths, np.ones(1), 10, per=2.0 * amounts)
    assert (twice.value, twice.error) == pytest.approx((0.5, 0.0))
    assert standardised.standardised(amounts[:1], lengths[:1], np.ones(1), 1) is None


# Two periods


def test_equal_load_finds_what_whole_means_turn_round(log_of):
    """Simpson's case: the later period does 15 % less at every load, and more on the whole: it is busier.

    H0 in each interval: the truth put in. Three intervals of 0.999: false alarm below 3e-3.
    """
    random = np.random.default_rng(5)
    quiet = {"day_sd": 0.003, "sd": 0.01}
    before = log_of(samples(*period(random, 20, 6.0, **quiet)), name="before")
    after = log_of(samples(*period(random, 20, 12.0, gain=0.85, **quiet)), name="after")
    found = throughput_comparison.compare([before, after], ["before", "after"], width=1, level=0.999)
    first, second = found.curves
    assert second.whole["user_time"].low > first.whole["user_time"].high
    by_name = {item.measure.name: item for item in found.overall}
    user = by_name["user_time"]
    assert user.significant
    assert user.estimate.high < 0.0
    assert "user_time" in {item.measure.name for item in found.reversed_measures()}
    # At the common distribution of loads the truth is known.
    truth = float(sum(item.weight * curve(item.low) for item in found.standard))
    assert sum(item.weight for item in found.standard) == pytest.approx(1.0)
    assert user.estimate.low <= -0.15 * truth <= user.estimate.high
    assert first.equal_load["user_time"].low <= truth <= first.equal_load["user_time"].high
    assert second.equal_load["user_time"].low <= 0.85 * truth <= second.equal_load["user_time"].high
    # Requests per user did not change, though the busier period made more of them; nor did overhead.
    assert by_name["forks"].estimate.value == pytest.approx(0.0, abs=1e-9)
    assert by_name["overhead"].estimate.value == pytest.approx(0.0, abs=1e-9)
    # The canary: the whole means, compared, would say that work rose.
    assert (
        not user.estimate.low
        <= second.whole["user_time"].value - first.whole["user_time"].value
        <= user.estimate.high
    )


@pytest.mark.parametrize("other", ["web1", "db1"])
def test_another_machine_is_named_and_not_called_worse(log_of, other):
    """A machine of four CPUs does more than one of two: that is no verdict on a change."""
    random = np.random.default_rng(5)
    logs = [
        log_of(
            samples(*period(random, 10, 6.0, gain=gain, day_sd=0.003, sd=0.01)),
            machine={"hostname": host, "cpus": cpus},
            name=f"log-{cpus}",
        )
        for host, cpus, gain in (("web1", 2, 0.5), (other, 4, 1.0))
    ]
    page = section(throughput_comparison.compare(logs, ["before", "after"], width=1))
    first = next(text for text in page.summary if "more user time" in text)
    assert ("that is better" in first) == (other == "web1")
    warned = any("different machines (web1 with 2 CPUs, db1 with 4 CPUs)" in text for text in page.caveats)
    assert warned == (other == "db1")


def test_weights_are_the_mean_of_the_logs_own_loads(log_of):
    """Direct standardisation by hand: means of each load, weighted by the mean part of the time at it."""
    random = np.random.default_rng(6)
    made = [random.choice([1.0, 2.0, 3.0], 400, p=p) for p in ([0.2, 0.3, 0.5], [0.5, 0.3, 0.2])]
    logs = [
        log_of(samples(load, LENGTH_S * load * gain), name=name)
        for load, gain, name in zip(made, (0.1, 0.2), ("a", "b"), strict=True)
    ]
    found = throughput_comparison.compare(logs, ["a", "b"])
    shares = np.array([[(load == value).mean() for value in (1.0, 2.0, 3.0)] for load in made])
    weights = shares.mean(axis=0)
    assert [item.weight for item in found.standard] == pytest.approx(list(weights))
    assert [item.shares for item in found.standard] == [pytest.approx(tuple(part)) for part in shares.T]
    level = float(weights @ [1.0, 2.0, 3.0])
    values = [curve.equal_load["user_time"].value for curve in found.curves]
    assert values == pytest.approx([0.1 * level, 0.2 * level])
    by_load = [item.estimate.value for item in found.by_load if item.measure.name == "user_time"]
    assert by_load == pytest.approx([0.1, 0.2, 0.3])


def test_three_periods_make_three_pairs_and_one_family(log_of):
    random = np.random.default_rng(7)
    names = ["a", "b", "c"]
    logs = [
        log_of(samples(*period(random, 8, 8.0, gain=gain)), name=name)
        for name, gain in zip(names, (1.0, 1.0, 0.6), strict=True)
    ]
    found = throughput_comparison.compare(logs, names, width=2)
    user = {(item.first, item.second): item for item in found.overall if item.measure.name == "user_time"}
    assert list(user) == [("a", "b"), ("a", "c"), ("b", "c")]
    assert not user["a", "b"].significant
    assert user["a", "c"].significant
    assert user["b", "c"].significant
    assert all(item.p <= item.p_adjusted <= 1.0 for item in (*found.overall, *found.by_load))


def test_loads_that_one_log_hardly_reached_are_left_out_and_said(log_of):
    random = np.random.default_rng(8)
    few = random.choice([1.0, 2.0], 300)
    many = np.where(np.arange(300) < 5, 1.0, random.choice([2.0, 3.0, 4.0], 300))
    logs = [
        log_of(samples(load, LENGTH_S * 0.1 * load), name=name)
        for load, name in ((few, "few"), (many, "many"))
    ]
    found = throughput_comparison.compare(logs, ["few", "many"])
    assert [(item.low, item.high) for item in found.standard] == [(2.0, 2.0)]
    assert "few" in {caveat.values["name"] for caveat in found.caveats if caveat.kind == "little_common_load"}
    assert Caveat("few_in_range", ranges=1, n_few=10) in found.caveats
    nothing = throughput_comparison.compare(logs, ["few", "many"], n_few=200)
    assert isinstance(nothing, NotApplicable)
    assert "--width" in nothing.remedy


def test_loads_one_after_another_are_compared_too(log_of):
    """Users added step by step: each load lies in one stretch of time, which is cut finer."""
    random = np.random.default_rng(9)
    load = np.repeat([1.0, 2.0, 4.0, 8.0], 20)
    logs = [
        log_of(samples(load, LENGTH_S * (gain * curve(load) + random.normal(0, 0.01, 80))), name=name)
        for gain, name in ((1.0, "old"), (1.3, "new"))
    ]
    found = throughput_comparison.compare(logs, ["old", "new"])
    assert [item.low for item in found.standard] == [1.0, 2.0, 4.0, 8.0]
    (user,) = (item for item in found.overall if item.measure.name == "user_time")
    assert user.significant
    assert user.estimate.low > 0.0


def test_fewer_than_two_logs_are_no_comparison(log_of):
    with pytest.raises(ValueError, match="needs 2"):
        throughput_comparison.compare([log_of()], ["one"])
    empty = throughput_comparison.compare([log_of(name="a"), log_of(name="b")], ["a", "b"])
    assert isinstance(empty, NotApplicable)
    assert empty.reason.startswith("a: ")


def test_too_many_ranges_are_refused(log_of):
    load = np.linspace(1.0, 1000.0, 50)
    with pytest.raises(ValueError, match="the most is 200"):
        throughput.analyse(log_of(samples(load, load)), width=1)


# Rates of error


RUNS = 240


def rejected(tested, runs, rate=0.05):
    """Most rejections that a test of this rate makes in so many runs, but for one time in a thousand."""
    assert tested.shape == (runs,)
    return int(tested.sum()), int(stats.binom.ppf(0.999, runs, rate))


def test_a_difference_that_is_not_there_is_seldom_found():
    """H0: both periods have one curve; loads, hours and days differ. False alarms at their stated rate.

    Rejections at 0.05 are at most those of a binomial with a true rate of 0.075, which allows for what
    28 stretches leave of day-long errors: false alarm of this test 1e-3. The canary takes all
    observations for independent, and must reject more often than that.
    """
    random = np.random.default_rng(10)
    overall, any_load, naive = np.zeros(RUNS, bool), np.zeros(RUNS, bool), np.zeros(RUNS, bool)
    for run in range(RUNS):
        one, two = (period(random, 20, mean) for mean in (6.0, 10.0))
        whole, by_load = contrasts(sums_of(*one), sums_of(*two))
        overall[run] = whole.p < 0.05
        any_load[run] = any(item.p_adjusted < 0.05 for item in by_load)
        at = [part[1][np.isin(part[0], (7.0, 8.0))] for part in (one, two)]
        naive[run] = stats.ttest_ind(*at).pvalue < 0.05
    for tested in (overall, any_load):
        count, most = rejected(tested, RUNS, 0.075)
        assert count <= most
    count, most = rejected(naive, RUNS, 0.075)
    assert count > most


def test_intervals_by_load_hold_their_level_under_autocorrelation():
    """H0: the mean at a load is the curve. Misses of 0.95 intervals, over loads and runs, stay below 7 %.

    Loads of a run share their errors, so runs are the unit: mean miss rate within 4 of its own standard
    errors of 0.05 or below (false alarm 1e-4). The canary, an interval for independent observations,
    does not.
    """
    random = np.random.default_rng(11)
    missed, naive = [], []
    for _ in range(60):
        load, amounts = period(random, 20, 8.0, day_sd=0.0)
        sums = sums_of(load, amounts, width=1)
        cut = load_sums.stretches_for(sums.n)
        own, plain = [], []
        for number in np.flatnonzero(sums.counts("load") >= 60):
            truth, at = curve(float(number)), load == number
            found = standardised.standardised(
                *(part[:, [number]] for part in sums.stretches("user_time", cut)), np.ones(1), int(at.sum())
            )
            reach = critical_values.student_t(0.95, found.degrees) * found.error
            own.append(abs(found.value - truth) > reach)
            values = amounts[at] / LENGTH_S
            plain.append(abs(values.mean() - truth) > 1.96 * values.std(ddof=1) / np.sqrt(at.sum()))
        missed.append(np.mean(own))
        naive.append(np.mean(plain))
    for rates, holds in ((missed, True), (naive, False)):
        bound = 0.05 + 4.0 * np.std(rates, ddof=1) / np.sqrt(len(rates))
        assert (np.mean(rates) <= bound) == holds


# What is printed


def analysed(capsys, *arguments):
    status = cli.run(["analyse", "throughput", *map(str, arguments)])
    return status, capsys.readouterr()


def test_who_asks_for_whole_means_is_told_what_to_compare(log_of, capsys):
    random = np.random.default_rng(12)
    quiet = {"day_sd": 0.003, "sd": 0.01}
    before = log_of(samples(*period(random, 10, 6.0, **quiet)), name="before").path
    after = log_of(samples(*period(random, 10, 11.0, gain=0.8, **quiet)), name="after").path
    status, told = analysed(capsys, before, after, "--width", 2, "--whole")
    assert status == 0
    words = " ".join(told.out.split())
    assert "At equal load after has less user time than before" in words
    assert "Whole means must not be compared" in words
    assert "Whole means would suggest the opposite" in words
    status, told = analysed(capsys, before, after, "--format", "json")
    tables = {table["name"] for table in json.loads(told.out)["tables"]}
    assert {"throughput-equal-load", "throughput-differences", "throughput-standard"} <= tables
    assert "throughput-whole" not in tables
    status, told = analysed(capsys, before, "--whole", "--width", 2)
    words = " ".join(told.out.split())
    assert "must not be compared with another log's" in words
    assert "1 to 2" in words


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--by", "no_such"], "--by no_such"),
        (["--by", "forks", "--width", 1], "--width: 1 makes"),
        (["{log}"], "given twice"),
    ],
)
def test_bad_use_of_throughput_is_told(log_of, capsys, arguments, message):
    path = log_of(samples(*period(np.random.default_rng(13), 2, 6.0))).path
    status, told = analysed(capsys, path, *(str(item).format(log=path) for item in arguments))
    assert status == 2
    assert message in told.err


def test_curves_of_all_logs_are_drawn_with_bands_and_hollow_points(log_of):
    random = np.random.default_rng(14)
    logs = [log_of(samples(*period(random, 2, mean)), name=f"log{mean}") for mean in (5.0, 8.0, 11.0)]
    names = ["first", "second", "third"]
    page = section(throughput_comparison.compare(logs, names, n_few=15))
    figure = page.figures[0]
    drawn = json.dumps(figure.chart())
    for name in names:
        assert f'"series": "{name}"' in drawn
    assert '"few": true' in drawn
    assert '"low"' in drawn
    assert "Hollow points" in figure.alt
