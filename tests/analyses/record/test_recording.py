"""Length, cost and clocks of a recording, against what was put in."""

import numpy as np
import pytest
from known_logs import starts

from thinktime.analyses.recording import analysis as recording
from thinktime.analyses.recording.section import facts, section
from thinktime.stats.estimate import Caveat


def samples(n=100, bias=1.0, **columns):
    length = np.full(n, 2.0)
    return {
        "start": starts(length),
        "length_s": length,
        "user_s": 0.6 * length * bias,
        "system_s": 0.4 * length * bias,
        "cpu_exact_s": length,
        **columns,
    }


def test_length_and_cost_are_those_of_the_samples(log_of):
    own = {"recorder_cpu_s": np.full(100, 0.01), "recorder_written_bytes": np.full(100, 500.0)}
    result = recording.analyse(log_of(samples(**own)))
    assert (result.intervals, result.measured_s, result.interval_s) == (100, 200.0, 2.0)
    assert result.recorder_cpu_share == pytest.approx(0.005)
    assert result.written_bytes_per_s == pytest.approx(250.0)
    assert result.longest_delay_s is None
    absent = {item.column for item in result.absent}
    assert "forks" in absent
    assert not absent & {"user_s", "recorder_cpu_s"}


@pytest.mark.parametrize(("bias", "biased"), [(1.0, False), (1.04, False), (1.2, True), (0.8, True)])
def test_ticks_in_step_with_the_load_are_noticed(log_of, bias, biased):
    result = recording.analyse(log_of(samples(bias=bias)))
    assert result.busy_ticks_s == pytest.approx(200.0 * bias)
    assert result.ticks_biased is biased
    assert (Caveat("ticks_biased") in result.caveats) is biased


def test_a_short_log_without_exact_times_says_so(log_of):
    columns = {name: values[:5] for name, values in samples().items() if name != "cpu_exact_s"}
    result = recording.analyse(log_of(columns))
    assert result.caveats == (Caveat("few_intervals", intervals=5), Caveat("no_exact_time"))
    assert result.busy_exact_s is None


def test_a_log_without_samples_still_has_a_host(log_of):
    machine = {"hostname": "atlas", "cpus": 4, "memory_bytes": 8e9, "system": "Linux", "kernel": "6.1"}
    result = recording.analyse(log_of(machine=machine))
    assert result.intervals == 0
    assert result.host.hostname == "atlas"
    assert result.host.cpus == 4
    assert ("System", "Linux 6.1") in facts(result)
    assert section(result).not_applicable
