"""Residual life, stability, arrivals and fits of a log, against the truth that was put in."""

import json

import numpy as np
import pytest
from known_logs import EPOCH_US, frame, instants
from scipy import stats

from thinktime import cli
from thinktime.analyses.arrivals import analysis as arrivals
from thinktime.analyses.service import analysis as service
from thinktime.analyses.service import fit as service_fit
from thinktime.analyses.service.section import section
from thinktime.documents.remarks import remarks
from thinktime.log import Log, LogWriter, periods, vocabulary
from thinktime.sources.simulated import simulate
from thinktime.stats.estimate import NotApplicable


def columns(service_s, arrival=None, classes=None, population=None):
    n = len(service_s)
    arrival = np.arange(n) * 5.0 if arrival is None else np.asarray(arrival)
    made = {
        "user": ["a"] * n,
        "class": ["x"] * n if classes is None else list(classes),
        "due": instants(arrival),
        "completion": instants(arrival + service_s),
        "service_s": service_s,
    }
    return made if population is None else made | {"population": population}


def hyperexponential(random, n):
    return np.where(random.random(n) < 0.1, random.exponential(2.0, n), random.exponential(0.1, n))


# What the residual life says


@pytest.mark.parametrize(
    ("draw", "direction", "rule", "hazard_falls"),
    [
        (hyperexponential, "increasing", "least attained service", True),
        (lambda random, n: random.gamma(4.0, 0.5, n), "decreasing", "first come, first served", False),
        (lambda random, n: random.exponential(1.0, n), "undecided", "undecided", False),
        # Never less than 1 s, then the longer the longer: the hazard falls only after that.
        (lambda random, n: (1 - random.random(n)) ** (-1 / 2.5), "not monotone", "undecided", True),
    ],
    ids=["hyperexponential", "gamma", "exponential", "Pareto"],
)
def test_the_rule_follows_from_the_distribution(log_of, draw, direction, rule, hazard_falls):
    values = draw(np.random.default_rng(21), 3000)
    (found,) = service.analyse(log_of(interactions=columns(values))).ageing
    assert found.direction == direction
    assert found.rule == rule
    assert found.hazard_falls == hazard_falls


def test_each_class_has_its_own_life_and_small_ones_none(log_of):
    random = np.random.default_rng(22)
    values = np.concatenate([hyperexponential(random, 1000), random.gamma(3.0, 1.0, 1000), [1.0] * 6])
    classes = np.repeat(["heavy", "light", "few"], [1000, 1000, 6])
    order = random.permutation(len(values))
    result = service.analyse(log_of(interactions=columns(values[order], classes=classes[order])))
    found = {item.name: item for item in result.ageing}
    assert set(found) == {"all", "heavy", "light"}
    assert found["heavy"].direction == "increasing"
    assert found["light"].direction == "decreasing"
    assert found["light"].exponential.rejected()
    first = found["heavy"].curve[0]
    assert first.service_s == 0.0
    assert first.residual.value == pytest.approx(values[classes == "heavy"].mean())


def test_parts_below_limits_and_the_histogram_count_everything(log_of):
    values = np.repeat([0.05, 0.1, 0.15, 0.5, 3.0], [50, 20, 8, 16, 6])
    result = service.analyse(log_of(interactions=columns(values)))
    assert [item.limit_s for item in result.below] == [0.1, 0.2, 2.0]
    assert [item.share.value for item in result.below] == pytest.approx([0.7, 0.78, 0.94])
    assert sum(item.share.value for item in result.histogram) == pytest.approx(1.0)
    holding = [item for item in result.histogram if item.low_s < 0.15 <= item.high_s]
    assert [item.share.value for item in holding] == pytest.approx([0.08])
    steps = [item.high_s / item.low_s for item in result.histogram]
    assert steps == pytest.approx([10**0.2] * len(steps))


