"""The commands of the page on sizes run as they stand, and its file of figures is the one that is printed."""

import re
import shlex
from pathlib import Path

import pytest

from thinktime.cli import run
from thinktime.predictions.size.site import EXAMPLE
from thinktime.sources.simulated import simulate

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "how-many-users-fit.md"
COMMANDS = re.findall(r"^    (thinktime size .*)$", PAGE.read_text(), re.MULTILINE)
ALIEN = "compile"
"""A class of interactions that the log of this test does not have."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("docs")
    given = {"users": 8, "think": "exponential(mean=0.5)", "length": 120, "interval": 1.0}
    station = {
        "name": "cpu",
        "discipline": "processor_sharing",
        "servers": 2,
        "service": "exponential(mean=0.05)",
    }
    simulate("network", given | {"stations": [station]}, seed=8).record(folder / "monday", trace=True)
    (folder / "site.toml").write_text(EXAMPLE)
    return folder


@pytest.mark.parametrize(
    "command",
    # A page takes as long as all others; browsers look at one of a log that is made in the same way.
    [
        pytest.param(command, marks=pytest.mark.thorough if command.endswith(".html") else ())
        for command in COMMANDS
    ],
)
def test_a_command_runs_as_it_stands(folder, monkeypatch, capsys, command):
    monkeypatch.chdir(folder)
    status = run(shlex.split(command)[1:])
    if ALIEN in command:
        assert status == 2
        assert "compile" in capsys.readouterr().err
    else:
        assert status == 0


def test_the_page_has_commands_and_the_file_that_is_printed():
    assert len(COMMANDS) >= 10
    # What asks for numbers by class runs: the users of that log have no classes but those that are named.
    assert not [command for command in COMMANDS if re.search(rf"--users \S*{ALIEN}=", command)]
    (printed,) = re.findall(r"^```toml\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert printed == EXAMPLE


def test_the_figures_of_services_are_those_that_were_measured():
    docs = PAGE.parents[1]
    table = (docs / "background" / "how-good-are-predictions.md").read_text().split("<!-- services")[1]
    told = " ".join((docs / "how-to" / "size-a-service.md").read_text().split())
    rows = [
        [cell.strip() for cell in line.split("|")] for line in table.splitlines() if " requests of " in line
    ]
    assert len(rows) == 3
    for _, name, recorded, users, predicted, measured, *_ in rows:
        (before,) = re.findall(r"^\d+", recorded)
        said = f"a mean of {predicted} ms was predicted for {users}, and {measured} ms was measured"
        assert f"from {before} users, {said}" in told, name
