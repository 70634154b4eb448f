"""The general model against every measured run of Brachman (1983): the files of Tables VI and VII."""

import csv
import math
from dataclasses import replace
from pathlib import Path

import pytest

from thinktime.models.swapping.response_time import predict
from thinktime.studies.brachman_1983 import general_model
from thinktime.studies.brachman_1983.runs import CASES

FOLDER = Path(general_model.__file__).parent / "published"
WITHIN = 0.12
BEYOND = {
    # Its elapsed time stands 82 s off the line of its group, and its utilisation is low: a doubtful run.
    ("12", "314", "1280", "8"): 0.14,
    # Its disk is busy for 20 per cent longer an interaction than with PC = 12 ms; swaps explain a third.
    ("186", "157", "650", "12"): 0.16,
}
"""Runs that are further off, and how far they may be."""


def measured():
    for table in ("table06_factorial", "table07_supplementary"):
        with (FOLDER / f"{table}.csv").open(newline="") as file:
            for row in csv.DictReader(file):
                yield tuple(row[key] for key in ("pc_ms", "ps_clicks", "mm_clicks", "pn")), row


def case_of(key):
    pc_ms, ps, mm, pn = key
    sizes = tuple(int(size) for size in ps.split("/"))
    return next(
        case
        for case in CASES
        if (case.pc_ms, case.sizes_clicks, case.mm_clicks, case.pn) == (int(pc_ms), sizes, int(mm), int(pn))
    )


RUNS = dict(measured())
PRINTED = [key for key, row in RUNS.items() if row["elapsed_s"]]


def off(key, quantity, **changes):
    """Predicted less measured, and predicted."""
    case = case_of(key)
    ours = general_model.columns(predict(general_model.system(case, **changes)))[quantity]
    return ours - float(RUNS[key][quantity]), ours


def test_every_measured_run_is_predicted():
    ours = {
        (case.pc_ms, case.sizes_clicks, case.mm_clicks, case.pn): columns
        for case, columns in general_model.all_runs()
    }
    assert ours.keys() == {
        (int(pc_ms), tuple(map(int, ps.split("/"))), int(mm), int(pn)) for pc_ms, ps, mm, pn in RUNS
    }
    assert all(0.0 <= value < math.inf for columns in ours.values() for value in columns.values())


@pytest.mark.parametrize("key", PRINTED, ids="-".join)
def test_elapsed_time(key):
    difference, _ = off(key, "elapsed_s")
    assert abs(difference) <= BEYOND.get(key, WITHIN) * float(RUNS[key]["elapsed_s"])


def test_the_runs_that_are_further_off_are():
    """So that the exceptions go when the model has become better."""
    for key in BEYOND:
        difference, _ = off(key, "elapsed_s")
        assert abs(difference) > WITHIN * float(RUNS[key]["elapsed_s"])


@pytest.mark.parametrize("key", [key for key in PRINTED if int(key[0]) <= 60], ids="-".join)
def test_queue_and_utilisation_where_the_disk_limits(key):
    """Within a request, and five points; two points more where the thesis's own figures are doubtful."""
    assert abs(off(key, "qdisk")[0]) <= 1.0
    allowed = 8.5 if key in BEYOND else 5.0
    assert abs(off(key, "controller_utilization_percent")[0]) <= allowed


@pytest.mark.parametrize(
    "key", [key for key in PRINTED if int(key[0]) <= 60 and float(RUNS[key]["nswaps"]) > 500], ids="-".join
)
def test_swaps(key):
    difference, _ = off(key, "nswaps")
    assert abs(difference) <= 0.25 * float(RUNS[key]["nswaps"])


def test_a_model_that_knows_no_swapping_misses_most_runs():
    """A canary: with memory for all, runs that swap come out far too short."""
    swapping = [key for key in PRINTED if float(RUNS[key]["nswaps"]) > 1000 and int(key[0]) <= 60]
    missed = [
        key
        for key in swapping
        if abs(off(key, "elapsed_s", memory=10_000)[0]) > WITHIN * float(RUNS[key]["elapsed_s"])
    ]
    assert len(missed) > 0.8 * len(swapping)


def test_a_cpu_that_is_shared_at_will_misses_more_of_the_runs_that_compute():
    keys = [key for key in PRINTED if int(key[0]) >= 186]
    ours = sum(abs(off(key, "elapsed_s")[0]) for key in keys)
    shared = sum(abs(off(key, "elapsed_s", dispatch="sharing")[0]) for key in keys)
    assert shared > 1.3 * ours


def test_what_is_calibrated_is_where_the_fit_ends():
    result = general_model.fitted()
    for name in ("think_s", "blocks", "behind"):
        assert getattr(result, name) == pytest.approx(getattr(general_model.CALIBRATED, name), rel=0.005)
    assert result.gap_s == pytest.approx(general_model.CALIBRATED.gap_s, rel=0.05)


def test_the_systems_cpu_time_is_not_known_from_the_ten_runs():
    """It is set, and said to be: half or one and a half times as much predicts the ten as well."""

    def distance(system_s):
        tried = replace(general_model.CALIBRATED, system_s=system_s)
        total = 0.0
        for case in CASES:
            if case.kind == "fitted":
                ours = general_model.columns(general_model.predicted(case, tried))
                total += sum(
                    (general_model.weighted_error(case, ours, quantity) or 0.0) ** 2
                    for quantity in ("elapsed_s", "qdisk", "controller_utilization_percent")
                )
        return total

    assert distance(0.04) == pytest.approx(distance(0.06), rel=0.2)
    assert distance(0.08) == pytest.approx(distance(0.06), rel=0.2)


def test_one_track_is_swapped_in_the_time_of_table_iv():
    assert general_model.swap_time_s(157) == pytest.approx(0.0507)


def test_what_if_says_what_theory_must():
    """More memory, a faster disk and shared text never lower the throughput; a pause never raises it."""
    for case in general_model.BASES:
        base = predict(general_model.system(case))["throughput_per_s"] * (1 - 1e-9)
        for name, changes in general_model.changes(case):
            x = predict(general_model.system(case, **changes))["throughput_per_s"]
            if "users" in name or "sizes" in name:
                continue
            assert (x <= base * (1 + 2e-9)) if "pauses" in name else (x >= base), (case.words, name)


def test_the_chapter_prints_all_runs_and_names_the_worst():
    result = general_model.chapter(None)
    assert [table.name for table in result.tables] == ["general-runs", "general-choices", "general-what-if"]
    assert len(result.tables[0].rows) == len(RUNS)
    assert not result.claims[0].holds
    assert result.summary[-1].startswith("Worst: (157, 186, 12, 4)")