def test_zeros_stand_in_the_first_box(log_of):
    values = np.concatenate([np.zeros(40), np.full(60, 0.3)])
    result = service.analyse(log_of(interactions=columns(values)))
    assert result.histogram[0].low_s == 0.0
    assert result.histogram[0].share.value == pytest.approx(0.4)
    assert sum(item.share.value for item in result.histogram) == pytest.approx(1.0)


def test_the_concentration_curve_is_that_of_the_exponential(log_of):
    """Q(F) = F + (1 - F) ln(1 - F); within 1.7 half widths at every tenth point, fixed seed."""
    values = np.random.default_rng(23).exponential(2.0, 5000)
    result = service.analyse(log_of(interactions=columns(values)))
    for point in result.curve[5:-5:10]:
        rest = 1 - point.fraction
        truth = point.fraction + rest * np.log(rest)
        half = (point.concentration.high - point.concentration.low) / 2
        assert abs(point.concentration.value - truth) < 1.7 * half
    assert [point.fraction for point in result.curve] == sorted(point.fraction for point in result.curve)


def test_correlated_service_times_are_said(log_of):
    random = np.random.default_rng(24)
    level = np.repeat(random.exponential(1.0, 50), 20)
    result = service.analyse(log_of(interactions=columns(level * random.gamma(5.0, 0.2, 1000))))
    assert "correlated" in {caveat.kind for caveat in result.caveats}


# Stability


def test_a_class_that_drifts_is_found_and_the_steady_one_is_not(log_of):
    random = np.random.default_rng(25)
    n = 4000
    arrival = np.sort(random.uniform(0, 6000.0, n))
    drifting = random.random(n) < 0.5
    values = random.exponential(1.0, n) * np.where(drifting, 1 + arrival / 6000.0, 1.0)
    classes = np.where(drifting, "drifting", "steady")
    result = service.analyse(log_of(interactions=columns(values, arrival, classes))).stability
    found = {test.name: test for test in result.tests}
    assert len(result.periods) == 10
    assert sum(item.n for item in result.periods) in {n, n - 1}
    assert found["steady"].stable
    assert found["drifting"].trend.rejected()
    assert found["drifting"].trend.direction == 1
    assert found["drifting"].effect > 0.01
    assert not found["drifting"].stable


def test_periods_part_where_the_number_of_users_changes(log_of):
    random = np.random.default_rng(26)
    arrival = np.arange(600) * 1.0
    population = np.repeat([1, 2, 4], 200)
    result = service.analyse(
        log_of(interactions=columns(random.exponential(0.5, 600), arrival, None, population))
    )
    assert {item.users for item in result.stability.periods} == {1.0, 2.0, 4.0}
    assert {item.start_s for item in result.stability.periods} >= {0.0, 200.0, 400.0}


def test_a_short_log_cannot_say_whether_it_is_stable(log_of):
    result = service.analyse(log_of(interactions=columns(np.linspace(0.1, 1.0, 30))))
    assert isinstance(result.stability, NotApplicable)


def test_sessions_end_periods_and_lose_their_warm_up(tmp_path):
    for number in range(2):
        write_session(tmp_path / "log", number)
    log = Log.open(tmp_path / "log")
    spans = periods.sessions(log, EPOCH_US, 0.0, 1999.0)
    assert [(span.start, span.end) for span in spans] == [(100.0, 1000.0), (1100.0, 1999.0)]
    assert [span.length for span in periods.cut(spans, 300.0)] == pytest.approx([300.0] * 3 + [899.0 / 3] * 3)


def write_session(path, number):
    start = EPOCH_US + number * 1_000_000_000
    with LogWriter.open(path, "resume", source="test", machine={}, start_us=start) as writer:
        made = columns(np.full(10, 0.5), 1000.0 * number + np.arange(10.0))
        writer.write("interactions", frame(made, vocabulary("interactions")))
        writer.set("replication", {"number": number, "warm_up_s": 100.0})
        writer.end_us = start + 1_000_000_000


def test_sessions_of_another_time_are_one_stretch(log_of):
    log = log_of(interactions=columns(np.full(10, 0.5)))
    assert [(span.start, span.end) for span in periods.sessions(log, EPOCH_US, 0.0, 45.5)] == [(0.0, 45.5)]


