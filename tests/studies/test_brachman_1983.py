"""Brachman (1983): the arithmetic of its printed numbers, and its runs of twelve processes."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import checks
import pytest

from thinktime.errors import InputError
from thinktime.models.swapping.disk_bound import leave_one_out
from thinktime.studies import load
from thinktime.studies.brachman_1983 import recomputed, runs
from thinktime.studies.brachman_1983.runs import BY_TIME, CASES, PAPER
from thinktime.studies.cells import Cell
from thinktime.studies.estimates import interval
from thinktime.studies.laboratory import Laboratory, Settings
from thinktime.studies.study import Outcome, run
from thinktime.studies.study_report import report

NAME = "brachman-1983"


@pytest.fixture(scope="module")
def outcome() -> Outcome:
    """All parts with two replications of thirty interactions."""
    return run(load(NAME), Settings(replications=2, scale=0.15))


@pytest.fixture(scope="module")
def arithmetic() -> list[Cell]:
    """Cells that need no simulation."""
    outs = leave_one_out(recomputed.published_runs(recomputed.PREDICTED_WITH_MS))
    return [*recomputed.chapter(None).cells, *recomputed.table_viii(outs), *recomputed.applications()]


def test_loaded_processes_are_the_floor_of_memory_over_size() -> None:
    """All printed NL, and "about 5" of the mixed run."""
    for case in CASES:
        assert case.nl == int(str(case.row["nl"]).removeprefix("~"))


def test_all_arithmetic_comes_out_to_the_printed_digit(arithmetic: list[Cell]) -> None:
    assert not [cell for cell in arithmetic if cell.verdict == "misses"]
    judged = {cell.table for cell in arithmetic if cell.verdict == "agrees"}
    assert judged == {
        runs.DISK,
        runs.FACTORS,
        runs.SWAP_TIMES,
        runs.BLOCK_TIME,
        runs.PREDICTIONS,
        runs.APPLICATIONS,
        "facts",
    }
    doubtful = {(cell.table, *cell.row.values()) for cell in arithmetic if cell.verdict == "doubtful"}
    assert doubtful == {(runs.PREDICTIONS, 623), (runs.SWAP_TIMES, 157)}


def test_table_viii_needs_the_block_time_of_table_viii() -> None:
    """The canary: with the measured 39.8 ms of Table V instead of 40.0 ms the same check must miss."""
    outs = leave_one_out(recomputed.published_runs(39.8))
    assert sum(cell.verdict == "misses" for cell in recomputed.table_viii(outs)) > 5


def test_what_decides_a_doubt() -> None:
    chapter = recomputed.doubts(None)
    checks.doubts_have_values(chapter)
    evidence = {str(row[0]): str(row[2]) for row in chapter.tables[0].rows}
    assert "40.0 ms and n − 1: means within 0.048 s" in evidence["Tblock of Table VIII"]
    assert "0.9928 as printed and 1.0000 with 648.2" in evidence["first mean prediction of Table VIII"]
    assert "40 have the floor and 0 the ceiling" in evidence["NL = ⌈MM / PS⌉"]
    assert "0.082 to 0.097 ms if the percentages are cumulative" in evidence["Table III"]


def test_every_cell_is_computed_whether_it_is_printed_or_not(outcome: Outcome) -> None:
    cells = checks.computed(outcome, (runs.FACTORIAL, runs.SUPPLEMENT))
    assert {cell.n for cell in cells} == {2}
    assert {cell.table for cell in outcome.cells} == set(outcome.study.tables)
    kinds = {cell.kind for cell in outcome.cells if cell.table == runs.APPLICATIONS}
    assert kinds == {"arithmetic"}


def test_a_run_has_the_kind_of_its_cells(outcome: Outcome) -> None:
    """`study.toml` and the code agree on the runs that the machine was calibrated to."""
    kinds = {(case.table, tuple(case.row.values())): case.kind for case in CASES}
    for cell in checks.computed(outcome, (runs.FACTORIAL, runs.SUPPLEMENT)):
        assert cell.kind == kinds[cell.table, tuple(cell.row.values())]


def test_every_claim_has_a_condition_in_study_toml() -> None:
    assert [statement.id for statement in PAPER.statements.values() if statement.holds_if == "holds"] == []


def test_json_claims_and_report_are_complete(outcome: Outcome) -> None:
    checks.json_has_the_fields(outcome)
    checks.claims_have_statistics(outcome)
    checks.report_is_consistent(outcome)
    titles = " ".join(figure.title for section in report(outcome).sections for figure in section.figures)
    assert {int(number) for number in re.findall(r"\(Figure (\d+)\)", titles)} == {1, 2}


@pytest.mark.parametrize("table", ["table01", "table02", "table08", "section54"])
def test_one_table_is_that_table(table: str) -> None:
    alone = run(load(NAME), Settings(replications=2, scale=0.1), table)
    assert alone.cells
    assert {cell.table[: len(table)] for cell in alone.cells} == {table}
    assert alone.claims == ()


@pytest.fixture(scope="module")
def laboratory() -> Laboratory:
    """Four replications at full length."""
    return load(NAME).begin(Settings(replications=4))


def far_off(laboratory: Laboratory, **changes: Any) -> list[str]:
    """Runs of twelve processes whose simulated elapsed time does not agree with the measured one."""
    far = []
    for case in BY_TIME:
        ours = interval(runs.of_case(laboratory, case, "elapsed_s", **changes))
        if PAPER.simulated(case.table, case.row, "elapsed_s", ours).verdict != "agrees":
            far.append(case.words)
    return far


def test_the_runs_of_twelve_processes_come_out(laboratory: Laboratory) -> None:
    """Four of the six are predictions. The mean of four runs has a standard error of one per cent.

    Where the machine is within 5 % of the measured times, another seed takes one of them beyond 10 % once in
    a hundred thousand.
    """
    assert far_off(laboratory) == []


def test_a_machine_with_one_drive_and_no_order_does_not_come_out(laboratory: Laboratory) -> None:
    """The canary: files and swap area on one drive, first come, first served, must be seen."""
    one = {"drives": 1, "swap_drive": 0, "file_drive": 0, "swap_cylinder": 201, "disk_policy": "fcfs"}
    assert len(far_off(laboratory, **one)) >= 4


def test_the_published_numbers_are_as_printed() -> None:
    """A digit of each table, from the thesis."""
    for table, key, quantity, value in (
        (runs.SWAP_TIMES, {"ps_clicks": 314}, "measured_ms", 69.8),
        (runs.BLOCK_TIME, {"quantity": "Tblock"}, "measured_ms", 39.8),
        (runs.PREDICTIONS, {"measured_elapsed_s": 1032}, "standard_deviation_s", 55.5),
    ):
        assert PAPER.printed(table, key, quantity).value == value


def test_a_scale_at_which_nothing_is_swapped_is_refused() -> None:
    study = load(NAME)
    computing = tuple(part for part in study.paper.parts if part.name == "computing")
    alone = replace(study, paper=replace(study.paper, parts=computing))
    with pytest.raises(
        InputError, match=r"scale is 0\.02, .*'computing' \(swap_time_s is nan.*larger fraction"
    ):
        run(alone, Settings(replications=2, scale=0.02))
