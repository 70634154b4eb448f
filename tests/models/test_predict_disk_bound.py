"""`thinktime predict` as it is called."""

import csv
import io
import json
import subprocess
import sys

import numpy as np
import polars as pl
import pytest

from thinktime.cli.predict import MODELS
from thinktime.log import LogWriter

BASE = ["--loaded", "4", "--block-time", "50ms", "--swap-time", "70ms"]
DISK = ["disk-bound", *BASE]


def figures(text):
    """Predicted figures of a JSON answer, by name."""
    tables = {table["name"]: table for table in json.loads(text)["tables"]}
    return {row[0]: row[1] for row in tables["disk-bound-figures"]["rows"]}


def assumptions(text):
    tables = {table["name"]: table for table in json.loads(text)["tables"]}
    return {row[0]: (row[1], row[2]) for row in tables["disk-bound-assumptions"]["rows"]}


def test_the_command_as_a_program():
    """Application 1 of Brachman (1983): memory is doubled."""
    code = "from thinktime.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, "predict", "disk-bound", *BASE, "--loaded-b", "8"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "On B the load takes 0.870 times as long as on A." in done.stdout
    assert done.stderr == ""


@pytest.mark.parametrize("model", MODELS)
def test_every_model_explains_itself_with_examples(model, predict_command):
    status, output, _ = predict_command(model, "--help")
    assert status == 0
    assert "Examples:" in output
    assert f"thinktime predict {model}" in output


def test_options_of_a_stand_for_b_where_its_own_do_not(predict_command):
    more = ["--processes", 10, "--processes-b", 15, "--block-time-b", "40ms", "--elapsed", "10m"]
    status, output, _ = predict_command("disk-bound", *BASE, *more, "--format", "json")
    assert status == 0
    result = figures(output)
    ratio = (0.04 + 0.07 / 4) / (0.05 + 0.07 / 4) * 1.5
    assert result["ratio"]["value"] == pytest.approx(ratio)
    assert result["elapsed_b_s"]["value"] == pytest.approx(600.0 * ratio)
    assert result["ratio"]["low"] is None


def test_intervals_are_carried_over_to_the_prediction(predict_command):
    wide = ["--memory", 650, "--size", 157, "--memory-b", 1280, "--swap-time", "50.7ms"]
    status, output, _ = predict_command("disk-bound", *wide, "--block-time", "39.8+-2.5ms", "--format", "csv")
    assert status == 0
    rows = [row for row in csv.DictReader(io.StringIO(output)) if row["quantity"] == "predicted"]
    (ratio,) = [row for row in rows if row["row"] == "ratio"]

    def expected(block):
        return (block + 50.7 / 8) / (block + 50.7 / 4)

    assert float(ratio["value"]) == pytest.approx(expected(39.8))
    assert float(ratio["low"]) == pytest.approx(expected(37.3))
    assert float(ratio["high"]) == pytest.approx(expected(42.3))


def test_files_give_machines_and_options_win(predict_command, tmp_path):
    a, b = tmp_path / "now.toml", tmp_path / "then.toml"
    a.write_text(
        'memory = 1280\nsize = [157, 314]\nprocesses = 12\nblock_time = "40ms"\nswap_time = 0.06\n'
        'utilisation = "96%"\ninteractive = true\nelapsed = 700\n'
    )
    b.write_text("memory = 2560\nelapsed = 620\nutilisation = 0.7\n")
    status, output, _ = predict_command("disk-bound", a, b, "--swap-time-b", "30ms", "--format", "json")
    assert status == 0
    result = figures(output)
    assert (result["loaded_a"]["value"], result["loaded_b"]["value"]) == (5, 10)
    assert result["ratio"]["value"] == pytest.approx((0.04 + 0.03 / 10) / (0.04 + 0.06 / 5))
    assert "Measured on B were 620" in json.loads(output)["summary"][2]
    told = assumptions(output)
    assert told["the controller is busy more than 80 % of the time"] == ("no", "A: 96 %; B: 70 %")
    assert told["the load is interactive"][0] == "yes"
    assert any("B: 70 %" in caveat for caveat in json.loads(output)["caveats"])


