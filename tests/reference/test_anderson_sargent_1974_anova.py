"""Anderson and Sargent (1974), Tables 3 and 5 to 8: mean squares and F ratios from the printed cells."""

import csv
from pathlib import Path

import numpy as np
import pytest

import thinktime
from thinktime.stats.designs.anova import effects_of_means
from thinktime.stats.designs.contrasts import (
    Component,
    Contrast,
    contrast,
    orthogonal_polynomials,
    polynomial_contrasts,
)
from thinktime.stats.designs.factorial import CellMeans, Factor
from thinktime.stats.estimate import NotApplicable

PUBLISHED = Path(thinktime.__file__).parent / "studies" / "anderson_sargent_1974" / "published"
REPLICATIONS = 8


def table(name):
    with (PUBLISHED / f"{name}.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def printed_anova(name):
    """Mean square and F of each effect as printed, with the place of the last digit of each."""
    rows = {}
    for row in table(name):
        texts = (row["mean_square"], row["f_ratio"])
        rows[row["effect"]] = tuple((float(text), last_digit(text)) for text in texts if text)
    return rows


def last_digit(text):
    return 10.0 ** -len(text.partition(".")[2])


USERS = Factor("users", (26, 30, 35))
RATE = Factor("rate", (1.36, 1.62, 1.88))
EFFECTS = {
    "linear_U": {"users": 1},
    "quadratic_U": {"users": 2},
    "linear_I": {"rate": 1},
    "quadratic_I": {"rate": 2},
    "linear_U_x_linear_I": {"users": 1, "rate": 1},
    "quadratic_U_x_linear_I": {"users": 2, "rate": 1},
    "linear_U_x_quadratic_I": {"users": 1, "rate": 2},
    "quadratic_U_x_quadratic_I": {"users": 2, "rate": 2},
}
SLIP = "quadratic_U"
"""Printed 0.001 and 0.11; the printed cells give 0.0115 and 1.07, ten times as much: a slip of one place."""


CELL_PLACE = 0.001
"""Last digit of the printed cell means."""


@pytest.fixture(scope="module")
def table_3():
    rows = table("table03_log_reaction_cells")
    levels = sorted({row["active_users_low"] for row in rows}, key=float)
    assert [row["active_users_low"] for row in rows] == [level for level in levels for _ in range(3)]
    means = np.array([float(row["mean_log10_reaction"]) for row in rows]).reshape(3, 3)
    ((error, _),) = printed_anova("table03_anova")["error"]
    return published((USERS, RATE), means, error)


def published(factors, means, error):
    return CellMeans.published(factors, means, replications=REPLICATIONS, error_mean_square=error)


def components(degrees):
    # The paper's coefficients are -1, 0, 1 and 1, -2, 1: the levels count as equally far apart.
    rows = orthogonal_polynomials([1, 2, 3])
    return [
        Component(factor=name, degree=degree, coefficients=rows[degree - 1])
        for name, degree in degrees.items()
    ]


def mean_squares(cells, effect):
    """Least and largest mean square that cell means which round to the printed ones can give."""
    coefficients = [np.ones(3), np.ones(3)]
    for part in components(EFFECTS[effect]):
        coefficients[cells.position(part.factor)] = np.array(part.coefficients)
    weights = np.outer(*coefficients)
    value, reach = abs((weights * cells.means).sum()), CELL_PLACE / 2 * np.abs(weights).sum()
    scale = REPLICATIONS / (weights**2).sum()
    return scale * max(value - reach, 0.0) ** 2, scale * (value + reach) ** 2


def test_table_3_contrasts_are_the_formula_of_the_paper(table_3):
    """SS = 8 (sum c ybar)^2 / sum c^2, here with c = -1, 0, 1 on the users."""
    low, _, high = table_3.means.sum(axis=1)
    found = contrast(table_3, components(EFFECTS["linear_U"]))
    assert found.squares == pytest.approx(REPLICATIONS * (high - low) ** 2 / 6, rel=1e-12)
    assert found.estimate.value == pytest.approx((high - low) / 3, rel=1e-12)


@pytest.mark.parametrize("effect", [effect for effect in EFFECTS if effect != SLIP])
def test_table_3_mean_squares_and_f_ratios(table_3, effect):
    """As printed, within the rounding of the printed cells, mean squares and F."""
    rows = printed_anova("table03_anova")
    (square, square_place), (f, f_place) = rows[effect]
    least, most = mean_squares(table_3, effect)
    assert least - square_place / 2 <= square <= most + square_place / 2
    # The error, printed 0.011, is known to more places by the largest F: it is MS / 7.90 of linear U.
    (_, _), (largest, largest_place) = rows["linear_U"]
    lowest, highest = mean_squares(table_3, "linear_U")
    errors = lowest / (largest + largest_place / 2), highest / (largest - largest_place / 2)
    assert errors[0] <= 0.0115
    assert errors[1] >= 0.0105
    assert least / errors[1] - f_place / 2 <= f <= most / errors[0] + f_place / 2


@pytest.mark.parametrize("effect", EFFECTS)
def test_table_3_only_the_linear_effect_of_users_is_significant(table_3, effect):
    """F tests at 5 percent with 1 and 9 x 7 degrees of freedom."""
    assert table_3.error_degrees == 63
    found = contrast(table_3, components(EFFECTS[effect]))
    assert (found.p < 0.05) == (effect == "linear_U")


def test_table_3_the_printed_quadratic_effect_of_users_is_a_slip(table_3):
    """The canary: what was printed wrong does not agree, and agrees when its point is moved by one place."""
    (square, _), (f, _) = printed_anova("table03_anova")[SLIP]
    least, most = mean_squares(table_3, SLIP)
    assert least > 10 * square
    assert least < 0.0115 < most
    assert least / 0.0108 < 10 * f < most / 0.0107


def test_table_3_contrasts_share_out_all_that_is_between_cells(table_3):
    """Eight orthogonal contrasts are the eight degrees of freedom between nine cells."""
    whole = sum(effect.squares for effect in effects_of_means(table_3))
    parts = sum(contrast(table_3, components(degrees)).squares for degrees in EFFECTS.values())
    assert parts == pytest.approx(whole, rel=1e-12)
    by_levels = polynomial_contrasts(table_3)
    assert len(by_levels) == 8
    assert sum(found.squares for _, found in by_levels) == pytest.approx(whole, rel=1e-12)


ALGORITHM = Factor("algorithm", ("modified", "fb2", "fb_inf"))
REGIONS = Factor("resident_workspaces", (3, 4))
SLICE = Factor("time_slice_s", (0.1, 0.2))
DESIGN = (ALGORITHM, REGIONS, SLICE)
TABLES = {
    5: ("table05_queued_workspaces", "avg_queued_workspaces"),
    6: ("table06_inputs_serviced", "avg_inputs_serviced_per_10_min"),
    7: ("table07_reaction_time", "avg_reaction_s"),
    8: ("table08_response_time", "avg_response_s"),
}


def cells_of(number):
    """Cells as far as they are known."""
    name, value = TABLES[number]
    means = np.full((3, 2, 2), np.nan)
    for row in table(name):
        where = (
            ALGORITHM.levels.index(row["algorithm"]),
            REGIONS.levels.index(int(row["resident_workspaces"])),
            SLICE.levels.index(float(row["time_slice_s"])),
        )
        means[where] = float(row[value]) if row[value] else np.nan
    ((error, _), *_) = printed_anova(f"table0{number}_anova")["error"]
    return published(DESIGN, means, error)


@pytest.mark.parametrize("number", TABLES)
def test_tables_5_to_8_each_f_is_its_mean_square_over_the_error(number):
    """Within the rounding of the three printed numbers."""
    rows = printed_anova(f"table0{number}_anova")
    error, error_place = rows.pop("error")[0]
    assert rows
    for effect, ((square, square_place), (f, f_place)) in rows.items():
        least = (square - square_place / 2) / (error + error_place / 2) - f_place / 2
        most = (square + square_place / 2) / (error - error_place / 2) + f_place / 2
        assert least <= f <= most, effect


@pytest.mark.parametrize("number", TABLES)
def test_tables_5_to_8_contrasts_that_need_an_unknown_cell_say_which(number):
    cells = cells_of(number)
    known = []
    for parts, found in polynomial_contrasts(cells):
        if isinstance(found, Contrast):
            known.append(parts)
        else:
            assert isinstance(found, NotApplicable)
            assert "algorithm = " in found.reason
    assert not known  # every contrast of this design averages over cells that are left out


@pytest.mark.parametrize(("number", "effect"), [(5, "A_linear"), (6, "A_linear"), (8, "A_linear")])
def test_tables_5_to_8_the_known_cells_agree_with_the_effect_of_the_algorithm(number, effect):
    """A' over the three pairs of cells that are known, in place of four, has the size that is printed.

    The fourth pair could differ: no more is asked than that three quarters of the squares are within a
    quarter of the printed mean square.
    """
    cells = cells_of(number)
    ends = cells.means[[0, 2]]
    known = ~np.isnan(ends).any(axis=0)
    assert known.sum() == 3
    mean = float((ends[1] - ends[0])[known].mean())
    squares = REPLICATIONS * (4 * mean) ** 2 / 8
    (square, _), _ = printed_anova(f"table0{number}_anova")[effect]
    assert squares == pytest.approx(square, rel=0.25)


def test_the_rule_of_ten_keeps_the_effects_that_the_paper_names():
    """Below Table 5: an effect counts if its mean square is an order of magnitude above the error's."""
    counted = {}
    for number in TABLES:
        rows = printed_anova(f"table0{number}_anova")
        (error, _) = rows.pop("error")[0]
        counted[number] = {effect for effect, ((square, _), _) in rows.items() if square >= 10 * error}
    assert counted[5] == {"A_linear", "A_quadratic", "C_linear"}
    assert counted[6] == {"A_linear", "C_linear"}
    assert counted[7] == {"B_linear", "C_linear", "B_x_C"}
    assert counted[8] == {"A_linear", "A_quadratic"}
