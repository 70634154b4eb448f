"""The arithmetic of Anderson and Sargent (1974): what their printed numbers say of each other."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from thinktime.documents.document import Section
from thinktime.documents.render import render_section
from thinktime.stats.designs.anova import anova
from thinktime.stats.designs.factorial import Factor, Responses
from thinktime.studies import STUDIES, load, published_tables
from thinktime.studies.anderson_sargent_1974 import experiment, recomputed
from thinktime.studies.anderson_sargent_1974.runs import PAPER
from thinktime.studies.cells import Cell
from thinktime.studies.estimates import rounded
from thinktime.studies.paper import Paper
from thinktime.studies.published import Printed

GOLDEN = Path(__file__).parent / "golden"
TABLES = next(part.tables for part in PAPER.parts if part.name == "recomputed")


@pytest.fixture(scope="module")
def cells() -> list[Cell]:
    return list(recomputed.chapter(None).cells)


def of(cells: list[Cell], table: str, quantity: str) -> dict[str, Cell]:
    return {
        str(next(iter(cell.row.values()))): cell
        for cell in cells
        if (cell.table, cell.quantity) == (table, quantity)
    }


def test_every_analysis_of_variance_follows_from_the_printed_numbers(cells: list[Cell]) -> None:
    """Where all cells are printed, their mean squares; everywhere, F as mean square over error."""
    squares = of(cells, "table03_anova", "mean_square")
    assert len(squares) == 8
    assert {name for name, cell in squares.items() if cell.verdict != "agrees"} == {"quadratic_U"}
    assert squares["quadratic_U"].ours == pytest.approx(0.0115, abs=5e-5)
    for table, effects in (("table05", 4), ("table06", 3), ("table07", 3), ("table08", 3)):
        ratios = of(cells, f"{table}_anova", "f_ratio")
        assert len(ratios) == effects
        assert {cell.verdict for cell in ratios.values()} == {"agrees"}


def test_the_moments_of_all_inputs_need_another_share(cells: list[Cell]) -> None:
    mean = of(cells, "table01_service_times", "mean_s")["all"]
    assert mean.verdict == "doubtful"
    assert mean.ours == pytest.approx(1.881, abs=5e-4)


def test_numbers_that_contradict_each_other_are_found(cells: list[Cell]) -> None:
    contradicting = {
        (cell.table, *cell.row.values(), cell.quantity)
        for cell in cells
        if cell.verdict in {"misses", "doubtful"}
    }
    assert contradicting == {
        ("table01_service_times", "output_bound", "coeff_of_var"),
        ("table01_service_times", "all", "mean_s"),
        ("table01_service_times", "all", "variance_s2"),
        ("table01_service_times", "all", "skew"),
        ("table03_anova", "quadratic_U", "mean_square"),
        ("table03_anova", "quadratic_U", "f_ratio"),
        ("table09_response_histogram", 5, "fb_inf", 3, 0.1, "fraction"),
        ("table09_response_histogram", 5, "fb_inf", 3, 0.2, "fraction"),
        ("table09_response_histogram", 15, "fb_inf", 3, 0.2, "fraction"),
    }


def test_a_wrong_digit_in_a_cell_is_seen(tmp_path: Path) -> None:
    """The canary: the same check on a table with one digit changed must miss."""
    shutil.copytree(PAPER.folder / "published", tmp_path / "published")
    shutil.copy(PAPER.folder / "study.toml", tmp_path)
    path = tmp_path / "published" / "table03_log_reaction_cells.csv"
    path.write_text(path.read_text(encoding="utf-8").replace("0.077", "0.177"), encoding="utf-8")
    changed = recomputed.mean_squares(Paper.read(tmp_path))
    squares = of(list(changed), "table03_anova", "mean_square")
    assert squares["linear_U"].verdict == "misses"


def test_the_regression_describes_its_own_periods_only_as_read_here() -> None:
    table, _ = recomputed.chapter(None).tables
    measured, printed, read_here = (np.array([row[at] for row in table.rows]) for at in (1, 2, 3))
    assert np.abs(printed - measured).max() > 4.0
    assert np.abs(read_here - measured).max() < 0.07


def test_table_6_counts_inputs_taken_up() -> None:
    """Short compute transactions are one part of the printed inputs, whatever queue the cell leaves undone.

    3433 / 0.952 = 3606.1, 3505 / 0.972 = 3606.0 and 3544 / 0.982 = 3609.0 of 8 x 553.5 inputs are 0.8144. Had
    only completed inputs been counted, the cell with 15.2 in the queue would have a larger part than that
    with 13.2.
    """
    _, table = recomputed.chapter(None).tables
    parts = {row[0]: row[-1] for row in table.rows}
    assert len(parts) == 6
    assert parts["modified, 3, 0.1 s"] == pytest.approx(3606.1 / (8 * 553.5), abs=1e-4)
    assert max(parts.values()) - min(parts.values()) < 0.0035
    assert {0.812 < part < 0.817 for part in parts.values()} == {True}


def test_rounding_reaches_as_far_as_the_corners() -> None:
    """The product of 2.0 and 3.0, each within 0.05, lies between 1.95 x 2.95 and 2.05 x 3.05."""
    product = rounded(lambda a, b: a * b, [Printed(2.0, 1), Printed(3.0, 1)])
    assert product.low is not None
    assert product.high is not None
    assert product.value == 6.0
    assert product.low <= 1.95 * 2.95 + 0.0025 + 1e-12
    assert product.high >= 2.05 * 3.05 - 0.0025 - 1e-12


def test_the_quick_error_mean_square_is_that_of_the_analysis() -> None:
    random = np.random.default_rng(1)
    y = random.normal(size=(3, 2, 2, 8)) + random.normal(size=8)
    factors = [
        Factor("algorithm", ("a", "b", "c")),
        Factor("regions", (3, 4)),
        Factor("slice", (0.1, 0.2)),
    ]
    slow = anova(Responses.of_cells(factors, y, blocked=True))
    # All interactions of the treatments are in the model of both.
    assert experiment._blocked_error(y) == pytest.approx(slow.error_mean_square, rel=1e-12)


def test_effects_are_scaled_to_eight_replications() -> None:
    """Linear effect of the algorithm: 8 L^2 / sum c^2, L the last less the first over eight cells."""
    random = np.random.default_rng(2)
    y = random.normal(size=(3, 2, 2, 32))
    y[2] += 5.0
    found = experiment.Analysis.of(y, seed=1)
    contrast = float((y[2] - y[0]).mean(axis=-1).sum())
    assert found.squares["A_linear"].value == pytest.approx(8 * contrast**2 / 8)
    assert found.counting() == ["A_linear", "A_quadratic"]
    low, high = found.f["A_linear"].low, found.f["A_linear"].high
    assert low is not None
    assert high is not None
    assert low < found.f["A_linear"].value < high


def test_golden(cells: list[Cell], request: pytest.FixtureRequest) -> None:
    """Did it change? Whether it is right is asked by the other tests. `--update-golden` writes it anew."""
    shown = [
        table
        for name in TABLES
        for table in published_tables.tables(name, name, [cell for cell in cells if cell.table == name])
    ]
    text = render_section(
        Section(name="recomputed", title="Recomputed", summary=(), tables=tuple(shown)), "text"
    )
    path = GOLDEN / "anderson-sargent-1974-recomputed.txt"
    if request.config.getoption("--update-golden"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert path.exists(), f"{path}: run pytest {__file__} --update-golden"
    assert path.read_text(encoding="utf-8") == text


@pytest.mark.parametrize("name", STUDIES)
def test_a_doubt_belongs_to_a_printed_cell(name: str) -> None:
    paper = load(name).paper
    for doubt in paper.doubts:
        where = {key: value if isinstance(value, list) else [value] for key, value in doubt.where.items()}
        if doubt.table == "facts":
            assert set(where["id"]) <= set(paper.facts)
            continue
        rows = [row for row in paper.rows(doubt.table) if all(row[key] in where[key] for key in where)]
        for key, values in where.items():
            assert {row[key] for row in rows} == set(values), doubt
        for quantity in doubt.quantities:
            assert all(paper.tables[doubt.table].cell(row, quantity) is not None for row in rows), doubt


def test_a_cell_takes_unit_digits_and_doubt_from_its_table(cells: list[Cell]) -> None:
    fraction = next(cell for cell in cells if cell.table == "table09_response_histogram")
    assert (fraction.unit, fraction.places, fraction.published) == ("", 3, 0.952)
    assert replace(fraction, ours=1.0, low=None, high=None).verdict == "misses"
