"""The section of a simulation's responses: what most readers ask for comes first, and nothing is lost."""

from fnmatch import fnmatch

import pytest

from thinktime.documents.render import render_section
from thinktime.reports.replications import MAIN, RunSummary, section
from thinktime.sources.simulated import simulate, systems

SHORT = {
    "network": {
        "users": 5,
        "think": 1.0,
        "length": 50,
        "stations": [{"name": "cpu", "discipline": "processor_sharing", "service": "exponential(mean=0.1)"}],
    },
    "apl360": {"length": 60},
    "multics": {"length": 60},
    "cp67": {"length": 900},
    "unix6": {},
    "ctss": {},
    "timesharing": {},
}


@pytest.fixture(scope="module")
def runs():
    return {name: simulate(name, given, seed=1, replications=1) for name, given in SHORT.items()}


def responses(run):
    described = RunSummary(
        system=run.system,
        seed=run.seed,
        replications=1,
        length_s=run.length_s,
        warm_up_s=run.warm_up_s,
        warm_up_settled=run.warm_up_settled,
    )
    return section(described, run.estimates(), run.descriptions)


def test_every_system_begins_with_a_time_that_users_waited(runs):
    assert set(runs) == {system.name for system in systems()}
    for name, run in runs.items():
        first = responses(run).tables[0].rows[0][0]
        assert first in ("mean_response_s", "response_mean_s"), name


def test_each_pattern_is_a_response_of_some_system(runs):
    names = {name for run in runs.values() for name in run.units}
    assert [wanted for wanted in MAIN if not any(fnmatch(name, wanted) for name in names)] == []


def test_every_response_has_one_row(runs):
    for run in runs.values():
        rows = [row[0] for table in responses(run).tables for row in table.rows]
        assert sorted(rows) == sorted(run.units)


def test_a_description_stands_beside_its_response_where_words_must_be_broken(runs):
    text = render_section(responses(runs["ctss"]), "text", 80)
    (line,) = (line for line in text.splitlines() if line.startswith("idle_share"))
    assert "Share of the time" in line
    assert max(map(len, text.splitlines())) <= 80
