"""Answers do not depend on the pieces in which a log is read."""

import numpy as np
import polars as pl
import pytest
from health_logs import INTERVALS, group_of_none, healthy, write
from same_answers import agree

from thinktime.analyses.health import analysis as health
from thinktime.analyses.recording import analysis as recording
from thinktime.analyses.users import analysis as users
from thinktime.log import alongside, observations

QUESTIONS = {"health": health.analyse, "users": users.analyse, "recording": recording.analyse}


@pytest.fixture
def read_in(monkeypatch):
    """Set the number of rows of a piece, which is that of a short log by default."""

    def pieces(rows):
        monkeypatch.setattr(observations.chunks, "__defaults__", (rows,))
        for module in (alongside, recording):
            monkeypatch.setattr(module, "ROWS", rows)

    return pieces


def troubled(kind):
    """Tables of a machine with what the checks look for, gaps, and rows beside no interval."""
    tables = healthy("office", 7)
    samples, own, net = tables["samples"], tables["users"], tables["interfaces"]["eth0"]
    own["alice"] = {"cpu_exact_s": np.zeros(INTERVALS), "run_delay_s": np.zeros(INTERVALS)}
    own["alice"]["cpu_exact_s"][40:140] = 1.8
    own["uid:1000"]["run_delay_s"][40:140] = 3.66
    samples["steal_s"] = np.where(np.arange(INTERVALS) % 3, 0.1, 0.4)
    samples["memory_available_bytes"] = np.linspace(12e9, 1e9, INTERVALS)
    samples["memory_available_bytes"][[5, 170, 171]] = np.nan
    samples["low_priority_s"] = 0.3 * samples["user_s"]
    samples["cpu_exact_s"] = samples["user_s"] + samples["system_s"]
    samples["recorder_cpu_s"] = np.random.default_rng(2).random(INTERVALS) * 1e-3
    samples["recorder_delay_s"] = np.random.default_rng(3).random(INTERVALS) * 1e-3
    samples["length_s"] = 1.0 + np.random.default_rng(1).random(INTERVALS) * 1e-3
    net["bytes_in"] = np.where(np.arange(INTERVALS) % 2, 1.17e8, net["bytes_in"])
    group = {**group_of_none(), "throttled_periods": np.full(INTERVALS, 5.0)}
    tables["groups"] = {"/lab.slice": {**group, "throttled_s": np.full(INTERVALS, 0.2)}}
    begun = samples["start"].to_physical().to_numpy().copy()
    begun[60:] += 7_000_000
    begun[200:] += 90_000_000
    if kind == "set back":
        begun[250:] -= 180_000_000
    samples["start"] = pl.Series(begun).cast(pl.Datetime("us", "UTC"))
    # Nothing is known of the lengths of these.
    samples["length_s"][[10, 61, 260]] = 0.0
    return tables


@pytest.mark.parametrize("kind", ["in order", "set back"])
@pytest.mark.parametrize("name", QUESTIONS)
@pytest.mark.parametrize("rows", [37, 100])
def test_an_answer_does_not_depend_on_the_pieces(tmp_path, read_in, name, kind, rows):
    log = write(tmp_path / "log", troubled(kind))
    whole = QUESTIONS[name](log)
    read_in(rows)
    assert len(list(observations.chunks(log, ()))) == -(-(INTERVALS - 3) // rows)
    agree(whole, QUESTIONS[name](log))


def test_what_is_compared_is_more_than_nothing(tmp_path):
    """The canary: the log has findings of each kind that is read from interval to interval."""
    found = {check.kind for check in health.analyse(write(tmp_path / "log", troubled("in order"))).found}
    assert found >= {
        "held_up",
        "stolen",
        "memory_low",
        "memory_shrinking",
        "steady_network",
        "gaps",
        "throttled",
    }
    with pytest.raises(AssertionError, match=r"\[x\]\[1\]"):
        agree({"x": (1.0, 2.0)}, {"x": (1.0, 2.0 + 1e-9)}, "")
