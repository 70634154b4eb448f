"""Logs of few users, who hardly wait for each other: the answer is wide and says so, and is never wrong."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from thinktime.cli import run
from thinktime.log import Log, LogWriter
from thinktime.models.sizing import Machine, fit
from thinktime.predictions.size.measured import Measured, measured
from thinktime.sources.simulated import simulate
from thinktime.stats.estimate import NotApplicable

RESPONSE_S, CPU_SHARE, SECONDS = 0.107, 0.11, 16
"""As the prototype: a tenth of a response is CPU time, the rest a delay; one run of `make validate`."""
SEEDS = range(10)


def delayed(path: Path, users: int, seed: int) -> Path:
    """Log of users whose interactions do not wait for each other, nor for a CPU."""
    station = {"name": "rest", "discipline": "delay", "service": f"exponential(mean={RESPONSE_S})"}
    given = {"users": users, "think": "exponential(mean=1)", "length": SECONDS, "interval": 1.0}
    simulate("network", given | {"stations": [station]}, seed=seed).record(path / "simulated", trace=True)
    log = Log.open(path / "simulated")
    inputs = log.interactions().collect()
    taken = (inputs["completion"] - inputs["due"]).dt.total_microseconds() / 1e6
    columns = [(CPU_SHARE * taken).alias("service_s"), (0.0 * taken).alias("run_delay_s")]
    samples = log.samples().select("start", "length_s").collect()
    busy = CPU_SHARE * RESPONSE_S * users / (1.0 + RESPONSE_S)
    with LogWriter.open(path / "log", source="test", machine={"cpus": 2}, start_us=0) as writer:
        writer.write("samples", samples.with_columns(cpu_exact_s=busy * pl.col("length_s")))
        writer.write("interactions", inputs.with_columns(columns))
    return path / "log"


def with_forty(found: Measured, *, queue: bool = False) -> tuple[float, float]:
    """Interval of the mean response with 40 users; `queue` takes all that is not CPU time for one."""
    fitted = fit(found.levels(), found.machine)
    if queue:
        draws = tuple(replace(one, serial_s=one.serial_s + one.delay_s, delay_s=0.0) for one in fitted.draws)
        fitted = replace(fitted, draws=draws)
    response = fitted.courses(Machine(cpus=2), 40).response_s[:, -1]
    low, high = np.quantile(response, (0.025, 0.975)).tolist()
    return low, high


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return [delayed(tmp_path_factory.mktemp("few"), 5, seed) for seed in SEEDS]


def test_intervals_from_five_users_hold_the_truth_with_forty(few: list[Path]) -> None:
    found = [measured([Log.open(path)], ["log"]) for path in few]
    intervals = [with_forty(one) for one in found if isinstance(one, Measured)]
    # Two of ten may miss: with 95 % each, more do in 1 of 87 such tests.
    assert sum(low <= RESPONSE_S <= high for low, high in intervals) >= len(SEEDS) - 2
    # The canary: that everything queues is excluded by the truth, and would not be told by these users.
    wrong = [with_forty(one, queue=True) for one in found if isinstance(one, Measured)]
    assert not any(low <= RESPONSE_S <= high for low, high in wrong)


def test_the_answer_says_from_where_on_it_is_not_known(
    few: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    for path in few[:3]:
        assert run(["size", str(path), "--users", "40", "--format", "json"]) == 0
        found = json.loads(capsys.readouterr().out)
        assert found["unknown"]["users"] <= 40
        assert found["unknown"]["queue"]
        assert run(["size", str(path), "--users", "40"]) == 0
        said = " ".join(capsys.readouterr().out.split())
        assert f"From {found['unknown']['users']} users on, the mean response is not known" in said
        assert "does not show whether interactions wait for each other" in said
        assert "Record with more users as well, 10 or more." in said


def test_users_enough_are_not_told_that_they_are_few(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = {"users": 20, "think": "exponential(mean=1)", "length": 200, "interval": 1.0}
    station = {
        "name": "cpu",
        "discipline": "processor_sharing",
        "servers": 2,
        "service": "exponential(mean=0.05)",
    }
    simulate("network", given | {"stations": [station]}, seed=1).record(tmp_path / "log", trace=True)
    assert run(["size", str(tmp_path / "log"), "--users", "40", "--format", "json"]) == 0
    unknown = json.loads(capsys.readouterr().out)["unknown"]
    # Twice as many as were seen are known, and nothing is missing that a queue would explain.
    assert unknown is None or (unknown["users"] > 40 and not unknown["queue"])


@pytest.mark.parametrize(
    ("column", "reason"),
    [("population", "how many users there were"), ("think_s", "how long users thought")],
)
def test_a_log_of_requests_alone_says_what_it_lacks(
    few: list[Path], tmp_path: Path, column: str, reason: str
) -> None:
    """As an access log: what came when, but not from how many users."""
    log = Log.open(few[0])
    with LogWriter.open(tmp_path / "log", source="test", machine={"cpus": 2}, start_us=0) as writer:
        writer.write("interactions", log.interactions().collect().drop(column))
    found = measured([Log.open(tmp_path / "log")], ["log"])
    assert isinstance(found, NotApplicable)
    assert reason in found.reason
