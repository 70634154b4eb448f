"""Analysis of variance against the certified values of NIST's Statistical Reference Datasets.

The files are those that SciPy's own tests carry. In each group of three of SmLs01 to SmLs09 the values
have 1, 7 and 13 leading digits in common, and 21, 201 and 2001 replications.
"""

import math
from decimal import Decimal
from fractions import Fraction
from importlib import resources

import numpy as np
import pytest

from thinktime.stats.designs.anova import anova, one_way
from thinktime.stats.designs.factorial import Factor, Responses

FOLDER = resources.files("scipy.stats.tests") / "data" / "nist_anova"

NAMES = ["SiRstv", "AtmWtAg", *(f"SmLs0{number}" for number in range(1, 10))]

DIGITS = {"SiRstv": 13, "AtmWtAg": 10, **dict.fromkeys(["SmLs01", "SmLs02", "SmLs03"], 13)}
DIGITS |= dict.fromkeys(["SmLs04", "SmLs05", "SmLs06"], 9) | dict.fromkeys(["SmLs07", "SmLs08", "SmLs09"], 3)
"""Right digits that double precision leaves: the rounding of the data costs as many as they share."""


def certified(lines):
    """Degrees, sums of squares, F, R squared and residual standard deviation."""
    between = next(line.split() for line in lines if line.startswith("Between"))
    within = next(line.split() for line in lines if line.startswith("Within"))
    r_squared = next(line.split() for line in lines if "Certified R-Squared" in line)
    deviation = next(line.split() for line in lines if "Standard Deviation" in line)
    return {
        "degrees": (int(between[-4]), int(within[-3])),
        "between": float(between[-3]),
        "f": float(between[-1]),
        "within": float(within[-2]),
        "r_squared": float(r_squared[-1]),
        "deviation": float(deviation[-1]),
    }


def read(name):
    """Certified values and the data as they are printed, in groups."""
    lines = (FOLDER / f"{name}.dat").read_text().splitlines()
    first = next(at for at, line in enumerate(lines) if line.startswith("Data:") and at > 50)
    groups: dict[str, list[str]] = {}
    for line in lines[first + 1 :]:
        if line.strip():
            group, value = line.split()
            groups.setdefault(group, []).append(value)
    return certified(lines), list(groups.values())


def right_digits(found, true):
    return 15.0 if found == true else -math.log10(abs(found - true) / abs(true))


def figures(result):
    return {
        "between": result.effects[0].squares,
        "within": result.error.squares,
        "f": result.effects[0].f,
        "r_squared": result.r_squared,
        "deviation": math.sqrt(result.error_mean_square),
    }


def least_digits(result, true):
    return min(right_digits(value, true[name]) for name, value in figures(result).items())


def exact_sums(groups):
    """Sums of squares between and within, of the doubles as they are, in exact fractions."""
    exact = [[Fraction(float(value)) for value in group] for group in groups]
    every = [value for group in exact for value in group]
    mean = sum(every) / len(every)
    means = [sum(group) / len(group) for group in exact]
    between = sum(len(group) * (own - mean) ** 2 for group, own in zip(exact, means, strict=True))
    within = sum((value - own) ** 2 for group, own in zip(exact, means, strict=True) for value in group)
    return float(between), float(within)


def responses(groups):
    """The same as a design of one factor, for the general analysis."""
    codes = np.repeat(np.arange(len(groups)), [len(group) for group in groups])[:, None]
    factor = Factor("group", tuple(range(len(groups))))
    return Responses(
        factors=(factor,), codes=codes, y=np.array([float(value) for group in groups for value in group])
    )


@pytest.mark.parametrize("name", NAMES)
def test_certified_values(name):
    true, groups = read(name)
    floats = [[float(value) for value in group] for group in groups]
    for result in (one_way(floats), anova(responses(groups))):
        assert (result.effects[0].degrees, result.error.degrees) == true["degrees"]
        assert least_digits(result, true) >= DIGITS[name]


@pytest.mark.parametrize("name", NAMES)
def test_all_digits_that_the_rounded_data_have(name):
    """Against exact arithmetic on the same doubles, 12 digits are right however many they share.

    Only of SmLs03, 06 and 09, 18 009 values each, fractions take too long: every ninth value stands for them.
    """
    _, groups = read(name)
    step = 9 if sum(map(len, groups)) > 10_000 else 1
    thinned = [group[::step] for group in groups]
    between, within = exact_sums(thinned)
    for result in (one_way([[float(v) for v in group] for group in thinned]), anova(responses(thinned))):
        assert right_digits(result.effects[0].squares, between) >= 12
        assert right_digits(result.error.squares, within) >= 12


@pytest.mark.parametrize("name", NAMES)
def test_the_digits_lost_are_those_of_the_data_not_of_the_method(name):
    """With the leading digits taken off in decimal, before rounding, 13 digits are right."""
    true, groups = read(name)
    leading = Decimal(groups[0][0]).to_integral_value()
    shifted = [[float(Decimal(value) - leading) for value in group] for group in groups]
    assert least_digits(one_way(shifted), true) >= (13 if name.startswith("SmLs") else 12)


def test_one_pass_sums_of_squares_fail_where_these_do_not():
    """The canary: sums of squares as differences of large numbers, as in desk calculation."""
    true, groups = read("SmLs07")
    values = [np.array([float(value) for value in group]) for group in groups]
    every = np.concatenate(values)
    correction = every.sum() ** 2 / len(every)
    between = sum(group.sum() ** 2 / len(group) for group in values) - correction
    assert not right_digits(between, true["between"]) >= DIGITS["SmLs07"]