def test_integrals_count_who_is_there():
    start, end = np.array([0.0, 1.0, 5.0]), np.array([2.0, 4.0, 9.0])
    assert np.diff(periods.integral(start, end, np.array([0.0, 2.0, 6.0, 10.0]))).tolist() == [3.0, 3.0, 3.0]


# Arrivals


def test_a_poisson_process_passes_and_bursts_do_not(log_of):
    random = np.random.default_rng(27)
    quiet = np.sort(random.uniform(0.0, 3000.0, 3000))
    result = arrivals.analyse(log_of(interactions=columns(np.full(3000, 0.01), quiet), name="quiet"))
    assert result.poisson
    assert all(item.poisson for item in result.periods)
    assert result.finite is None
    rate = result.periods[0].rate
    assert rate.low < 1.0 < rate.high
    bursts = np.sort((quiet[:1000, None] + random.exponential(0.2, (1000, 3))).ravel())
    result = arrivals.analyse(log_of(interactions=columns(np.full(3000, 0.01), bursts), name="bursts"))
    assert not result.poisson
    assert result.counts.rejected()
    assert result.counts.direction == 1
    assert result.periods[0].dispersion.low > 1.5
    assert not any(item.poisson for item in result.periods)


def test_false_alarms_over_all_periods_are_held(log_of):
    """60 logs of five periods; alarms in any are binomial (0.05), the bound is missed once in 10 000."""
    from scipy import stats

    random = np.random.default_rng(28)
    alarms = together = 0
    for run in range(60):
        times = np.sort(random.uniform(0.0, 500.0, 500))
        log = log_of(interactions=columns(np.full(500, 0.01), times), name=f"log{run}")
        result = arrivals.analyse(log, period_s=100.0)
        assert len(result.periods) == 5
        alarms += any(not item.poisson for item in result.periods)
        together += not result.poisson
    most = stats.binom.ppf(1 - 1e-4, 60, 0.05)
    assert alarms <= most
    assert together <= most


def test_a_change_of_users_between_periods_is_no_burst(log_of):
    random = np.random.default_rng(29)
    times = np.concatenate([np.sort(random.uniform(0, 400, 300)), np.sort(random.uniform(400, 800, 1500))])
    population = np.repeat([3, 15], [300, 1500])
    result = arrivals.analyse(log_of(interactions=columns(np.full(1800, 0.01), times, None, population)))
    assert result.poisson
    assert {item.users for item in result.periods} == {3.0, 15.0}


def test_a_finite_population_is_said(log_of):
    """Ten users, think 1 s, answered after 1 s: half of them think, and that varies."""
    random = np.random.default_rng(30)
    cycles = 1.0 + random.exponential(1.0, (10, 300))
    times = np.sort((np.cumsum(cycles, axis=1) - 1.0).ravel())
    times = times[times < 400.0]
    made = columns(np.full(len(times), 1.0), times, None, np.full(len(times), 10))
    result = arrivals.analyse(log_of(interactions=made))
    assert result.finite.thinking == pytest.approx(5.0, rel=0.05)
    assert result.finite.variation == pytest.approx(np.sqrt(2.5) / 5.0, rel=0.1)  # binomial (10, 1/2)
    assert "finite_population" in {caveat.kind for caveat in result.caveats}


def test_few_arrivals_do_not_apply(log_of):
    result = arrivals.analyse(log_of(interactions=columns(np.full(20, 0.1))))
    assert isinstance(result, NotApplicable)
    assert isinstance(arrivals.analyse(log_of(name="empty")), NotApplicable)


# Fits


@pytest.fixture(scope="module")
def mixed():
    random = np.random.default_rng(31)
    values = np.concatenate([hyperexponential(random, 400), random.exponential(0.3, 200), np.full(40, 0.2)])
    classes = np.repeat(["compute", "a command", "fixed"], [400, 200, 40])
    order = random.permutation(len(values))
    return columns(values[order], classes=classes[order])


