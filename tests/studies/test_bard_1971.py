"""Bard (1971): the arithmetic of its printed numbers, and that every cell and finding is computed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from checks import (
    claims_have_statistics,
    computed,
    doubts_have_values,
    json_has_the_fields,
)

from thinktime.documents.render import render
from thinktime.sources import simulated
from thinktime.studies import load
from thinktime.studies.bard_1971 import doubts, free_fret, recomputed, tables
from thinktime.studies.bard_1971 import installation as installation_of
from thinktime.studies.bard_1971.installation import Installation
from thinktime.studies.bard_1971.tables import PAPER
from thinktime.studies.cells import Cell
from thinktime.studies.laboratory import Settings
from thinktime.studies.study import Outcome, run
from thinktime.studies.study_report import report

NAME = "bard-1971"
OBSERVATIONS = 100
"""Of each period, instead of thousands: what is asked here is whether all is computed."""
NOT_NUMBERS = {"B-F02", "B-F05"}
"""Facts without a number of ours: how often records went to tape, and a formula."""


WHOLE = {
    tables.RECORDED,
    tables.DERIVED,
    tables.DATA_PERIODS,
    tables.DISPATCH,
    tables.RATES,
    tables.LOADS,
}
"""Tables of which all was given to the machine, or calibrated to."""
ENVIRONMENT = {
    *(
        (period, name)
        for period in ("II-2", "II-3")
        for name in ("theta0_ms_per_s", "theta3_ms_per_page_io", "theta5_ms_per_s_problem")
    ),
    ("III-3", "theta4_ms_per_spool_io"),
}
"""Cells of Table 5 to which users, the path of a page in version II, and lines in a block were set."""
FULL = simulated.record


def short(system: str, parameters: Mapping[str, Any], path: Path, **more: Any) -> dict[str, float | None]:
    """Record less than is asked for."""
    less = {"first_shift": 4} if "schedule" in parameters else {"observations": OBSERVATIONS}
    return FULL(system, {**parameters, **less}, path, **more)


@pytest.fixture(scope="module")
def outcome() -> Iterator[Outcome]:
    """A short record of each period, and two experiments with few users."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(simulated, "record", short)
        yield run(load(NAME), Settings(seed=1, replications=2))


@pytest.fixture(scope="module")
def arithmetic() -> tuple[Cell, ...]:
    """What needs no simulation."""
    return recomputed.chapter(None).cells


def test_every_published_file_is_read_with_all_of_its_rows() -> None:
    rows = {name: len(table.rows) for name, table in PAPER.tables.items()}
    files = {path.stem: len(path.read_text().splitlines()) - 1 for path in tables.FOLDER.glob("*.csv")}
    assert rows == {name: count for name, count in files.items() if name != "facts"}
    assert len(PAPER.facts) == files["facts"] == 43


def test_all_arithmetic_comes_out_to_the_printed_digit(arithmetic: tuple[Cell, ...]) -> None:
    assert [figure for figure in arithmetic if figure.verdict == "misses"] == []
    judged = {figure.table for figure in arithmetic if figure.verdict == "agrees"}
    assert judged == set(recomputed.TABLES)
    doubtful = {
        (figure.table, *figure.row.values(), figure.quantity)
        for figure in arithmetic
        if figure.verdict == "doubtful"
    }
    assert doubtful == {
        (tables.DATA_PERIODS, "II-3", "n_points"),
        (tables.REGRESSION, "II-2", "adjusted_for_vmio", "theta5_ms_per_s_problem"),
        (tables.SHARES_APART, "III-3", "problem_state_percent"),
    }


def test_all_cells_of_tables_8_and_9_follow_from_others(arithmetic: tuple[Cell, ...]) -> None:
    for table, cells in ((tables.SHARES, 13), (tables.SHARES_APART, 6)):
        assert sum(figure.table == table for figure in arithmetic) == cells


