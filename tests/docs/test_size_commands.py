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
ALIEN = "class:compile"
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


@pytest.mark.parametrize("command", COMMANDS)
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
    (printed,) = re.findall(r"^```toml\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert printed == EXAMPLE
