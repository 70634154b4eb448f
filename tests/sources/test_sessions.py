"""Recorded sessions of real tools become scripts; what was typed without echo is nowhere in them."""

import json
import tracemalloc
from pathlib import Path

import pytest
from damage import SEEDS, damaged, effort
from hypothesis import given

from thinktime.cli import run
from thinktime.errors import InputError
from thinktime.sources.scripts import read
from thinktime.sources.sessions import script_from
from thinktime.sources.sessions.recording import opened

FILES = Path(__file__).parents[1] / "fixtures" / "sessions"
SECRET = "hunter2secret"
TYPED = ["echo helo there", "ls /etc/hostname", "ls /etc/hostname", "python3 -q", "1+1", "exit()"]
TYPED += ["for i in 1 2; do", "echo $i", "done", "date -u"]
"""Lines that were typed to the tools, after backspace, tab, arrow up and Ctrl-U, and can be replayed."""


@pytest.mark.parametrize("name", ["v2.cast", "v3.cast", "io.timing", "inout.timing", "tlog.json"])
def test_a_session_becomes_a_script(name, tmp_path, capfd):
    out = tmp_path / "made.toml"
    assert run(["scripts", "--from", str(FILES / name), "-o", str(out)]) == 0
    printed = capfd.readouterr()
    assert [item.types for item in read(out).interactions] == TYPED
    assert SECRET not in out.read_text() + printed.out + printed.err
    assert script_from([FILES / name]).hidden == 1


LOGS = {"io.timing": ("io.log",), "inout.timing": ("in.log", "out.log")}


@pytest.mark.parametrize("name", ["", "a\nb", "\x1b[31m", "x" * 5000, "\udcff"])
def test_a_name_that_no_script_can_have(name):
    with pytest.raises(InputError, match="name: ") as refused:
        script_from([FILES / "v2.cast"], name=name)
    assert type(refused.value) is InputError
    assert "; " in str(refused.value), "no remedy"


def test_no_session_is_an_error():
    with pytest.raises(InputError, match="give at least one"):
        script_from([])


@pytest.mark.parametrize("name", LOGS)
@given(seed=SEEDS)
@effort(25)
def test_damaged_files_of_script(name, seed, tmp_path_factory):
    """The times, their logs, or both are damaged: a script of bounded lines, or one clear error."""
    folder = tmp_path_factory.mktemp("damaged")
    for number, part in enumerate((name, *LOGS[name])):
        sound = (FILES / part).read_bytes()
        (folder / part).write_bytes(damaged(sound, seed) if seed % 3 in (number, 2) else sound)
    try:
        made = script_from([folder / name])
    except InputError:
        return
    assert SECRET not in made.text
    assert "\x1b" not in made.text


@pytest.mark.parametrize("form", ["cast", "timing", "tlog"])
def test_a_long_session_takes_little_memory(form, tmp_path):
    """A million characters in pieces: what has been handed on is not kept."""
    path = tmp_path / "session"
    piece, pieces = "x" * 5_000 + "\r\n", 200
    with path.open("w") as file:
        if form == "cast":
            file.write('{"version": 2, "width": 80, "height": 24}\n')
            file.writelines(f'[{number}.0, "o", {json.dumps(piece)}]\n' for number in range(pieces))
        elif form == "tlog":
            file.writelines(
                json.dumps({"pos": 1000 * n, "timing": f">{len(piece)}", "out_txt": piece, "in_txt": ""})
                + "\n"
                for n in range(pieces)
            )
        else:
            file.write("H 0.0 INPUT_LOG in\nH 0.0 OUTPUT_LOG out\n")
            file.writelines(f"O 1.0 {len(piece)}\n" for _ in range(pieces))
            (tmp_path / "in").write_text("Script started\n")
            (tmp_path / "out").write_text("Script started\n" + piece * pieces)
    tracemalloc.start()
    try:
        assert sum(len(event.text) for event in opened(path).events()) == len(piece) * pieces
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < len(piece) * pieces / 2, "half of what there is to read"


@pytest.mark.parametrize("name", ["v2.cast", "v3.cast", "tlog.json"])
@given(seed=SEEDS)
@effort(25)
def test_damaged_sessions(name, seed, tmp_path_factory):
    path = tmp_path_factory.mktemp("damaged") / "session"
    path.write_bytes(damaged((FILES / name).read_bytes(), seed))
    try:
        made = script_from([path])
    except InputError:
        return
    assert SECRET not in made.text
    assert "\x1b" not in made.text
