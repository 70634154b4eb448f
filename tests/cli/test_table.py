"""The table of commands that is shipped is what the commands declare."""

from __future__ import annotations

from pathlib import Path

from thinktime.cli.program.catalogue import TABLE, program
from thinktime.cli.program.declared import declared, table

REMEDY = (
    "the commands have changed: `make golden` writes the table (python -m thinktime.cli.program.declared)"
)


def test_it_is_what_the_commands_declare() -> None:
    assert Path(TABLE).read_text(encoding="utf-8") == table(declared()), REMEDY


def test_what_is_read_from_it_is_what_was_written() -> None:
    assert program() == declared(), REMEDY