@pytest.fixture(scope="module")
def fitted(mixed, tmp_path_factory):
    path = tmp_path_factory.mktemp("mixed") / "log"
    with LogWriter.open(path, source="test", machine={}) as writer:
        writer.write("interactions", frame(mixed, vocabulary("interactions")))
    return service_fit.analyse(Log.open(path), replications=9)


def test_fits_by_class(fitted):
    result = fitted
    assert [item.name for item in result.classes] == ["compute", "a command"]
    assert result.classes[0].share == pytest.approx(400 / 640)
    assert result.classes[0].fits.fits[0].spec["kind"] == "hyperexponential"
    assert result.classes[1].fits.chosen["kind"] == "exponential"
    ((name, why),) = result.refused
    assert name == "fixed"
    assert "all 40 values are 0.2 s" in why


def test_the_toml_is_what_a_simulation_reads(fitted):
    tomllib = pytest.importorskip("tomllib")
    result = fitted
    read = tomllib.loads(service_fit.toml(result, 'a "log"\nwith = "tricks"'))
    assert read["service"] == result.overall.chosen
    assert set(read["classes"]) == {"compute", "a command"}
    assert read["classes"]["a command"]["service"] == result.classes[1].fits.chosen
    assert read["classes"]["compute"]["share"] == pytest.approx(400 / 640)
    assert "with" not in read


def test_a_simulation_takes_every_fit(fitted):
    fits = fitted.overall
    for spec in (*(fit.spec for fit in fits.fits), fits.empirical):
        run = simulate("apl360", {"users": 3, "length": 30.0, "insertion_time": spec}, seed=1)
        assert run.parameters["insertion_time"]["kind"] == spec["kind"]


def test_fits_from_the_command_line(log_of, tmp_path, capsys):
    random = np.random.default_rng(32)
    log = log_of(interactions=columns(random.exponential(1.0, 60)))
    target = tmp_path / "service.toml"
    command = ["analyse", "service", str(log.path), "--fit", str(target), "--format", "json"]
    assert cli.run(command) == 0
    section = json.loads(capsys.readouterr().out)
    assert {"service-fits", "service-fit-parameters"} <= {table["name"] for table in section["tables"]}
    before = target.read_bytes()
    assert cli.run(command) == 2
    assert "--force" in capsys.readouterr().err
    assert cli.run([*command, "--force"]) == 0
    assert target.read_bytes() == before
    capsys.readouterr()
    assert cli.run(["analyse", "rates", str(log.path), "--fit", str(target)]) == 2
    assert "--fit: there is no such option" in capsys.readouterr().err


def test_what_cannot_be_fitted_fails_with_the_reason(log_of, tmp_path, capsys):
    log = log_of(interactions=columns(np.linspace(0.1, 1.0, 12)))
    target = tmp_path / "fit.toml"
    assert cli.run(["analyse", "service", str(log.path), "--fit", str(target)]) == 1
    assert "12 values are too few" in capsys.readouterr().err
    assert not target.exists()
    assert isinstance(service_fit.analyse(log_of(name="empty")), NotApplicable)


# Moments, concentration and the clock


