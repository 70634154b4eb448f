"""A page of every kind that thinktime makes, and what all tests of them wait for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import simulated_fleet
from selenium import webdriver
from selenium.webdriver.support.ui import WebDriverWait

from reports import synthetic_machine
from studies import simulated_machine
from thinktime.cli import run
from thinktime.documents.document import Document
from thinktime.documents.render import render
from thinktime.studies import load
from thinktime.studies.laboratory import Settings
from thinktime.studies.study import run as run_study
from thinktime.studies.study_report import report as study_report

KINDS = (
    "report",
    "recorded",
    "compared",
    "imported",
    "experiment",
    "study",
    "machine",
    "swapping",
    "size",
    "paging",
    "predicted",
    "comparison",
    "answer",
    "fleet",
)
"""Of the pages that `conftest.page_of` makes."""
Open = Callable[..., webdriver.Chrome]
PATIENCE_S = 200
"""At most, for charts to be drawn; others may have the CPUs meanwhile."""
SITE = """
cpus = 2
think_time = "5 +- 1 s"
memory = "2 GB"
memory_in_use = "200 MB"
[demand]
cpu = "150 +- 20 ms"
disk = "20 ms"
[user_memory]
mean = "60 +- 6 MB"
sd = "20 MB"
"""
"""A machine whose memory is full before its CPUs are busy, and the other way round with fewer CPUs."""
SETTINGS = (
    {"users": 30, "cpus": "2", "think": "as-it-is", "memory": "as-it-is"},
    {"users": 10, "cpus": "1", "think": "10s", "memory": "1GB"},
    {"users": 60, "cpus": "4", "think": "2.5s", "memory": "4GB"},
    {"users": 45, "cpus": "3", "think": "20s", "memory": "2GB"},
    {"users": 30, "cpus": "8", "think": "as-it-is", "memory": "8GB"},
)
"""Of the controls of its page."""
SAR = Path(__file__).parents[1] / "fixtures" / "sar" / "12.7.5-load.json"
STUDIED = {"configuration", "modified", "recomputed"}
"""Parts of Anderson and Sargent (1974) that are quick to run."""
DESIGN = """
system = "network"
seed = 1
replications = 3
responses = ["mean_response_s"]

[parameters]
think = "exponential(mean=5)"
length = 300
warm_up = 60

[[parameters.stations]]
name = "processor"
service = "exponential(mean=0.4)"

