"""`thinktime predict swapping` as it is called."""

import json
from functools import partial

import pytest

from thinktime.models.swapping.response_time import Swapping, predict

FILE = """\
processes = 12
memory = 650
size = 157
blocks = 5.2
block_time = "40ms"
swap_time = "50ms"
compute = "12ms"
system = "60ms"
think_time = "1s"
interactions = 200
behind = "45%"
gap = "2ms"
"""
MACHINE = Swapping(
    processes=12,
    memory=650,
    size=157,
    blocks=5.2,
    block_time_s=0.04,
    swap_time_s=0.05,
    compute_s=0.012,
    system_s=0.06,
    think_s=1.0,
    interactions=200,
    behind=0.45,
    gap_s=0.002,
)


@pytest.fixture
def run(predict_command, tmp_path):
    """`thinktime predict swapping`, in a folder with `machine.toml`."""
    (tmp_path / "machine.toml").write_text(FILE)
    return partial(predict_command, "swapping")


def table(text, name):
    tables = {each["name"]: each for each in json.loads(text)["tables"]}
    return tables[f"swapping-{name}"]["rows"]


def test_a_file_gives_what_the_model_says_and_an_option_wins(run):
    status, output, errors = run("machine.toml", "--format", "json")
    assert (status, errors) == (0, "")
    figures = {row[0]: row[1]["value"] for row in table(output, "figures")}
    result = predict(MACHINE)
    assert figures["elapsed_s"] == pytest.approx(result["elapsed_s"], rel=1e-12)
    assert figures["swaps"] == pytest.approx(result["swaps"], rel=1e-12)
    _, output, _ = run("machine.toml", "--memory", "1280", "--format", "json")
    assert {row[0]: row[1]["value"] for row in table(output, "figures")}["fitting"] == 8.0


def test_what_if_stands_beside_the_machine_as_it_is(run):
    arguments = ("--what-if", "memory=1280", "--what-if", "processes=18 think-time=2s", "--format", "json")
    status, output, _ = run("machine.toml", *arguments)
    assert status == 0
    rows = table(output, "changes")
    assert [row[0] for row in rows] == ["as it is", "memory=1280", "processes=18 think-time=2s"]
    assert rows[0][1]["value"] == 0.0
    assert rows[1][1]["value"] > 0.1


def test_an_interval_reaches_the_answer(run):
    _, output, _ = run("machine.toml", "--block-time", "40+-2ms", "--format", "json")
    figures = {row[0]: row[1] for row in table(output, "figures")}
    assert figures["elapsed_s"]["low"] < figures["elapsed_s"]["value"] < figures["elapsed_s"]["high"]


def test_several_sizes_with_a_swap_time_each(run):
    status, output, _ = run("machine.toml", "--size", "157,314", "--swap-time", "50ms,100ms")
    assert status == 0
    assert "processes of all sizes are loaded as often" in output


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ((), "--processes is not given; give a value, such as 12"),
        (("machine.toml", "--size", "700"), "size is 700, and memory 650"),
        (("machine.toml", "--dispatch", "lottery"), "--dispatch lottery: give one of slices, sharing"),
        (("machine.toml", "--own-controller", "maybe"), "--own-controller maybe: give yes or no"),
        (("machine.toml", "--minimum-time-in", "3+-1s"), "give it without an interval"),
        (("machine.toml", "--compute", "4s+-5s"), "nothing can be predicted at -1 s, an end of the interval"),
        (("machine.toml", "--swap-time", "1e308s"), "--swap-time 1e308s: is too large to compute with"),
        (("machine.toml", "--what-if", "colour=red"), "--what-if colour=red: give NAME=VALUE"),
        (("machine.toml", "--what-if", "memory=100"), "--what-if memory=100: size is 157, and memory 100"),
        (("machine.toml", "--what-if", " "), "changes nothing"),
        (("none.toml",), "none.toml"),
    ],
)
def test_bad_input_says_what_is_wrong(run, arguments, named):
    status, output, errors = run(*arguments)
    assert status == 2
    assert output == ""
    assert named in " ".join(errors.split())
