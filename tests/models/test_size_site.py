"""A machine from figures in a file: against exact networks, with intervals, and with wrong files."""

from __future__ import annotations

import json

import numpy as np
import pytest

from thinktime.cli import run
from thinktime.cli.predict.commands import numbers_of
from thinktime.models.sizing import Machine, Work, course
from thinktime.predictions.size import site

EXACT = """
cpus = 2
think_time = "1 s"
background = 0.2
[demand]
cpu = "100 ms"
disk = 0.01
rest = "20 ms"
"""


def test_a_swap_device_is_one_more_station(tmp_path, capsys):
    # 10 GB less 3 % and 1.7 GB in use leave 8 GB, for 40 users of 200 MB: a third of that of 60 has no room.
    memory = 'memory = "10 GB"\nmemory_in_use = "1.7 GB"\n'
    path = written(tmp_path, memory + EXACT + '[user_memory]\nmean = "200 MB"\n')
    options = ["--swap-speed", "1GB/s", "--users", "30,60", "--format", "json"]
    assert run(["size", "--from", str(path), *options]) == 0
    (found,) = json.loads(capsys.readouterr().out)["beyond"]
    assert found["users"] == 60
    assert found["missing"] == pytest.approx(1 / 3)
    swapped = Work(think_s=1.0, cpu_s=0.1, serial_s=0.01 + 2 * 0.2 / 3, delay_s=0.02)
    exact = course(swapped, Machine(cpus=2, background=0.2), 60).response_s[-1]
    assert found["most_s"] == pytest.approx(exact, rel=1e-3)


def written(tmp_path, text):
    path = tmp_path / "site.toml"
    path.write_text(text)
    return path


def test_figures_without_intervals_give_the_exact_network(tmp_path, capsys):
    path = written(tmp_path, EXACT)
    options = ["--users", "1,10,30", "--goal", "mean response < 300ms", "--format", "json"]
    assert run(["size", "--from", str(path), *options]) == 0
    found = json.loads(capsys.readouterr().out)
    work = Work(think_s=1.0, cpu_s=0.1, serial_s=0.01, delay_s=0.02)
    exact = course(work, Machine(cpus=2, background=0.2), 60)
    for one in found["predictions"]:
        at = one["users"] - 1
        if one["quantity"] == "throughput_per_s":
            assert one["value"] == pytest.approx(exact.throughput_per_s[at], rel=1e-9)
        if one["quantity"] == "response_s":
            # Nothing is uncertain but the model.
            assert one["value"] == pytest.approx(exact.response_s[at], rel=1e-3)
            assert one["high"] / one["value"] == pytest.approx(np.exp(0.05 * 1.96), rel=0.01)
    fits = np.count_nonzero(exact.response_s <= 0.3)
    assert found["answer"]["users"] == pytest.approx(fits, abs=1)
    assert {one["kind"] for one in found["predictions"]} == {"predicted"}


@pytest.mark.parametrize(
    "cpu",
    [
        '"100 +- 20 ms"',
        '"100ms+-20ms"',
        '{ value = "100 ms", low = "80 ms", high = 0.12 }',
        '"0.1 s ± 0.02 s"',
    ],
)
def test_intervals_are_those_that_were_given(tmp_path, cpu):
    path = written(tmp_path, EXACT.replace('cpu = "100 ms"', f"cpu = {cpu}").replace("0.2", "0"))
    drawn = [work.cpu_s for work in site.read(path, numbers_of).fitted.draws]
    low, middle, high = np.quantile(drawn, (0.025, 0.5, 0.975))
    assert (low, middle, high) == pytest.approx((0.08, 0.1, 0.12), rel=0.01)


def test_uncertain_figures_widen_the_answer(tmp_path, capsys):
    widths = []
    for cpu in ('"100 ms"', '"100 +- 30 ms"'):
        path = written(tmp_path, EXACT.replace('cpu = "100 ms"', f"cpu = {cpu}"))
        assert run(["size", "--from", str(path), "--format", "json"]) == 0
        answer = json.loads(capsys.readouterr().out)["answer"]
        widths.append(answer["high"] - answer["low"])
    assert widths[1] > 2 * widths[0]


def test_memory_by_hand(tmp_path, capsys):
    # 10 GB less 3 % for the kernel and 1.7 GB in use leave 8 GB: 40 users of 200 MB, all alike.
    memory = 'memory = "10 GB"\nmemory_in_use = "1.7 GB"\n'
    text = memory + EXACT + '[user_memory]\nmean = "199.9 MB"\n'
    path = written(tmp_path, text.replace('"1 s"', '"60 s"'))
    assert run(["size", "--from", str(path), "--format", "json"]) == 0
    answer = json.loads(capsys.readouterr().out)["answer"]
    assert (answer["users"], answer["limit"]) == (40, "memory")


