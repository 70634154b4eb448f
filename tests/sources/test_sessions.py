"""Recorded sessions of real tools become scripts; what was typed without echo is nowhere in them."""

from pathlib import Path

import pytest
from damage import SEEDS, damaged, effort
from hypothesis import given

from thinktime.cli import run
from thinktime.errors import InputError
from thinktime.sources.scripts import read
from thinktime.sources.sessions import script_from

FILES = Path(__file__).parents[1] / "fixtures" / "sessions"
SECRET = "hunter2secret"
TYPED = ["echo helo there", "ls /etc/hostname", "ls /etc/hostname", "python3 -q", "1+1", "exit()"]
TYPED += ["for i in 1 2; do", "echo $i", "done", "date -u"]
"""Lines that were typed to the tools, after backspace, tab, arrow up and Ctrl-U, and can be replayed."""


@pytest.mark.parametrize("name", ["v2.cast", "io.timing", "inout.timing", "tlog.json"])
def test_a_session_becomes_a_script(name, tmp_path, capfd):
    out = tmp_path / "made.toml"
    assert run(["scripts", "--from", str(FILES / name), "-o", str(out)]) == 0
    printed = capfd.readouterr()
    assert [item.types for item in read(out).interactions] == TYPED
    assert SECRET not in out.read_text() + printed.out + printed.err
    assert script_from([FILES / name]).hidden == 1


@pytest.mark.parametrize("name", ["v2.cast", "tlog.json"])
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
