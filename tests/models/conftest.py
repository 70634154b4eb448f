"""Command line of the models, called in the process of the tests."""

import pytest

from thinktime.cli import run


@pytest.fixture
def predict_command(monkeypatch, capsys, tmp_path):
    """`thinktime predict ARGUMENTS` in a folder of its own: exit status, output and errors."""
    # Relative paths refer to it, as in a user's shell; a process for each call would cost a second.
    monkeypatch.chdir(tmp_path)

    def call(*arguments):
        status = run(["predict", *map(str, arguments)])
        output, errors = capsys.readouterr()
        return status, output, errors

    return call
