"""Brachman, *A Model of the UNIX Time-sharing System under Disk Saturation* (UBC, 1983): its printed figures.

Where the thesis contradicts itself, the reading that its other figures need is taken and said.
"""

import csv
import itertools
import math
from dataclasses import replace
from pathlib import Path

import pytest

import thinktime.studies
from thinktime.models.swapping import disk_bound
from thinktime.models.swapping.swap_disk import Configuration, Drive, loaded_processes

PUBLISHED = Path(thinktime.studies.__file__).parent / "brachman_1983" / "published"
BLOCK_TIME_MS = 40.0
"""Table V has 39.8 +- 2.5; with 40.0, and no other value of one decimal, Table VIII comes out."""
MISPRINT_S = {684.2: 648.2}
"""Table VIII, first mean: two digits are exchanged (its deviation and the five other rows need 648.2)."""
EXTRA_LATENCY_MS = {118.6: 106.1}
"""Table IV, 157 clicks: 12.5 ms, one mean latency, above the rule that the other seven values follow."""


def table(name):
    with (PUBLISHED / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def half(text):
    """Half a unit of the last printed digit, and a rounding error of the computer."""
    return 0.5 * 10.0 ** -len(text.partition(".")[2]) + 1e-9


SWAP_TIMES_S = {
    int(row["ps_clicks"]): float(row["measured_ms"]) / 1000.0 for row in table("table04_swap_times")
}


def configuration(row, block_ms=BLOCK_TIME_MS, loaded=None):
    """A run of Table VI or VII, with what was measured."""
    size = int(row["ps_clicks"])
    return Configuration(
        block_time_s=block_ms / 1000.0,
        swap_time_s=SWAP_TIMES_S[size],
        loaded=loaded,
        memory=int(row["mm_clicks"]),
        size=size,
        processes=int(row["pn"]),
        burst_s=float(row["pc_ms"]) / 1000.0,
        queue_length=float(row["qdisk"]),
        utilisation=float(row["controller_utilization_percent"]) / 100.0,
        elapsed_s=float(row["elapsed_s"]),
        interactions=200 * int(row["pn"]),
    )


def measured(name):
    return [row for row in table(name) if row["elapsed_s"]]


def twelve(**settings):
    return [configuration(row, **settings) for row in measured("table06_factorial") if row["pn"] == "12"]


def left_out(runs):
    return {found.measured_s: found for found in disk_bound.leave_one_out(runs)}


def test_every_run_has_the_floor_of_memory_over_size_loaded():
    rows = [row for name in ("table06_factorial", "table07_supplementary") for row in table(name)]
    assert len(rows) == 46
    for row in rows:
        mixed = "/" in row["ps_clicks"]
        size = [int(part) for part in row["ps_clicks"].split("/")]
        found = loaded_processes(int(row["mm_clicks"]), size, int(row["pn"]))
        assert found == int(row["nl"].lstrip("~")), row
        assert mixed == row["nl"].startswith("~")


def test_table_8_leave_one_out():
    found = left_out(twelve())
    rows = table("table08_predictions")
    assert len(rows) == len(found) == 6
    for row in rows:
        one = found[float(row["measured_elapsed_s"])]
        mean = float(row["mean_prediction_s"])
        assert len(one.predictions_s) == 5
        assert one.mean_s == pytest.approx(MISPRINT_S.get(mean, mean), abs=half("1.1"))
        assert one.standard_deviation_s == pytest.approx(float(row["standard_deviation_s"]), abs=half("1.1"))


def test_table_8_with_the_block_time_of_table_5():
    """The measured 39.8 ms give the same predictions to about a second."""
    (row,) = table("table05_block_time")
    found = left_out(twelve(block_ms=float(row["measured_ms"])))
    for measured_s, one in left_out(twelve()).items():
        assert found[measured_s].mean_s == pytest.approx(one.mean_s, abs=1.15)


@pytest.mark.parametrize("wrong", ["39.9 ms", "40.1 ms", "number loaded", "deviation"])
def test_table_8_does_not_come_out_of_a_wrong_model(wrong):
    """The canary: each of the readings that were decided against is noticed."""
    runs = twelve(block_ms=float(wrong.removesuffix(" ms"))) if wrong.endswith(" ms") else twelve()
    if wrong == "number loaded":
        runs = [replace(run, loaded=min(run.processes, math.ceil(run.memory / run.size))) for run in runs]
    shrunk = math.sqrt(4 / 5) if wrong == "deviation" else 1.0
    found = left_out(runs)
    far = [
        max(
            abs(one.mean_s - MISPRINT_S.get(mean := float(row["mean_prediction_s"]), mean)),
            abs(one.standard_deviation_s * shrunk - float(row["standard_deviation_s"])),
        )
        for row in table("table08_predictions")
        for one in [found[float(row["measured_elapsed_s"])]]
    ]
    assert max(far) > half("1.1")


def application(row):
    """Machines of one of the applications of section 5.4: A has 10 processes, of which 4 are loaded."""
    number = {name: float(row[name]) for name in row if row[name] and name not in ("example", "description")}
    a = Configuration(
        block_time_s=number["tblock_a_s"],
        swap_time_s=number["tswap_a_s"],
        loaded=number["nl_a"],
        processes=10,
        burst_s=0.012,
        think_s=0.0,
    )
    b = replace(a, block_time_s=number["tblock_b_s"], swap_time_s=number["tswap_b_s"], loaded=number["nl_b"])
    if row["example"] == "4":
        b = replace(b, processes=round(number["extra_factor_numerator"]))
    if row["example"] == "5":
        b = replace(b, burst_s=0.05)
    return a, b


@pytest.mark.parametrize("row", table("section54_applications"), ids=lambda row: row["example"])
def test_section_54_applications(row):
    found = disk_bound.predict(*application(row))
    assert found["ratio_as_printed"] == pytest.approx(float(row["ratio_printed"]), abs=half("0.01"))
    if row["change_percent_printed"]:
        percent = 100.0 * found["change"]
        assert percent == pytest.approx(float(row["change_percent_printed"]), abs=half("1"))


def test_application_5_counts_the_larger_number_loaded_twice():
    """Equation 3.1 knows that six are loaded and not four; the queues of five and seven say it again.

    With as many loaded, and both bursts below the swap time, the queues are equal. The measurements decide:
    of all pairs of runs with 12 processes that differ in burst and in the number loaded, the printed
    combination is off by more than a third (root mean square of the logarithms), the other by an eighth.
    """
    (row,) = [row for row in table("section54_applications") if row["example"] == "5"]
    found = disk_bound.predict(*application(row))
    assert found["burst_factor"] == pytest.approx(1.0)
    assert found["ratio"] == pytest.approx((0.05 + 0.06 / 6) / (0.05 + 0.07 / 4))
    rows = measured("table06_factorial") + measured("table07_supplementary")
    runs = [configuration(row) for row in rows if row["pn"] == "12" and float(row["pc_ms"]) < 354]
    off = {"ratio": [], "ratio_as_printed": []}
    for a, b in itertools.permutations(runs, 2):
        if a.burst_s != b.burst_s and a.number_loaded != b.number_loaded:
            found = disk_bound.predict(a, b)
            for name, errors in off.items():
                errors.append(math.log(found[name] * a.elapsed_s / b.elapsed_s))
    spread = {name: math.sqrt(math.fsum(e * e for e in errors) / len(errors)) for name, errors in off.items()}
    assert len(off["ratio"]) > 50
    assert spread["ratio"] < 1 / 8
    assert spread["ratio_as_printed"] > 1 / 3


def test_longer_bursts_lengthen_the_time_as_they_shorten_the_queue():
    """4.8/3.4 = 987/717, within the errors that the thesis states: 0.1 of a queue, 5 percent of a time."""
    rows = measured("table06_factorial") + measured("table07_supplementary")
    runs = {(row["ps_clicks"], row["pc_ms"], row["mm_clicks"]): row for row in rows if row["pn"] == "12"}
    short, long = (configuration(runs["157", burst, "650"]) for burst in ("12", "186"))
    found = disk_bound.predict(short, long)
    assert found["ratio"] == pytest.approx(4.8 / 3.4)
    queues = 0.1 / short.queue_length + 0.1 / long.queue_length
    assert found["ratio"] == pytest.approx(long.elapsed_s / short.elapsed_s, rel=queues + 0.05)
    # At 354 ms the thesis gives the extension up; the assumption on the burst says so.
    (breaks,) = [row for row in rows if row["pc_ms"] == "354" and row["pn"] == "12"]
    beyond = disk_bound.predict(configuration(runs["157", "12", "1280"]), configuration(breaks))
    measured_ratio = float(breaks["elapsed_s"]) / float(runs["157", "12", "1280"]["elapsed_s"])
    assert beyond["ratio"] > 1.3 * measured_ratio
    assert next(one.observed for one in beyond.assumptions if one.met is False).endswith(
        "354 ms against 50.7 ms"
    )


def drive():
    figures = {row["characteristic"]: float(row["value"]) for row in table("table01_rl01")}
    return Drive(
        access_s=figures["average_access"] / 1e3,
        transfer_s_per_byte=figures["transfer_time_average"] / 1e6,
        track_to_track_s=figures["track_to_track_seek"] / 1e3,
        cylinder_blocks=round(figures["surfaces"] * figures["blocks_512_byte_per_track"]),
    )


def test_tables_4_and_5_calculated():
    for row in table("table04_swap_times"):
        found = drive().swap_time_s(int(row["ps_clicks"]))
        low, high = float(row["calculated_min_ms"]), float(row["calculated_max_ms"])
        assert found.low * 1e3 == pytest.approx(low, abs=half("1.1"))
        assert found.high * 1e3 == pytest.approx(EXTRA_LATENCY_MS.get(high, high), abs=half("1.1"))
    (row,) = table("table05_block_time")
    assert drive().block_time_s() * 1e3 == pytest.approx(float(row["calculated_ms"]), abs=half("1.1"))


def test_the_measured_runs_that_break_an_assumption_are_told():
    rows = {
        (row["ps_clicks"], row["mm_clicks"], row["pn"]): configuration(row)
        for row in measured("table06_factorial")
    }
    base = rows["157", "650", "12"]
    good = disk_bound.predict(base, rows["157", "1280", "12"])
    assert not [one for one in good.assumptions if one.met is False]
    idle = disk_bound.predict(base, rows["157", "1280", "6"])
    violated = {one.text: one.observed for one in idle.assumptions if one.met is False}
    busy = next(found for text, found in violated.items() if "controller is busy" in text)
    assert busy == "A: 95 %; B: 77 %"
    assert any("all 6 processes are loaded and none is swapped" in found for found in violated.values())


def test_swaps_are_blocks_over_the_number_loaded():
    """With 6 blocks an interaction, of 12 processes: close where four and more are loaded, else too many."""
    (blocks,) = [float(row["value"]) for row in table("facts") if row["name"] == "blocks-per-interaction"]
    for row in measured("table06_factorial"):
        if row["pn"] == "12":
            run = configuration(row)
            error = (
                disk_bound.swaps(blocks * run.interactions, run.number_loaded) / float(row["nswaps"]) - 1.0
            )
            assert abs(error) < 0.035 if run.number_loaded >= 4 else error > 0.25, row