def test_moments_of_a_hyperexponential(log_of):
    """90 % exponential of mean 0.1 s, 10 % of 2 s; fixed seed, each figure within 1.7 half widths."""
    random = np.random.default_rng(5)
    n = 20_000
    heavy = random.random(n) < 0.1
    values = np.where(heavy, random.exponential(2.0, n), random.exponential(0.1, n))
    arrival = np.arange(n) * 5.0
    made = {
        "user": ["a"] * n,
        "class": np.where(heavy, "heavy", "light").tolist(),
        "due": instants(arrival),
        "completion": instants(arrival + values),
        "service_s": values,
    }
    result = service.analyse(log_of(interactions=made))
    mean = 0.9 * 0.1 + 0.1 * 2.0
    second = 2 * (0.9 * 0.1**2 + 0.1 * 2.0**2)
    third = 6 * (0.9 * 0.1**3 + 0.1 * 2.0**3)
    variance = second - mean**2
    skew = (third - 3 * mean * second + 2 * mean**3) / variance**1.5
    whole = result.overall
    for found, truth in (
        (whole.mean, mean),
        (whole.variance, variance),
        (whole.standard_deviation, variance**0.5),
        (whole.coefficient_of_variation, variance**0.5 / mean),
    ):
        assert abs(found.value - truth) < 1.7 * (found.high - found.low) / 2
    # Six standard errors of a skewness that has no interval.
    assert whole.skewness.value == pytest.approx(skew, rel=0.15)
    assert (whole.skewness.low, whole.skewness.caveat.kind) == (None, "heavy_tail")
    assert result.heavier_than_exponential
    assert [item.name for item in result.classes] == ["heavy", "light"]
    assert sum(item.share.value for item in result.classes) == pytest.approx(1.0)
    assert sum(item.service_share.value for item in result.classes) == pytest.approx(1.0)
    assert result.classes[0].service_share.value == pytest.approx(0.2 / mean, rel=0.05)
    assert (
        result.classes[1].coefficient_of_variation.low < 1.0 < result.classes[1].coefficient_of_variation.high
    )


def test_concentration_of_the_exponential(log_of):
    """The upper part p of an exponential holds p (1 - ln p) of the whole."""
    random = np.random.default_rng(6)
    n = 20_000
    values, arrival = random.exponential(3.0, n), np.arange(n) * 100.0
    made = {
        "user": ["a"] * n,
        "class": ["x"] * n,
        "due": instants(arrival),
        "completion": instants(arrival + values),
        "service_s": values,
    }
    result = service.analyse(log_of(interactions=made))
    for item in result.concentration:
        truth = item.upper * (1 - np.log(item.upper))
        assert abs(item.share.value - truth) < 1.7 * (item.share.high - item.share.low) / 2
    assert result.curve[-1].concentration.value == pytest.approx(1.0)
    assert not result.classes
    assert not result.heavier_than_exponential


def test_service_is_given_by_its_parts_where_not_as_a_whole(log_of):
    arrival = np.arange(10) * 5.0
    made = {
        "user": ["a"] * 10,
        "class": ["x"] * 10,
        "due": instants(arrival),
        "completion": instants(arrival + 1),
        "user_s": np.arange(10) * 0.1,
        "system_s": np.full(10, 0.1),
    }
    result = service.analyse(log_of(interactions=made))
    assert result.overall.mean.value == pytest.approx(0.55)
    assert "short_tail" in {caveat.kind for caveat in result.caveats}


def test_what_is_beyond_a_quantum_has_no_interval(log_of):
    """A clock of 0.1 s, and programs are stopped after a second: all beyond 0.9 s receive as much."""
    values = np.minimum(np.ceil(np.random.default_rng(24).exponential(5.0, 2000)), 10.0) / 10
    found = service.analyse(log_of(interactions=columns(values)))
    (life,) = found.ageing
    last = life.curve[-1]
    assert last.residual.low is None
    assert last.residual.high is None
    assert last.residual.caveat.kind == "equal_values"
    assert last.low_all is None
    assert life.curve[0].residual.low < life.curve[0].residual.value
    shown = section(found)
    assert "are equal and do not show" in " ".join(remarks(shown.tables))
    assert all(figure.chart() for figure in shown.figures)


def test_a_coarse_clock_is_said(log_of):
    random = np.random.default_rng(7)
    arrival = np.arange(300) * 5.0
    made = {
        "user": ["a"] * 300,
        "class": ["x"] * 300,
        "due": instants(arrival),
        "completion": instants(arrival + 1),
        "service_s": np.ceil(random.exponential(2.0, 300)) * 0.01,
    }
    result = service.analyse(log_of(interactions=made))
    assert "coarse_clock" in {caveat.kind for caveat in result.caveats}
    assert result.overall.mean.value == pytest.approx(stats.geom(1 - np.exp(-0.5)).mean() * 0.01, rel=0.2)
