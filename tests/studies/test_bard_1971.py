"""Bard (1971): the arithmetic of its printed numbers, and the savings of the new free-fret."""

from __future__ import annotations

import re

import checks
import pytest

from thinktime.studies import load
from thinktime.studies.bard_1971 import free_fret, recomputed, records
from thinktime.studies.bard_1971.records import PAPER
from thinktime.studies.cells import Cell
from thinktime.studies.laboratory import Laboratory, Settings
from thinktime.studies.study import Outcome, run
from thinktime.studies.study_report import report

NAME = "bard-1971"
NOT_NUMBERS = {"tape-transfers", "divisor-of-s"}
"""Facts without a number of ours: how often records went to tape, and a formula."""


@pytest.fixture(scope="module")
def outcome() -> Outcome:
    """A hundredth of the observations of each period, and two experiments."""
    return run(load(NAME), Settings(replications=2, scale=0.01))


@pytest.fixture(scope="module")
def arithmetic() -> tuple[Cell, ...]:
    """Cells that need no simulation."""
    return recomputed.chapter(None).cells


def test_all_arithmetic_comes_out_to_the_printed_digit(arithmetic: tuple[Cell, ...]) -> None:
    assert [cell for cell in arithmetic if cell.verdict == "misses"] == []
    judged = {cell.table for cell in arithmetic if cell.verdict == "agrees"}
    part = next(part for part in PAPER.parts if part.name == "recomputed")
    assert judged == set(part.tables)
    doubtful = {
        (cell.table, *cell.row.values(), cell.quantity) for cell in arithmetic if cell.verdict == "doubtful"
    }
    assert doubtful == {
        (records.DATA_PERIODS, "II-3", "n_points"),
        (records.REGRESSION, "II-2", "adjusted_for_vmio", "theta5_ms_per_s_problem"),
        (records.SHARES_APART, "III-3", "problem_state_percent"),
    }


def test_all_cells_of_tables_8_and_9_follow_from_others(arithmetic: tuple[Cell, ...]) -> None:
    for table in (records.SHARES, records.SHARES_APART):
        published = PAPER.tables[table]
        printed = {
            (*row.values(), quantity)
            for quantity in published.shape.quantities
            for row, _ in published.printed(quantity)
        }
        assert {(*cell.row.values(), cell.quantity) for cell in arithmetic if cell.table == table} == printed


def test_table_8_needs_the_coefficients_that_are_adjusted_for_vmio() -> None:
    """The canary: from the coefficients as they were fitted the same check must miss."""
    plain = dict.fromkeys(recomputed.BEST, "vmio_not_included") | {"III-3": "vmio_included"}
    verdicts = [cell.verdict for cell in recomputed.shares(plain)]
    assert verdicts.count("misses") >= 4
    assert {cell.verdict for cell in recomputed.shares(recomputed.BEST)} == {"agrees"}


def test_what_decides_a_doubt() -> None:
    chapter = recomputed.doubts(None)
    checks.doubts_have_values(chapter)
    evidence = {str(row[0]): str(row[2]) for row in chapter.tables[0].rows}
    assert "row II-2 0.1 from II-2" in evidence["rows of Table 8"]
    assert "between 2.8 and 10.3" in evidence["phi5"]
    assert "between 24.24 and 24.34" in evidence["theta5 of II-2, adjusted"]
    assert "adds up to 7889, Table 5 to 7890" in evidence["observations of II-3"]
    assert "84 microseconds" in evidence["time that measuring free-fret takes"]
    assert "16.1 and 3.0 %" in evidence["shares of free-fret"]


def test_every_cell_is_computed_whether_it_is_printed_or_not(outcome: Outcome) -> None:
    checks.computed(outcome, {shape.name for shape in outcome.study.paper.shapes})
    assert {cell.table for cell in outcome.cells} == set(outcome.study.tables)


def test_every_fact_that_is_a_number_is_computed(outcome: Outcome) -> None:
    facts = [cell for cell in outcome.cells if cell.table == "facts"]
    names = {fact.id: name for name, fact in PAPER.facts.items()}
    assert {names[cell.row["id"]] for cell in facts} == set(PAPER.facts) - NOT_NUMBERS
    empty = {names[cell.row["id"]] for cell in facts if cell.published is None}
    assert empty == {"page-price-iii", "vsio-price-in-pages"}


def test_json_claims_and_report_are_complete(outcome: Outcome) -> None:
    checks.json_has_the_fields(outcome)
    checks.claims_have_statistics(outcome)
    checks.report_is_consistent(outcome)
    titles = " ".join(figure.title for section in report(outcome).sections for figure in section.figures)
    assert {int(number) for number in re.findall(r"\(Figure (\d+)\)", titles)} == set(range(1, 10))


def test_one_table_is_that_table() -> None:
    alone = run(load(NAME), Settings(replications=2, scale=0.01), "table10")
    assert {cell.table for cell in alone.cells} == {records.LOADS}
    assert alone.claims == ()


def saved_ms(laboratory: Laboratory, before: str) -> dict[str, float]:
    """Time in FREE and FRET that comes with a request before, less that under the new algorithm."""
    return {
        request: free_fret.time_in(laboratory, before, request).value
        - free_fret.time_in(laboratory, "new", request).value
        for request in recomputed.CALLS
    }


def test_the_new_free_fret_saves_calls_times_times() -> None:
    """Calls of a request times 516 microseconds. The regression has no error but that of whole calls.

    A VSIO has three or four calls: over more than 100 000 of them their mean is known to 0.002, which is a
    microsecond. The canary takes the new algorithm for the old one and must find nothing saved.
    """
    laboratory = load(NAME).begin(Settings(replications=2, scale=0.01))
    expected = {request: recomputed.fact(name).value * 0.516 for request, name in recomputed.CALLS.items()}
    assert saved_ms(laboratory, "old") == pytest.approx(expected, abs=0.05)
    assert saved_ms(laboratory, "new") != pytest.approx(expected, abs=0.4)


def test_the_published_numbers_are_as_printed() -> None:
    """A digit of several tables, from the paper."""
    for table, key, quantity, value in (
        (records.OMISSION, {"coefficient": "theta4", "request_type": "spool_io"}, "without_vmio", 16.5),
        (records.REGRESSION, {"data_set": "II-3", "variant": "vmio_not_included"}, "r2", 0.90),
        (records.LOADS, {"active_users_low": 3, "active_users_high": 4}, "iii_3", 3598.0),
        (records.EXPERIMENT, {"variable": "cp_time"}, "old_free_fret", 21.3),
    ):
        assert PAPER.printed(table, key, quantity).value == value
