"""Configuration files: their defaults apply, what is typed wins, and what is wrong is named."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from thinktime.cli import config, run

Printed = pytest.CaptureFixture[str]


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "config.toml"
    monkeypatch.setenv(config.VARIABLE, str(path))
    return path


def test_files_are_those_of_the_specification(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(config.VARIABLE, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", "/home/me/conf")
    monkeypatch.setenv("XDG_CONFIG_DIRS", "/etc/first:relative:/etc/second")
    names = [str(path.parent.parent) for path in config.files()]
    assert names == ["/etc/second", "/etc/first", "/home/me/conf"]
    monkeypatch.setenv("XDG_CONFIG_HOME", "")
    monkeypatch.setenv("XDG_CONFIG_DIRS", "")
    assert [str(path) for path in config.files()] == [
        "/etc/xdg/thinktime/config.toml",
        os.path.expanduser("~/.config/thinktime/config.toml"),
    ]


def test_a_default_applies_and_what_is_typed_wins(file: Path, capsys: Printed) -> None:
    file.write_text('[systems]\nformat = "json"\n')
    assert run(["systems"]) == 0
    assert json.loads(capsys.readouterr().out)["kind"] == "section"
    assert run(["systems", "--format", "csv"]) == 0
    assert capsys.readouterr().out.startswith("section,table,")
    file.unlink()
    file.write_text("")
    assert run(["systems"]) == 0
    assert capsys.readouterr().out.startswith("Which systems")


def test_the_users_file_wins_over_the_systems(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Printed
) -> None:
    monkeypatch.delenv(config.VARIABLE, raising=False)
    for name, form in (("home", "csv"), ("system", "json")):
        folder = tmp_path / name / "thinktime"
        folder.mkdir(parents=True)
        (folder / "config.toml").write_text(f'[systems]\nformat = "{form}"\n')
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CONFIG_DIRS", str(tmp_path / "system"))
    assert run(["systems"]) == 0
    assert capsys.readouterr().out.startswith("section,table,")
    assert run(["config", "--format", "json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert [entry["exists"] for entry in shown["files"]] == [True, True]
    assert [setting["value"] for setting in shown["settings"]] == ["json", "csv"]


def test_lists_flags_numbers_and_groups(file: Path, capsys: Printed, tmp_path: Path) -> None:
    """A list for a repeated option, true for a flag, a number, and a group's table for all its commands."""
    file.write_text(
        "quiet = true\n[simulate]\nparameter = ['users=2', 'length=60']\nreplications = 3\nseed = 7\n"
        "format = 'json'\n[predict]\nformat = 'csv'\n[predict.swap-overhead]\nelapsed = '300s'\n"
    )
    assert run(["simulate", "apl360"]) == 0
    printed = capsys.readouterr()
    assert "3 replications of 1 min, seed 7" in " ".join(json.loads(printed.out)["summary"]).replace(
        "\u00a0", " "
    )
    assert run(["predict", "swap-overhead", "--swap-time", "70ms", "--swaps", "5"]) == 0
    assert capsys.readouterr().out.startswith("section,table,")
    assert run(["logs", str(tmp_path)]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("text", "arguments", "words"),
    [
        ("[recrod]\n", ["logs"], None),
        ("[recrod]\nseed = 1\n", ["logs"], "[recrod]: there is no such command; did you mean record?"),
        (
            "[logs]\nfromat = 'json'\n",
            ["logs"],
            "fromat: there is no such option; did you mean format?",
        ),
        ("[logs]\nhelp = true\n", ["logs"], "[logs] help: there is no such option"),
        (
            "[logs]\nformat = 'xml'\n",
            ["logs"],
            "format: --format xml: is not known; give text or json",
        ),
        ("[logs]\nformat = ['text']\n", ["logs"], "[logs] format: is ['text']; give one text or number"),
        ("quiet = 'yes'\n", ["logs"], "quiet: is 'yes'; give true or false"),
        ("[logs\n", ["logs"], "is not TOML"),
        ("[predict.pagng]\nlevels = 4\n", ["predict", "paging"], "did you mean paging?"),
        (
            "[record]\ninterval = 5\n",
            ["record", "-o", "new"],
            '[record] interval: --interval: "5" has no unit',
        ),
    ],
)
def test_what_is_wrong_is_named_with_its_place(
    text: str, arguments: list[str], words: str | None, file: Path, capsys: Printed
) -> None:
    file.write_text(text)
    status = run(arguments)
    errors = capsys.readouterr().err
    if words is None:
        # A table without an option changes nothing, but `thinktime config` finds it.
        arguments, words, status = ["config"], "[recrod]", run(["config"])
        errors = capsys.readouterr().err
    assert status == 2
    (line,) = errors.splitlines()
    assert line.startswith(f"thinktime: {file}: ")
    assert words in line


def test_a_wrong_file_does_not_prevent_help(file: Path, capsys: Printed) -> None:
    file.write_text("[logs\n")
    assert run(["logs", "--help"]) == 0
    assert run(["--version"]) == 0
    file.unlink()
    assert run(["logs"]) == 2
    assert "cannot be read" in capsys.readouterr().err


def test_a_file_that_may_not_be_reached_is_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Printed
) -> None:
    """As after `sudo -u somebody`, with the home of another user: a component of the path is no folder."""
    monkeypatch.delenv(config.VARIABLE)
    (tmp_path / "thinktime").write_text("")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_DIRS", str(tmp_path))
    assert run(["logs", str(tmp_path)]) == 0
    assert run(["config"]) == 0
    assert "not there" in capsys.readouterr().out
