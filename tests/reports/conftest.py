"""Logs of five machines for the report tests, and the answers that they give."""

from __future__ import annotations

import lzma
from pathlib import Path
from typing import Any

import pytest
import synthetic_machine

import thinktime
from thinktime import reports
from thinktime.analyses import QUESTIONS
from thinktime.documents.document import Document
from thinktime.log import Log
from thinktime.sources.importers import import_file
from thinktime.sources.simulated import record, simulate

PERF = Path(__file__).parents[1] / "fixtures" / "perf"

Answers = dict[str, Any]
"""Result of every question of the report, by name."""


def answers(log: Log) -> Answers:
    asked = [question for question in QUESTIONS if question.in_report]
    return {question.name: question.analyse(log, question.options()) for question in asked}


@pytest.fixture(scope="session")
def log(tmp_path_factory: pytest.TempPathFactory) -> Log:
    """Log of the synthetic machine, 12 users."""
    return Log.open(synthetic_machine.write(tmp_path_factory.mktemp("synthetic") / "log"))


@pytest.fixture(scope="session")
def report(log: Log) -> Document:
    """Report of `log`."""
    return reports.build([log])


@pytest.fixture(scope="session")
def synthetic(log: Log) -> Answers:
    """Users who saturate the CPU: response times, costs by regression, also measured directly."""
    return answers(log)


@pytest.fixture(scope="session")
def swapping(tmp_path_factory: pytest.TempPathFactory) -> Answers:
    """UNIX with two drives: queues and states are sampled and exact, no user is waited for."""
    path = tmp_path_factory.mktemp("unix6") / "log"
    parameters = {"memory": 650, "processes": 5, "interactions": 30, "warm_up_on_output": False}
    simulate("unix6", parameters, seed=3, replications=4).record(path)
    return answers(Log.open(path))


@pytest.fixture(scope="session")
def paging(tmp_path_factory: pytest.TempPathFactory) -> Answers:
    """Multics under a light load, with meters of the system's time."""
    path = tmp_path_factory.mktemp("multics") / "log"
    record("multics", {"users": 12, "length": 1200, "warm_up": 300}, path, seed=1)
    return answers(Log.open(path))


@pytest.fixture(scope="session")
def traced(tmp_path_factory: pytest.TempPathFactory) -> Answers:
    """APL/360 with its trace: where interactions wait, and long ones that run on."""
    path = tmp_path_factory.mktemp("apl360") / "log"
    simulate("apl360", {"users": 35, "length": 600.0}, seed=3, replications=2).record(path, trace=True)
    return answers(Log.open(path))


@pytest.fixture(scope="session")
def scheduled(tmp_path_factory: pytest.TempPathFactory) -> Log:
    """Trace of the scheduler of a real machine, in a file of perf."""
    folder = tmp_path_factory.mktemp("perf")
    (folder / "perf.data").write_bytes(lzma.decompress((PERF / "wakeup.data.xz").read_bytes()))
    import_file(folder / "perf.data", folder / "log")
    return Log.open(folder / "log")


@pytest.fixture(scope="session")
def results(synthetic: Answers, swapping: Answers, traced: Answers, scheduled: Log) -> Answers:
    """A result of every question: of the machine that has most to say about it."""
    scheduling = thinktime.analyse("scheduling", scheduled)
    return {
        **synthetic,
        "disks": swapping["disks"],
        "waits": traced["waits"],
        "scheduling": scheduling,
    }
