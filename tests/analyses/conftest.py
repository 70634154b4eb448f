"""Logs with known truth, written and read as any log is."""

from dataclasses import replace

import pytest
from known_logs import frame

from thinktime.log import Log, LogWriter, vocabulary


@pytest.fixture
def log_of(tmp_path):
    """Write tables of columns as a log: counts are rounded to whole ones, nan becomes null."""

    def write(
        samples=None,
        interactions=None,
        disks=None,
        schema=None,
        machine=None,
        name="log",
        source="test",
        **facts,
    ):
        tables = {"samples": (samples, schema), "interactions": (interactions, None), "disks": (disks, None)}
        with LogWriter.open(tmp_path / name, source=source, machine=machine or {}) as writer:
            for table, (columns, own) in tables.items():
                if columns is not None:
                    writer.write(table, frame(columns, own or vocabulary(table)), own)
            for key, value in facts.items():
                writer.set(key, value)
        return Log.open(tmp_path / name)

    return write


@pytest.fixture
def without_roles():
    """The vocabulary's samples without a role."""

    def strip(*roles):
        return tuple(
            replace(column, role=None) if column.role in roles else column for column in vocabulary("samples")
        )

    return strip