def test_table_8_needs_the_coefficients_that_are_adjusted_for_vmio(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The canary: from the coefficients as they were fitted the same check must miss."""
    plain = dict.fromkeys(recomputed.BEST, "vmio_not_included") | {"III-3": "vmio_included"}
    monkeypatch.setattr(recomputed, "BEST", plain)
    figures = recomputed.chapter(None).cells
    misses = [figure for figure in figures if figure.table == tables.SHARES and figure.verdict == "misses"]
    assert len(misses) >= 4


def test_every_doubt_is_told_with_figures() -> None:
    doubts_have_values(doubts.chapter(None))


def test_what_decides_a_doubt() -> None:
    said = {str(row[0]): str(row[2]) for row in doubts.chapter(None).tables[0].rows}
    assert "row II-2 is at most so many points off: 0.1 from II-2" in said["rows of Table 8"]
    assert "between 2.8 and 10.3" in said["phi5"]
    assert "between 24.24 and 24.34" in said["theta5 of II-2, adjusted"]
    assert "adds to 7889, Table 5 to 7890" in said["observations of II-3"]
    assert "84 microseconds" in said["time that measuring free-fret takes"]
    assert "16.1 and 3.0 %" in said["shares of free-fret"]


def test_every_cell_is_computed_whether_it_is_printed_or_not(outcome: Outcome) -> None:
    assert len(computed(outcome, {shape.name for shape in outcome.study.shapes})) == 183
    assert {figure.table for figure in outcome.cells} == set(outcome.study.tables)


def test_every_fact_that_is_a_number_is_computed(outcome: Outcome) -> None:
    found = {figure.row["id"] for figure in outcome.cells if figure.table == "facts"}
    assert found == set(PAPER.facts) - NOT_NUMBERS
    empty = {
        figure.row["id"] for figure in outcome.cells if figure.table == "facts" and figure.published is None
    }
    assert empty == {"B-F13", "B-F15"}


def test_only_what_was_calibrated_to_is_called_fitted(outcome: Outcome) -> None:
    for figure in outcome.cells:
        if figure.kind == "arithmetic" or figure.table == "facts":
            continue
        calibrated = (
            figure.table in WHOLE
            or figure.row.get("variant") == "vmio_included"
            or figure.quantity in {"with_vmio", "cp_iii_new_free_fret"}
            or (figure.table, figure.row.get("request_type")) == (tables.OMISSION, "spool_io")
            or (figure.quantity, figure.row.get("request_type")) == ("cp_ii_old_free_fret", "page_io")
            or (figure.row.get("data_set"), figure.quantity) in ENVIRONMENT
        )
        assert figure.kind == ("fitted" if calibrated else "predicted"), figure


def test_json_has_exactly_the_fields_of_figures_and_findings(outcome: Outcome) -> None:
    json_has_the_fields(outcome)


def test_every_finding_has_a_name_of_its_own_and_a_statistic(outcome: Outcome) -> None:
    claims_have_statistics(outcome)


def test_all_nine_figures_are_drawn_and_no_table_stands_for_another(outcome: Outcome) -> None:
    document = report(outcome)
    titles = " ".join(figure.title for section in document.sections for figure in section.figures)
    assert {int(number) for number in re.findall(r"\(Figure (\d+)\)", titles)} == set(range(1, 10))
    names = [table.name for _, table in document.tables()]
    assert len(names) == len(set(names))
    sections = {section.name for section in document.sections}
    assert {finding.section for finding in document.findings} <= sections | {""}
    assert "nan" not in re.findall(r"\b\w+\b", render(document, "text"))


def test_one_table_is_that_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulated, "record", short)
    monkeypatch.setitem(globals(), "OBSERVATIONS", 60)
    alone = run(load(NAME), Settings(replications=2), "table10")
    assert {figure.table for figure in alone.cells} == {tables.LOADS}
    assert alone.claims == ()


def saved_ms(installation: Installation, before: str) -> dict[str, float]:
    """How much less time in FREE and FRET comes with a request under the new algorithm."""
    return {
        request: free_fret.time_in(installation, before, request).value
        - free_fret.time_in(installation, "new", request).value
        for request in recomputed.CALLS
    }


def test_the_new_free_fret_saves_calls_times_times(monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls of a request times 516 microseconds. The regression has no error but that of whole calls.

    A VSIO has three or four calls: over more than 100 000 of them their mean is known to 0.002, which is a
    microsecond. The canary takes the new algorithm for the old one and must find nothing saved.
    """
    monkeypatch.setattr(simulated, "record", short)
    monkeypatch.setattr(installation_of, "PERIODS", ("III-3",))
    installation = Installation(Settings(seed=1))
    expected = {request: recomputed.fact(name).value * 0.516 for request, name in recomputed.CALLS.items()}
    assert saved_ms(installation, "old") == pytest.approx(expected, abs=0.05)
    assert saved_ms(installation, "new") != pytest.approx(expected, abs=0.4)


def test_the_published_numbers_are_as_printed() -> None:
    """A digit of several tables, from the paper."""
    for table, key, quantity, value in (
        (tables.OMISSION, {"coefficient": "theta4", "request_type": "spool_io"}, "without_vmio", 16.5),
        (tables.REGRESSION, {"data_set": "II-3", "variant": "vmio_not_included"}, "r2", 0.90),
        (tables.LOADS, {"active_users_low": 3, "active_users_high": 4}, "iii_3", 3598.0),
        (tables.EXPERIMENT, {"variable": "cp_time"}, "old_free_fret", 21.3),
    ):
        cell = PAPER.tables[table].cell(key, quantity)
        assert cell is not None
        assert cell.value == value