[factors]
users = [5, 10]
stations.processor.discipline = ["fcfs", "processor_sharing"]
"""


def drawn(browser: webdriver.Chrome) -> None:
    """Wait until every chart that can be seen is drawn to its width."""
    WebDriverWait(browser, PATIENCE_S).until(
        lambda driver: driver.execute_script(
            "return [...document.querySelectorAll('.plot')]"
            ".every(plot => plot.dataset.live === 'yes' || !plot.checkVisibility())"
        )
    )


def unfold(browser: webdriver.Chrome) -> None:
    """Open everything that is folded, and wait for its charts."""
    for folded in ("details:not(.data)", "details"):
        browser.execute_script(
            "document.querySelectorAll(arguments[0]).forEach(one => { one.open = true; })", folded
        )
        if folded != "details":  # the data of the figures make the page longer than the window
            drawn(browser)


def played_log(folder: Path) -> Path:
    """Log of the synthetic machine, on which synthetic users played."""
    return synthetic_machine.write(folder / "played")


def report_page(report: Document, folder: Path) -> Path:
    """Page of a report."""
    path = folder / "report.html"
    path.write_text(render(report, "html"), encoding="utf-8")
    return path


def size_command(folder: Path) -> list[str]:
    """Command of a size, of a machine given by its figures in this folder."""
    return ["size", "--from", f"{folder}/site.toml", "--goal", "p90 response < 2s", "--swap-speed", "100MB"]


def size_page(folder: Path) -> Path:
    """Page of that command with its controls, and the file of the figures."""
    (folder / "site.toml").write_text(SITE)
    numbers = ",".join(str(one["users"]) for one in SETTINGS)
    return written(folder / "size.html", *size_command(folder), "--users", numbers)


def study_page(folder: Path) -> Path:
    """Page of some parts of a study."""
    study = load("anderson-sargent-1974")
    parts = tuple(part for part in study.paper.parts if part.name in STUDIED)
    quick = replace(study, paper=replace(study.paper, parts=parts))
    path = folder / "study.html"
    path.write_text(
        render(study_report(run_study(quick, Settings(replications=8))), "html"), encoding="utf-8"
    )
    return path


def machine_page(folder: Path) -> Path:
    """Page of the study of a machine, whose plays were simulated."""
    logs = folder / "machine"
    simulated_machine.write(logs, simulated_machine.design())
    return written(folder / "machine.html", "study", "this-machine", "--resume", str(logs))


def swapping_page(folder: Path) -> Path:
    """Page of the study of swapping on Linux, from the runs that come with thinktime."""
    return written(folder / "swapping.html", "study", "swapping-linux")


def experiment_page(folder: Path) -> Path:
    """Page of a small experiment."""
    design = folder / "design.toml"
    design.write_text(DESIGN)
    return written(folder / "experiment.html", "experiment", str(design))


def compared_page(folder: Path) -> Path:
    """Report of two logs, one without interactions, so that it has sections without an answer."""
    frames = synthetic_machine.make(users=2)
    first = synthetic_machine.write(folder / "before", frames)
    frames.interactions = frames.interactions.clear()
    second = synthetic_machine.write(folder / "after", frames)
    return written(folder / "compared.html", "report", str(first), str(second))


def recorded_page(folder: Path) -> Path:
    """Report of a recording of this machine."""
    log = str(folder / "recorded")
    assert run(["record", "-i", "0.1s", "-d", "4s", "-o", log]) == 0
    return written(folder / "recorded.html", "report", log)


def paging_page(folder: Path) -> Path:
    """Page of a prediction over a range."""
    return written(folder / "paging.html", "predict", "paging", "--core", "128..256..128", "--levels", "4")


def answer_page(log: Path, folder: Path) -> Path:
    """Page of one question."""
    return written(folder / "answer.html", "analyse", "capacity", str(log))


def imported_page(folder: Path) -> Path:
    """Report of a day's file of sar."""
    log = str(folder / "imported")
    assert run(["import", str(SAR), "-o", log]) == 0
    return written(folder / "imported.html", "report", log)


def comparison_page(before: Path, after: Path, folder: Path) -> Path:
    """Page of the question that compares two logs."""
    return written(folder / "comparison.html", "analyse", "compare", str(before), str(after))


def fleet_page(folder: Path) -> Path:
    """Page of two models of machines, one of which saturates."""
    models = [("Alpha", 1.0)] * 8 + [("Beta", 0.5)] * 4
    machines = [
        simulated_fleet.Machine(
            host=f"host-{number}",
            model=model,
            speed=speed,
            hours=3.0,
            interval_s=30.0,
            saturated=(1,) if number == 2 else (),
            seed=number,
        )
        for number, (model, speed) in enumerate(models)
    ]
    logs = simulated_fleet.write_all(folder / "fleet", machines)
    return written(folder / "fleet.html", "fleet", str(logs))


def predicted_page(folder: Path) -> Path:
    """Page of a prediction for numbers of users."""
    given = [
        "--station",
        "cpu=30ms",
        "--station",
        "disk=40ms",
        "--think-time",
        "5s",
        "--users",
        "10..120..10",
    ]
    return written(folder / "predicted.html", "predict", "network", *given)


def written(path: Path, *command: str) -> Path:
    """Page that a command writes."""
    assert run([*command, "-o", str(path)]) == 0
    return path
