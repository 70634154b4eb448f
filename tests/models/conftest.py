"""Command line of the models, called in the process of the tests."""

import sys

import pytest

from thinktime.cli import main


@pytest.fixture
def predict_command(monkeypatch, capsys, tmp_path):
    """`thinktime predict ARGUMENTS` in a folder of its own: exit status, output and errors."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["thinktime", "predict", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        output, errors = capsys.readouterr()
        return ended.value.code or 0, output, errors

    return call
