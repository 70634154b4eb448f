"""The width of text: that of the terminal, so that no line of a report is broken by it."""

import fcntl
import io
import os
import pty
import struct
import termios
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from unittest import mock

import pytest

from called import thinktime
from thinktime.analyses import QUESTIONS
from thinktime.cli import destination, run
from thinktime.documents.document import Column, Section, Table
from thinktime.documents.render import render, render_section
from thinktime.sources.simulated import find, systems


def widest(text):
    return max(map(len, text.splitlines()))


def on_terminal(columns, *arguments, stream="stdout"):
    """What a command prints on a terminal of so many columns."""
    controller, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    with ThreadPoolExecutor(1) as reader, mock.patch.dict(os.environ), open(terminal, "w") as screen:
        os.environ.pop("COLUMNS", None)
        text = reader.submit(everything, controller)
        streams = {"stdout": io.StringIO(), "stderr": io.StringIO(), stream: screen}
        with redirect_stdout(streams["stdout"]), redirect_stderr(streams["stderr"]):
            status = run(arguments)
        screen.close()
        shown = text.result()
    os.close(controller)
    assert status == 0
    return shown.decode().replace("\r\n", "\n")


def everything(controller):
    """What is written to a terminal until nobody has it open."""
    text = b""
    with suppress(OSError):  # the end of a terminal is an error
        while read := os.read(controller, 65536):
            text += read
    return text


@pytest.mark.parametrize("columns", [80, 132])
def test_an_answer_has_the_width_of_the_terminal(log, columns):
    text = on_terminal(columns, "analyse", "recording", str(log.path))
    # 16 columns: the longest word, which is not broken.
    assert columns - 16 < widest(text) <= columns


def test_the_width_is_what_columns_asks_for_and_a_file_has_its_own(monkeypatch, tmp_path):
    for asked, columns in (("80", 80), ("30", 40), ("120", 120), ("999", 200), ("", 100), ("many", 100)):
        monkeypatch.setenv("COLUMNS", asked)
        # The tests' standard output is no terminal.
        assert {destination.width(), destination.width(Path("-"))} == {columns}, asked
        assert destination.width(tmp_path / "report.txt") == 100


def test_a_report_fits_80_columns_and_uses_what_there_is(report):
    for columns in (40, 80, 100, 200):
        assert columns - 16 < widest(render(report, "text", columns)) <= columns


def test_a_long_first_cell_goes_on_in_the_next_line():
    name = "a quantity whose name leaves no room for the number that belongs to it"
    table = Table(
        name="t",
        caption="Caption",
        columns=(Column("quantity"), Column("value", unit="s")),
        rows=((name, 1.5),),
    )
    section = Section(name="s", title="Title", summary=(), tables=(table,))
    text = render_section(section, "text", 80)
    assert widest(text) <= 80
    assert name not in text
    assert name in " ".join(line.split("  1.50")[0].strip() for line in text.splitlines())
    assert name in render_section(section, "text", 120)


def _heading(section):
    """Title of a section; of one without an answer, its name in the list of those."""
    return f"{section.label.capitalize()}: " if section.not_applicable else section.title


def test_a_report_on_a_terminal_is_its_first_screen_and_all_on_demand(log, report):
    short = on_terminal(80, "report", str(log.path))
    # Commands to be copied are not broken.
    assert widest("\n".join(line for line in short.splitlines() if "thinktime report" not in line)) <= 80
    words = " ".join(short.split())
    for finding in report.findings:
        assert " ".join(finding.text.split()) in words
    for item in report.highlights:
        assert item.label in words
    assert not any(section.title in short for section in report.sections)
    assert short.rstrip().endswith("-o report.html")
    whole = on_terminal(80, "report", str(log.path), "--all")
    assert all(_heading(section) in whole for section in report.sections)


@pytest.mark.thorough
def test_a_report_in_a_pipe_is_whole_unless_it_is_to_be_short(log, report):
    piped = thinktime("report", log.path).stdout
    assert all(_heading(section) in piped for section in report.sections)
    asked = thinktime("report", log.path, "--short").stdout
    assert len(asked.splitlines()) < len(piped.splitlines()) / 4


def test_progress_is_shown_on_a_terminal_alone(log):
    shown = on_terminal(80, "report", str(log.path), stream="stderr")
    # Which of them is on the line when it is drawn anew depends on the machine.
    assert any(f": {question.name}" in shown for question in QUESTIONS)
    assert on_terminal(80, "-q", "report", str(log.path), stream="stderr") == ""
    assert thinktime("report", log.path).stderr == ""


@pytest.mark.parametrize("name", [system.name for system in systems()])
def test_the_parameters_of_a_system_are_a_table_of_80_columns(name, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "80")
    assert run(["systems", name]) == 0
    text = capsys.readouterr().out
    assert widest(text) <= 80
    (header,) = (
        line for line in text.splitlines() if line.split() == ["parameter", "default", "description"]
    )
    begins = {line[: header.index("default")].strip() for line in text.partition(header)[2].splitlines()[2:]}
    assert begins - {""} == {item.name for item in find(name).parameters}
