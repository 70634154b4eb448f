"""The run report of a script: its arithmetic on a log with known truth, and on a simulated one."""

import json
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from known_logs import frame, starts

from thinktime.analyses.script_report import analysis as script_report
from thinktime.analyses.script_report.section import section
from thinktime.cli import run
from thinktime.log import Column, Log, LogWriter
from thinktime.sources.simulated import simulate
from thinktime.stats.estimate import Caveat, NotApplicable

N = 240
STATUS = {
    "users": 17,
    "scripted_users": 1,
    "script": "6mad1",
    "script_interactions": 66,
    "directory_entries": 116,
    "reloaded_recently": False,
}


def columns():
    """Amounts of an hour in intervals of 15 s: 0.65 s of run and 0.43 s of swap time an interaction."""
    random = np.random.default_rng(1969)
    count = random.poisson(0.5, N).astype(float)
    waits = random.binomial(count.astype(int), 0.5).astype(float)
    return {
        "length_s": np.full(N, 15.0),
        "script_interactions": count,
        "script_run_s": 0.65 * count,
        "script_swap_s": 0.43 * count * random.uniform(0.5, 1.5, N),
        "script_waits": waits,
        "script_response_s": 6.3 * waits,
    }


def write(path, amounts, machine=None):
    kinds = {"length_s": "time"}
    schema = (
        Column(name="start", type="time", unit="us", kind="time", description="start"),
        *(
            Column(name=name, type="f64", unit="s", kind=kinds.get(name, "counter"), description=name)
            for name in amounts
        ),
    )
    whole = {"start": starts(amounts["length_s"]), **amounts}
    with LogWriter.open(
        path, mode="create", source="test", machine=machine or {"cpus": 1}, options={}
    ) as log:
        log.write("samples", frame(whole, schema), schema)
    return Log.open(path)


def test_averages_are_ratios_of_totals(tmp_path):
    amounts = columns()
    told = script_report.analyse(write(tmp_path / "run", amounts, {"run_report": STATUS}))
    total = {name: values.sum() for name, values in amounts.items()}
    assert told.real_time_s == total["length_s"]
    assert (told.interactions, told.waits) == (total["script_interactions"], total["script_waits"])
    assert told.run.value == pytest.approx(0.65)
    assert told.swap.value == pytest.approx(total["script_swap_s"] / total["script_interactions"])
    assert told.cpu.value == pytest.approx(told.run.value + told.swap.value)
    assert told.response.value == pytest.approx(6.3)
    # Swap time varies by itself around 0.43 s: an interval of 95 % that missed it by its own width is wrong.
    assert told.swap.low < told.swap.value < told.swap.high
    assert abs(told.swap.value - 0.43) < 2 * (told.swap.high - told.swap.low)
    assert told.status == script_report.Status(
        users=17,
        scripted_users=1,
        script="6mad1",
        script_interactions=66,
        directory_entries=116,
        reloaded_recently=False,
    )
    assert told.script_time is None
    assert told.caveats == ()


def test_what_is_not_told_is_not_made_up(tmp_path):
    amounts = {name: values[:20] for name, values in columns().items()}
    silent = {"script_waits": np.zeros(20), "script_response_s": np.zeros(20)}
    told = script_report.analyse(write(tmp_path / "run", amounts | silent))
    assert told.response is None
    assert told.status.users is None
    assert told.caveats == (
        Caveat("few_interactions", interactions=int(amounts["script_interactions"].sum())),
    )
    page = section(told)
    rows = {row[0]: row[1:] for row in page.tables[0].rows}
    assert rows["disk file system reloaded recently"] == ("not recorded",)
    assert {row[0]: row[1:] for row in page.tables[1].rows}["system response time"] == (None, None, None)
    assert section(replace(told, script_time=told.run)).tables[1].rows[0][2] == told.run


def test_a_log_without_scripted_users_says_why(tmp_path):
    amounts = {name: values for name, values in columns().items() if name != "script_swap_s"}
    told = script_report.analyse(write(tmp_path / "other", amounts))
    assert isinstance(told, NotApplicable)
    assert "simulate ctss" in told.remedy
    nobody = columns() | {"script_interactions": np.zeros(N)}
    assert "no interaction" in script_report.analyse(write(tmp_path / "nobody", nobody)).reason


@pytest.fixture(scope="module")
def ctss(tmp_path_factory):
    path = tmp_path_factory.mktemp("ctss") / "run"
    simulated = simulate("ctss", {"length": 9000}, seed=2, replications=3)
    simulated.record(path)
    return simulated.responses, path


def test_the_report_of_a_simulated_ctss_is_that_of_its_replications(ctss):
    responses, path = ctss
    told = script_report.analyse(Log.open(path))
    count = responses["script_interactions"]
    weighted = {
        "run_per_interaction_s": told.run,
        "swap_per_interaction_s": told.swap,
        "cpu_per_interaction_s": told.cpu,
    }
    assert told.interactions == count.sum()
    for name, found in weighted.items():
        assert found.value == pytest.approx((responses[name] * count).sum() / count.sum()), name
    times = responses.select(pl.col("real_time_s") * pl.col("script_runs")).sum().item()
    assert told.script_time.value == pytest.approx(times / responses["script_runs"].sum())
    assert told.real_time_s == pytest.approx(3 * 9000)
    assert (told.status.users, told.status.scripted_users, told.status.script) == (17, 1, "6mad1")
    assert told.status.script_interactions == 66
    assert told.status.reloaded_recently is None


def test_the_command_prints_the_report(ctss, capsys):
    _, path = ctss
    assert run(["analyse", "script-report", str(path), "--format", "json"]) == 0
    told = json.loads(capsys.readouterr().out)
    names = [table["name"] for table in told["tables"]]
    assert names == ["script-report-status", "script-report-times"]
