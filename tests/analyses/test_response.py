"""Response times and throughput, where sessions lie apart."""

from dataclasses import replace

import numpy as np
import pytest
from known_logs import EPOCH_US, closed_system, frame, instants, steady

from thinktime.analyses.response import analysis as response
from thinktime.analyses.response.section import section
from thinktime.analyses.service import analysis as service
from thinktime.errors import InputError
from thinktime.log import Log, LogWriter, vocabulary
from thinktime.stats.estimate import Caveat, NotApplicable

GAP_S = 36_000.0
"""Between two sessions, in which nobody plays."""
N, EVERY_S, RESPONSE_S = 400, 0.5, 0.3


def write_session(path, number):
    """One interaction each half second, of three users."""
    first = number * GAP_S
    start = EPOCH_US + round(first * 1e6)
    arrival = first + EVERY_S * np.arange(N)
    made = {
        "user": [f"user:{at % 3}" for at in range(N)],
        "population": [3] * N,
        "due": instants(arrival),
        "completion": instants(arrival + RESPONSE_S),
    }
    with LogWriter.open(path, "resume", source="test", machine={}, start_us=start) as writer:
        writer.write("interactions", frame(made, vocabulary("interactions")))
        writer.end_us = start + round(N * EVERY_S * 1e6)


@pytest.fixture
def log(tmp_path):
    for number in range(2):
        write_session(tmp_path / "log", number)
    return Log.open(tmp_path / "log")


def test_nobody_plays_between_two_sessions(log):
    (group,) = response.analyse(log).by_population
    assert group.throughput.value == pytest.approx(1 / EVERY_S, rel=0.01)
    assert group.response.mean.value == pytest.approx(RESPONSE_S, abs=1e-6)
    over_the_gap = 2 * N / (GAP_S + N * EVERY_S)
    assert group.throughput.value > 50 * over_the_gap


def answers(n=400, **columns):
    """Interactions of a heavy class, every fifth, and a light one; the user waits for every second."""
    heavy = np.arange(n) % 5 == 0
    arrival = 2.0 * np.arange(n)
    wait = np.where(heavy, 8.0, 0.5) + 0.1 * np.sin(np.arange(n))
    return {
        "user": ["a"] * n,
        "class": np.where(heavy, "fortran", "edm").tolist(),
        "population": [1] * n,
        "due": instants(arrival),
        "completion": instants(arrival + wait),
        **columns,
    }, wait


def test_a_heavy_class_can_be_left_out_of_the_mean(log_of):
    made, wait = answers()
    result = response.analyse(log_of(interactions=made), without=["fortran"])
    assert result.without.label == "all but fortran"
    light = np.arange(len(wait)) % 5 != 0
    assert result.without.response.mean.value == pytest.approx(wait[light].mean(), abs=1e-6)
    assert result.overall.response.mean.value == pytest.approx(wait.mean(), abs=1e-6)
    shown = section(result)
    classes = next(table for table in shown.tables if table.name == "response-class")
    assert [row[0] for row in classes.rows] == ["edm", "fortran", "all but fortran", "all"]
    assert any("for all but fortran" in text for text in shown.summary)


@pytest.mark.parametrize(("n", "says"), [(1, False), (9, False), (10, True)])
def test_few_responses_get_no_sentence_about_the_slowest_tenth(log_of, n, says):
    made, _ = answers(n)
    first, *_ = section(response.analyse(log_of(interactions=made))).summary
    assert ("one in ten took longer than" in first) == says
    assert ("too few to tell" in first) != says


def test_a_class_that_nobody_used_cannot_be_left_out(log_of):
    made, _ = answers(20)
    with pytest.raises(InputError, match="without: cobol: there is no such class; there are: edm, fortran"):
        response.analyse(log_of(interactions=made), without=["cobol"])


def test_response_times_are_of_what_users_waited_for(log_of):
    """What nobody waits for counts as completed, and not as a response."""
    made, wait = answers()
    waited = np.arange(len(wait)) % 2 == 0
    result = response.analyse(log_of(interactions={**made, "waited": waited.tolist()}))
    assert result.overall.arrived == waited.sum()
    assert result.overall.response.mean.value == pytest.approx(wait[waited].mean(), abs=1e-6)
    (group,) = result.by_population
    assert group.throughput.value == pytest.approx(0.5, rel=0.02)
    assert Caveat("waited_for", waited=200, interactions=400) in result.caveats


# Parts of the response


def parted(n=60, **columns):
    """Responses of 123 ms with 20 users: 40 ms of CPU time, 77 ms of waiting for a CPU; heavy ones of 2 s."""
    heavy = np.arange(n) % 3 == 0
    arrival = 5.0 * np.arange(n)
    return {
        "user": ["a"] * n,
        "class": np.where(heavy, "fortran", "edm").tolist(),
        "population": np.where(heavy, 4, 20).tolist(),
        "due": instants(arrival),
        "completion": instants(arrival + np.where(heavy, 2.0, 0.123)),
        "service_s": np.where(heavy, 0.5, 0.040).tolist(),
        "run_delay_s": np.where(heavy, 0.25, 0.077).tolist(),
        **columns,
    }


