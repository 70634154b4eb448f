"""Format and report do not depend on our recorder: a log made from sar's files is as good as one of ours."""

import itertools
import json
import random

import pytest
from sar_text import FIXTURES, Text, cpu_line, import_sar, seconds

from called import thinktime
from thinktime.analyses.overhead import analysis as overhead
from thinktime.log import Log

NAMES = ("rates", "throughput", "response", "service", "overhead", "saturation", "capacity")
FORK_S, SWITCH_S, BASE_S = 400e-6, 5e-6, 0.01
STEP_S = 10
INTERVALS = 400


def known_costs():
    """A text whose system time is BASE_S a second, FORK_S a fork and SWITCH_S a switch, in whole ticks."""
    rng = random.Random(1971)
    forks, switches, system, user = [0], [0], [0.0], [0.0]
    for _ in range(INTERVALS):
        more_forks, more_switches = rng.randrange(2000), rng.randrange(100_000)
        forks.append(forks[-1] + more_forks)
        switches.append(switches[-1] + more_switches)
        system.append(system[-1] + BASE_S * STEP_S + FORK_S * more_forks + SWITCH_S * more_switches)
        user.append(user[-1] + rng.uniform(0, 4))
    ticks = [
        {
            "%usr": round(100 * u),
            "%sys": round(100 * s),
            "%idle": 100 * STEP_S * k - round(100 * u) - round(100 * s),
        }
        for k, (u, s) in enumerate(zip(user, system, strict=True))
    ]
    # Since boot, so that no state is zero at the first record.
    ticks = [{name: ticks_of + 10_000 for name, ticks_of in state.items()} for state in ticks]
    cpus = [
        [cpu_line(number, before, after) for number in (-1, 0)] for before, after in itertools.pairwise(ticks)
    ]
    tasks = [
        [f"proc/s; {f0}; {f1}; cswch/s; {s0}; {s1};"]
        for (f0, f1), (s0, s1) in zip(itertools.pairwise(forks), itertools.pairwise(switches), strict=True)
    ]
    moments = seconds(INTERVALS + 1, step_s=STEP_S)
    return Text().boot(moments, {"cpu": lambda k: cpus[k - 1], "tasks": lambda k: tasks[k - 1]})


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sar")
    import_sar(known_costs().write(folder / "text"), folder / "log")
    return folder / "log"


def test_the_report_is_made(log, tmp_path):
    page = tmp_path / "report.html"
    done = thinktime("report", log, "-o", page)
    assert done.returncode == 0, done.stderr
    assert page.stat().st_size > 10_000
    text = thinktime("report", log)
    assert text.returncode == 0, text.stderr
    assert "Source" in text.stdout
    assert "sar" in text.stdout
    assert f"{INTERVALS} intervals" in text.stdout


@pytest.mark.parametrize("name", NAMES)
def test_every_analysis_answers_or_says_why_not(log, name):
    done = thinktime("analyse", name, log, "--format", "json")
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer.get("not_applicable") or answer.get("tables") or answer.get("summary")


@pytest.mark.parametrize("kind", ["load.raw", "restart.json", "restart.plain"])
def test_short_logs_of_every_kind_of_input_have_a_report(kind, tmp_path):
    import_sar(FIXTURES / f"12.6.1-{kind}", tmp_path / "log")
    done = thinktime("report", tmp_path / "log")
    assert done.returncode == 0, done.stderr
    assert "sar" in done.stdout


def test_the_overhead_regression_finds_the_costs_that_were_put_in(log):
    """System time is linear in the rates but for whole ticks, 10 ms in 10 s: costs within 1 %."""
    result = overhead.analyse(Log.open(log))
    costs = {cost.request: cost.seconds for cost in result.costs}
    assert costs["forks"].value == pytest.approx(FORK_S, rel=0.01)
    assert costs["context_switches"].value == pytest.approx(SWITCH_S, rel=0.01)
    assert costs["base"].value == pytest.approx(BASE_S, abs=0.001)
    assert result.r_squared > 0.999
    assert result.n + result.outliers == INTERVALS
