"""The schema of a machine in the manifest: what is held to it, and in which words."""

import ast
from pathlib import Path

import jsonschema
import polars as pl
import pytest

import thinktime
from thinktime.log import Log, LogWriter, machine_schema

PACKAGE = Path(thinktime.__file__).parent


def write(path, machine):
    with LogWriter.open(path, source="test", machine=machine) as writer:
        writer.write("samples", pl.DataFrame({"length_s": [1.0], "forks": [1]}))
    return Log.open(path)


MACHINES = [
    {"cpus": 2, "memory_bytes": 1 << 30, "key_of_the_source": {"any": ["thing"]}},
    {"ceilings": [{"column": "forks", "per_s": 10.0, "resource": "kernel"}]},
    {"cpus": "two"},
    {"cpus": -1},
    {"page_bytes": 0},
    {"page_bytes": 0.5},
    {"types_ahead": "yes"},
    {"meters": "none"},
    {"meters": [{"event": "fork", "count": "forks"}]},
    {"meters": [{"event": "fork", "count": "forks", "time": "system_s", "unit": "s"}]},
    {"ceilings": [{"column": "forks", "per_s": 0}]},
    {"units": {"core": 1}},
    {"decomposition": {"users": "active_users", "interactions": "forks", "parts": [{"name": "run"}]}},
]


@pytest.mark.parametrize("machine", MACHINES, ids=str)
def test_check_agrees_with_a_validator_of_the_whole_standard(tmp_path, machine):
    is_valid = jsonschema.Draft202012Validator(machine_schema()).is_valid(machine)
    assert (write(tmp_path / "run", machine).check() == []) == is_valid


def test_the_schema_is_one():
    jsonschema.Draft202012Validator.check_schema(machine_schema())


def test_a_defect_names_the_key_its_value_and_the_remedy(tmp_path):
    (defect,) = write(tmp_path / "run", {"ceilings": [{"column": "frobs", "per_s": 1}]}).check()
    assert (defect.severity, defect.place) == ("error", "session 1")
    assert defect.item == "machine.ceilings[0].column"
    assert defect.file.endswith("manifest.json")
    assert '"frobs" is not a column of samples' in defect.message
    assert "the name of a column of samples" in defect.remedy


def read_keys(path):
    """Keys that a module looks up in something called machine."""
    for node in ast.walk(ast.parse(path.read_text())):
        is_method = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        if is_method and node.func.attr in ("text", "flag", "number", "whole", "table", "tables"):
            source, arguments = ast.unparse(node.func.value), node.args
        elif isinstance(node, ast.Subscript):
            source, arguments = ast.unparse(node.value), [node.slice]
        else:
            continue
        is_machine = source == "machine" or source.endswith(".machine") or "last_machine(" in source
        if is_machine and arguments and isinstance(arguments[0], ast.Constant):
            yield arguments[0].value


def test_every_key_that_an_analysis_looks_up_is_in_the_schema():
    rooms = ("analyses", "log", "reports", "predictions")
    looked_up = {key for room in rooms for path in (PACKAGE / room).rglob("*.py") for key in read_keys(path)}
    assert {"cpus", "drives", "ceilings", "run_report", "core_kwords", "parameters"} <= looked_up
    assert looked_up <= set(machine_schema()["properties"])