@pytest.mark.parametrize("more", [[], ["--swap-speed", "200MB"]])
def test_a_machine_without_room_for_a_single_user(tmp_path, capsys, more):
    """It ended with a traceback, and a goal that no user met was told as one that is met."""
    memory = 'memory = "10 GB"\nmemory_in_use = "1.7 GB"\n'
    path = written(tmp_path, memory + EXACT + '[user_memory]\nmean = "199.9 MB"\n')
    assert run(["size", "--from", str(path), "--memory", "1GB", *more]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "Not one user fits on 2 CPUs: one alone misses the goal that memory suffices" in text
    assert "Memory is full before anybody comes." in text


def test_percentiles_of_memory_are_those_of_a_lognormal_distribution(tmp_path):
    text = 'memory = "10 GB"\n' + EXACT + '[user_memory]\np50 = "200 MB"\np90 = "400 MB"\n'
    found = site.read(written(tmp_path, text), numbers_of).measured.memory
    drawn = np.exp(np.random.default_rng(1).normal(np.log(200e6), np.log(2.0) / 1.2815516, 400_000))
    assert found.user.value == pytest.approx(drawn.mean(), rel=0.01)
    assert found.user_sd_bytes == pytest.approx(drawn.std(), rel=0.02)


def test_the_example_is_a_site(tmp_path, capsys):
    assert run(["size", "--example-site"]) == 0
    path = written(tmp_path, capsys.readouterr().out)
    assert run(["size", "--from", str(path), "--what-if", "cpus=16", "--what-if", "memory=128GB"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "not measured: the answer is as good as they are" in said
    assert "16 CPUs" in said


@pytest.mark.thorough
def test_a_page_needs_no_log(tmp_path):
    """Those of the browser are also made of figures alone."""
    path, page = written(tmp_path, EXACT), tmp_path / "size.html"
    assert run(["size", "--from", str(path), "-o", str(page)]) == 0
    assert "thinktime size --from" in page.read_text()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (EXACT.replace('think_time = "1 s"', ""), "think_time: is missing"),
        (EXACT.replace("cpus = 2", ""), "cpus: is missing"),
        (EXACT.replace("cpus", "cpu"), "cpu: is not known; did you mean cpus?"),
        (EXACT.replace("disk", "disc"), "demand.disc: is not known; did you mean disk?"),
        (EXACT.replace('"100 ms"', '"100 parsecs"'), "demand.cpu"),
        (EXACT.replace('"100 ms"', "0"), "demand.cpu: reaches down to 0"),
        (EXACT.replace('"100 ms"', '"100 +- 200 ms"'), "demand.cpu"),
        (EXACT.replace('"100 ms"', "{ value = 1, low = 2, high = 3 }"), "low <= value <= high"),
        (EXACT.replace('"100 ms"', "{ value = 1, lo = 0.5, high = 3 }"), "demand.cpu.lo: is not known"),
        (EXACT.replace('"100 ms"', "{ value = 1, high = 3 }"), "demand.cpu.low: is missing"),
        (EXACT.replace('"100 ms"', "[1, 2]"), "is no figure"),
        (EXACT.replace('"100 ms"', "true"), "is no figure"),
        (EXACT.replace("0.2", "1.9"), "background: leaves too little of 2 CPUs"),
        (EXACT.replace("cpus = 2", "cpus = 1.5"), "cpus 1.5: give a whole number"),
        ("demand = 3\ncpus = 2\nthink_time = 1", "demand: is no table"),
        ('memory = "1 GB"' + EXACT, "user_memory: is missing"),
        (EXACT + '[user_memory]\nmean = "1 GB"', "memory: is missing"),
        ('memory = "1 GB"' + EXACT + "[user_memory]\np50 = 2\np90 = 1", "p90: is below p50"),
        ('memory = "1 GB"' + EXACT + "[user_memory]\np50 = 2\nmean = 1", "together with mean"),
        ('users = "many"' + EXACT, "users many"),
        ("users = [0]" + EXACT, "users 0"),
        ("cpus = ", "is not TOML"),
        ("cpus = 2024-01-01", "is a date"),
    ],
)
def test_wrong_files_are_refused(tmp_path, capsys, text, said):
    path = written(tmp_path, text)
    assert run(["size", "--from", str(path)]) == 2
    words = " ".join(capsys.readouterr().err.split())
    assert said in words
    assert "site.toml" in words


def test_a_log_and_a_file_together_are_refused(tmp_path, capsys):
    path = written(tmp_path, EXACT)
    assert run(["size", str(tmp_path), "--from", str(path)]) == 2
    assert "give a file or logs" in " ".join(capsys.readouterr().err.split())