def test_another_memory_decides_anew_how_many_are_loaded(predict_command):
    sized = ["--block-time", "50ms", "--swap-time", "70ms", "--memory", 1300, "--size", 300, "--loaded", 3]
    _, output, _ = predict_command("disk-bound", *sized, "--memory-b", 2500, "--format", "json")
    result = figures(output)
    assert (result["loaded_a"]["value"], result["loaded_b"]["value"]) == (3, 8)


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    """Log of a real machine with one disk that is busy 80 % of the time with requests of 20 ms."""
    path = tmp_path_factory.mktemp("predict") / "run"
    start = pl.Series(1_700_000_000_000_000 + 10_000_000 * np.arange(20)).cast(pl.Datetime("us", "UTC"))
    counts = pl.Series([400, 420] * 10, dtype=pl.UInt64)
    samples = pl.DataFrame({"start": start, "length_s": [10.0] * 20, "idle_s": [5.0] * 20})
    disks = pl.DataFrame(
        {"start": start, "device": ["sda"] * 20, "reads": counts, "writes": counts - counts}
    ).with_columns(busy_s=counts.cast(pl.Float64) * 0.02, queue_s=counts.cast(pl.Float64) * 0.06)
    with LogWriter.open(path, source="linux") as writer:
        writer.write("samples", samples)
        writer.write("disks", disks)
    return path


def test_a_log_says_what_it_knows(predict_command, log):
    rest = ["--loaded", 4, "--loaded-b", 8, "--swap-time", "70ms"]
    status, output, errors = predict_command("disk-bound", "--from", log, *rest, "--format", "json")
    assert status == 0, errors
    result = figures(output)["ratio"]
    assert result["value"] == pytest.approx((0.02 + 0.07 / 8) / (0.02 + 0.07 / 4))
    busy = assumptions(output)["the controller is busy more than 80 % of the time"]
    assert busy == ("not known", "A: 82 %; B: not known")


def test_swap_overhead_with_one_and_with_several_loaded(predict_command):
    base = ["swap-overhead", "--elapsed", "300s", "--swap-time", "70ms"]
    assert "The load takes 370 s." in predict_command(*base, "--swaps", 1000)[1]
    status, output, _ = predict_command(*base, "--quantum", "100ms", "--processes", 10, "--processes-b", 15)
    assert status == 0
    assert "The load takes 450 s." in output
    assert "Not met: a swap takes at most half the memory quantum" in output
    status, _, errors = predict_command(*base)
    assert (status, "give the swaps (--swaps) if one process is loaded" in errors) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ["disk-bound", "--loaded", "4", "--swap-time", "70ms"],
            "--block-time of A is not given; give a value",
        ),
        ([*DISK, "--loaded-b", "0"], "machine B: loaded is 0; give 1 or more"),
        (
            [*DISK, "--processes", "4", "--loaded-b", "8"],
            "machine B: loaded is 8, but there are 4",
        ),
        ([*DISK, "--swap-time-b", "fast"], '--swap-time-b: "fast" is not a duration'),
        ([*DISK, "--block-time-b", "5ms+-6ms"], "block_time_s has an interval from -0.001"),
        ([*DISK, "--block-time-b", "5+-1+-1ms"], "give one interval, such as 40ms+-2ms"),
        (
            [*DISK, "--utilisation", "95"],
            "machine A: utilisation is 95; give a part of the time",
        ),
        ([*DISK, "--processes", "2.5"], "--processes 2.5: give a whole number of at least 1"),
        (
            ["disk-bound", *BASE[2:], "--size", "0", "--memory", "9"],
            "machine A: size is 0.0; give a finite number",
        ),
        (
            [*DISK, "--memory-b", "300", "--size-b", "400"],
            "machine B: size is 400, and memory 300",
        ),
        ([*DISK, "--burst", "12ms", "--burst-b", "1s"], "queue_length of B is not given"),
        (["disk-bound", "{tmp}/none.toml"], "none.toml: cannot be read"),
        (["disk-bound", "{tmp}/misspelt.toml"], "laoded: is not an input of the model; did you mean loaded?"),
        (
            ["disk-bound", "{tmp}/a.toml", "{tmp}/a.toml", "{tmp}/a.toml"],
            "a.toml: is the file of a third machine",
        ),
        (["disk-bound", "--from", "{tmp}", *BASE], "no manifest.json"),
        (
            ["disk-bound", "--from", "{log}", "--loaded", "4"],
            "has no --swap-time of A: the log counts no swaps",
        ),
        (
            ["disk-bound", "--from", "{log}", "--swap-time", "1ms"],
            "does not record how many processes were in memory",
        ),
        (["disk-bound", "--from", "{log}", "--device", "sdb", *BASE], "no device 'sdb'; choose one of sda"),
        (["swap-overhead", "--elapsed", "0", "--swap-time", "1ms", "--swaps", "5"], "elapsed_s is 0"),
        (["no-such-model"], "no-such-model: there is no such command"),
    ],
)
def test_bad_use_is_reported_with_status_2(arguments, words, predict_command, tmp_path, log):
    (tmp_path / "misspelt.toml").write_text("laoded = 4\n")
    (tmp_path / "a.toml").write_text("loaded = 4\n")
    status, output, errors = predict_command(
        *(argument.format(tmp=tmp_path, log=log) for argument in arguments)
    )
    assert status == 2
    assert words in errors
    assert "Traceback" not in errors
    assert output == ""