def test_a_response_is_the_sum_of_its_parts(log_of):
    result = response.analyse(log_of(interactions=parted()))
    few, many = result.by_population
    parts = many.parts
    assert (parts.response.value, parts.service.value) == pytest.approx((0.123, 0.040), abs=1e-6)
    assert (parts.cpu_wait.value, parts.rest.value) == pytest.approx((0.077, 0.006), abs=1e-6)
    assert parts.io_wait is None
    assert few.parts.rest.value == pytest.approx(1.25, abs=1e-6)
    assert [group.parts.cpu_wait.value for group in result.by_class] == pytest.approx([0.077, 0.25])
    # A third of the responses is heavy: (2 * 0.040 + 0.5) / 3 of CPU time.
    assert result.overall.parts.service.value == pytest.approx(0.58 / 3)
    shown = section(result)
    (sentence,) = [text for text in shown.summary if "a response of" in text]
    parts = "123 ms is 40.0 ms of CPU time, 77.0 ms of waiting for a CPU, 6.00 ms rest"
    whom = "With 20 users asked for (1 typed)"
    assert f"{whom} a response of {parts}" in sentence.replace("\N{NO-BREAK SPACE}", " ")
    assert sentence.endswith("rest, waiting for I/O included.")
    table = next(table for table in shown.tables if table.name == "response-population-decomposition")
    assert "kernel.task_delayacct" in table.notes[0]


def test_a_wait_for_io_is_a_part_of_its_own_where_it_is_known_of_all(log_of):
    heavy = np.arange(60) % 3 == 0
    waited = np.where(heavy, 1.0, 0.006).tolist()
    result = response.analyse(log_of(interactions=parted(io_delay_s=waited)))
    few, many = result.by_population
    assert (few.parts.io_wait.value, few.parts.rest.value) == pytest.approx((1.0, 0.25), abs=1e-6)
    assert (many.parts.io_wait.value, many.parts.rest.value) == pytest.approx((0.006, 0.0), abs=1e-6)
    (sentence,) = [text for text in section(result).summary if "a response of" in text]
    assert "of waiting for I/O" in sentence
    assert sentence.endswith("rest.")
    waited[1] = np.nan
    few, many = response.analyse(log_of(interactions=parted(io_delay_s=waited), name="unknown")).by_population
    assert few.parts.io_wait is not None
    assert many.parts.io_wait is None


@pytest.mark.parametrize("columns", [{"run_delay_s": [np.nan] * 60}, {"service_s": [np.nan] * 60}])
def test_nothing_is_said_of_parts_that_a_log_does_not_have(columns, log_of):
    result = response.analyse(log_of(interactions=parted(**columns)))
    assert all(group.parts is None for group in result.groups)
    shown = section(result)
    assert not [text for text in shown.summary if "a response of" in text]
    assert not [item.name for item in (*shown.tables, *shown.figures) if "decomposition" in item.name]


# A closed system of one server


def machine_repairman(users, think_s, service_s):
    """Mean response and throughput of the closed system (exact mean value analysis)."""
    queue = 0.0
    for population in range(1, users + 1):
        response_s = service_s * (1 + queue)
        rate = population / (think_s + response_s)
        queue = rate * response_s
    return response_s, rate


def test_response_is_that_of_the_machine_repairman(log_of):
    """H0: exact mean value analysis. All 8 figures lie in intervals of 0.999: false alarm below 8e-3."""
    result = response.analyse(log_of(interactions=closed_system(hold_s=4000.0)), level=0.999)
    assert [group.label for group in result.by_population] == ["1", "2", "4", "8"]
    for group in result.by_population:
        expected, rate = machine_repairman(int(group.population_low), 4.0, 1.0)
        for found, truth in ((group.response.mean, expected), (group.throughput, rate)):
            assert found.low <= truth <= found.high
        # Little's law on the same interval: users = X (R + Z), with the sample's own mean think time.
        assert group.throughput.value * (group.response.mean.value + 4.0) == pytest.approx(
            group.population_low, rel=0.06
        )
    assert result.growth.low > 1.0
    for low, high, words in ((1.2, 4.0, "grows"), (0.2, 0.8, "falls to"), (0.3, 1.9, "not shown to change")):
        said = section(replace(result, growth=replace(result.growth, low=low, high=high))).summary
        assert [words in sentence for sentence in said].count(True) == 1
    # The canary: a server that takes 30 % longer is seen.
    slower, _ = machine_repairman(8, 4.0, 1.3)
    assert slower > result.by_population[-1].response.mean.high
    alone = result.by_population[0]
    assert alone.stretch.value == pytest.approx(1.0, abs=1e-5)
    assert alone.reaction.p99.value == pytest.approx(0.0, abs=1e-5)


def test_unfinished_interactions_are_counted_not_averaged(log_of):
    made = closed_system()
    result = response.analyse(log_of(interactions=made))
    unfinished = made["completion"].null_count()
    assert unfinished > 0
    assert result.overall.unfinished == unfinished
    assert result.overall.response.n == len(made["user"]) - unfinished
    assert "unfinished" in {caveat.kind for caveat in result.caveats}


def test_response_by_class(log_of):
    result = response.analyse(log_of(interactions=closed_system()))
    assert {group.label for group in result.by_class} == {"short", "long"}
    assert sum(group.arrived for group in result.by_class) == result.overall.arrived
    assert all(group.throughput is None for group in result.by_class)


def test_successive_waits_in_a_queue_are_said_to_be_correlated(log_of):
    result = response.analyse(log_of(interactions=closed_system(hold_s=1000.0)))
    assert "correlated" in {caveat.kind for caveat in result.caveats}


def test_interactions_that_none_has_do_not_apply(log_of):
    for analysis in (response, service):
        result = analysis.analyse(log_of(steady(), name=analysis.__name__))
        assert isinstance(result, NotApplicable)
        assert "thinktime play" in result.remedy


def test_none_completed_does_not_apply(log_of):
    made = closed_system(populations=(1,))
    made["completion"] = instants(np.full(len(made["user"]), np.nan))
    for analysis in (response, service):
        assert isinstance(analysis.analyse(log_of(interactions=made, name=analysis.__name__)), NotApplicable)
