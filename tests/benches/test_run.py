"""The runner of the benchmarks: finds them, refuses rows without a key, and one failure costs no other."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

BENCHES = Path(__file__).parents[2] / "benches"
ROW = '{"work": "w", "unit": "s", "ours": 1.0, "reference": 2.0, "reference_name": "r", "ratio": 2.0}'


@pytest.fixture
def runner(tmp_path):
    (tmp_path / "run.py").write_text((BENCHES / "run.py").read_text())
    (tmp_path / "good.py").write_text(f"def run():\n    return [{ROW}]\n".replace("def", "\ndef", 1))
    (tmp_path / "not_one.py").write_text("X = 1\n")

    def run(*names):
        command = [sys.executable, tmp_path / "run.py", *names]
        return subprocess.run(command, capture_output=True, text=True)

    return tmp_path, run


def test_rows_are_printed_and_saved(runner):
    folder, run = runner
    done = run()
    assert done.returncode == 0, done.stderr
    assert "2.00" in done.stdout
    assert json.loads((folder / "latest.json").read_text()) == [{"benchmark": "good", **json.loads(ROW)}]


@pytest.mark.parametrize(
    "body", ["raise RuntimeError('no compiler')", 'return [{"work": "w"}]'], ids=["raises", "lacks keys"]
)
def test_one_failure_costs_no_other(runner, body):
    folder, run = runner
    (folder / "bad.py").write_text(f"\ndef run():\n    {body}\n")
    done = run()
    assert done.returncode == 1
    assert "failed: bad" in done.stderr
    assert [row["benchmark"] for row in json.loads((folder / "latest.json").read_text())] == ["good"]


def test_an_unknown_name_is_bad_usage(runner):
    _, run = runner
    done = run("no-such")
    assert done.returncode == 2
    assert "there are good" in done.stderr


def test_what_was_not_run_keeps_its_figures(runner):
    folder, run = runner
    run()
    (folder / "other.py").write_text((folder / "good.py").read_text())
    run("other")
    assert [row["benchmark"] for row in json.loads((folder / "latest.json").read_text())] == ["good", "other"]


def test_every_module_here_is_a_benchmark_or_used_by_one():
    text = "".join(path.read_text() for path in BENCHES.glob("*.py"))
    for path in BENCHES.glob("*.py"):
        source = path.read_text()
        assert "\ndef run(" in source or f"from {path.stem} import" in text or path.stem == "run"
