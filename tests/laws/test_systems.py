"""The laws, on logs of the simulated systems: the same that hold for a real machine."""

import polars as pl
import pytest
from identities import LAWS, users_get_no_more_of_each_state

from thinktime.log import Log, LogWriter
from thinktime.sources.simulated import simulate

CONFIGURATIONS = {
    "apl360": ("apl360", {"users": 35}),
    "apl360 original": ("apl360", {"users": 26, "scheduler": "original", "regions": 2}),
    "unix6": ("unix6", {"memory": 650, "interactions": 20}),
    "unix6 children": ("unix6", {"workload": "children", "processes": 4, "memory": 500, "drives": 1}),
    "unix6 paging": ("unix6", {"memory_management": "paging", "memory": 650, "interactions": 20}),
    "cp67": ("cp67", {"period": "II-2", "observations": 30, "restarts_per_day": 4}),
    "cp67 experiment": (
        "cp67",
        {"schedule": "experiment", "free_fret": "counterbalanced", "observations": 30},
    ),
    "ctss": ("ctss", {"length": 3600}),
    "ctss disk": ("ctss", {"swap_device": "disk", "preempt": "at_once", "normal_users": 0, "length": 3600}),
    "multics": ("multics", {"cpus": 2, "core": 384, "length": 1800}),
    "multics 1969": (
        "multics",
        {"version": "3.1.1", "users": 8, "normal_users": 6, "housekeeping": 3, "length": 1800},
    ),
    "network": (
        "network",
        {
            "users": 35,
            "think": "exponential(mean=20)",
            "stations": [
                {"name": "disk", "discipline": "fcfs", "service": 0.1},
                {
                    "name": "cpu",
                    "discipline": "round_robin",
                    "time_slice": 0.1,
                    "service": "hyperexponential(weights=[0.9,0.1],means=[0.1,5])",
                },
            ],
            "length": 600,
        },
    ),
    "timesharing": ("timesharing", {"population": 12, "cpus": 3, "background": 0.5, "length": 1200}),
    "timesharing priorities": (
        "timesharing",
        {
            "users": [
                {"interactions": [[10, 0.5, 0.1, 0], [5, 2, 0, 1]]},
                {"scheduled": True, "interactions": [[6, 1, 1, 1]]},
            ],
            "classes": [{"name": "editing"}, {"name": "batch", "priority": 1}],
            "scheduler": "priority",
            "length": 1200,
        },
    ),
}


@pytest.fixture(scope="module", params=CONFIGURATIONS, ids=str)
def log(request, tmp_path_factory):
    system, parameters = CONFIGURATIONS[request.param]
    path = tmp_path_factory.mktemp("laws") / "run"
    simulate(system, parameters, seed=11, replications=3).record(path, trace=True)
    return Log.open(path)


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
def test_law_holds(law, log):
    law(log)


def test_a_user_who_gets_more_than_the_system_gave_breaks_the_law(tmp_path):
    system, parameters = CONFIGURATIONS["cp67"]
    simulate(system, parameters, seed=11, replications=3).record(tmp_path / "run")
    log = Log.open(tmp_path / "run")
    with LogWriter.open(tmp_path / "spoiled", source="canary") as writer:
        writer.write("samples", log.samples().collect(), log.schema("samples"))
        users = log.users().with_columns(pl.col("user_s") * 10).collect()
        writer.write("users", users, log.schema("users"))
    with pytest.raises(AssertionError):
        users_get_no_more_of_each_state(Log.open(tmp_path / "spoiled"))
    assert "users_within_machine" in {defect.law for defect in Log.open(tmp_path / "spoiled").check()}
