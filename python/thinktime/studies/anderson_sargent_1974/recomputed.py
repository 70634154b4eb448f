"""What the printed numbers say of each other: nothing here is simulated."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Sequence
from math import log10, sqrt

from thinktime.documents.document import Column, Table
from thinktime.stats.designs.contrasts import orthogonal_polynomials
from thinktime.stats.estimate import Estimate
from thinktime.studies.anderson_sargent_1974.tables import F_RATIOS_OF_THE_TEXT, PAPER, REGRESSION_READING
from thinktime.studies.cells import Cell, Row, Tolerance
from thinktime.studies.old_paper import rounded
from thinktime.studies.published import Printed
from thinktime.studies.study import Chapter

__all__ = ["TABLES", "chapter"]

TABLES = (
    "table01_service_times",
    "table03_anova",
    "table05_anova",
    "table06_anova",
    "table07_anova",
    "table08_anova",
    "table09_response_histogram",
    "facts",
)
DIGITS = Tolerance("digits")
ABOUT = Tolerance("relative", 0.05)
"""What "approximately" is taken to mean."""
REPLICATIONS = 8
CLASSES = ("compute", "command", "output_bound")
THREE = orthogonal_polynomials((1, 2, 3))
"""Linear and quadratic contrast of three levels."""
SHARES = ("input_class", "percent_of_inputs")

_LAST_DIGIT = (
    "Where a fraction misses by one in its last digit, count and fraction were printed with different totals."
)
USERS = 35
INPUT_RATE_PER_MIN = 1.62
"""Inputs a minute and user in the middle level of Table 3, from which W_F = L_F / lambda_F follows."""


def chapter(_: object) -> Chapter:
    """Every printed number that follows from other printed numbers."""
    figures = (*_service_times(), *_table_3(), *_f_ratios(), *_fractions(), *_facts())
    table, regression = _regression()
    summary = (
        "A recomputed figure agrees where the printed one lies within what the rounding of its "
        "inputs allows.",
        "Tables 5 to 8 print half of their cells; their mean squares need the others, so of these "
        "analyses of variance only the F ratios can be checked.",
        regression,
    )
    notes = {"table09_response_histogram": (_LAST_DIGIT,)}
    method = (
        "Standard deviation, coefficient of variation, and the moments of the mixture of the three classes "
        "(Table 1); sums of squares 8 (Σ c ȳ)² / Σ c² of polynomial contrasts of the printed cells "
        "(Table 3); F = mean square / error mean square (Tables 3 and 5 to 8); count over the total that "
        "the three limits imply together (Table 9)."
    )
    return Chapter(cells=figures, claims=(), summary=summary, tables=(table,), notes=notes, method=method)


def _printed(table: str, row: Row, quantity: str) -> Printed:
    cell = PAPER.tables[table].cell(row, quantity)
    if cell is None:
        raise KeyError(f"{table}: {row} has no {quantity}")
    return cell


def _service_times() -> Iterator[Cell]:
    name = "table01_service_times"

    def printed(row: str, quantity: str) -> Printed:
        return _printed(name, {"input_class": row}, quantity)

    for row in ("all", *CLASSES):
        key = {"input_class": row}
        spread = rounded(sqrt, [printed(row, "variance_s2")], "s")
        yield PAPER.cell(name, key, "std_dev_s", spread, "arithmetic", DIGITS)
        ratio = rounded(lambda sd, mean: sd / mean, [printed(row, "std_dev_s"), printed(row, "mean_s")])
        yield PAPER.cell(name, key, "coeff_of_var", ratio, "arithmetic", DIGITS)
    inputs = [
        printed(row, quantity)
        for row in CLASSES
        for quantity in ("percent_of_inputs", "mean_s", "std_dev_s", "skew")
    ]
    for moment, quantity in enumerate(("mean_s", "variance_s2", "skew")):
        mixed = rounded(_mixture(moment), inputs)
        yield PAPER.cell(name, {"input_class": "all"}, quantity, mixed, "arithmetic", DIGITS)


def _mixture(moment: int) -> Callable[..., float]:
    """Mean, variance or skew of a mixture, of share, mean, standard deviation and skew of each class."""

    def value(*numbers: float) -> float:
        parts = [numbers[at : at + 4] for at in range(0, len(numbers), 4)]
        whole = sum(part[0] for part in parts)
        raw = [0.0, 0.0, 0.0]
        for share, mean, sd, skew in parts:
            weight = share / whole
            raw[0] += weight * mean
            raw[1] += weight * (sd**2 + mean**2)
            raw[2] += weight * (skew * sd**3 + 3 * mean * sd**2 + mean**3)
        variance = raw[1] - raw[0] ** 2
        third = raw[2] - 3 * raw[0] * raw[1] + 2 * raw[0] ** 3
        return (raw[0], variance, third / variance**1.5)[moment]

    return value


def _table_3() -> Iterator[Cell]:
    """Mean squares of the polynomial contrasts, of users U and input rate I."""
    cells = [cell for _, cell in PAPER.tables["table03_log_reaction_cells"].printed("mean_log10_reaction")]
    error = _printed("table03_anova", {"effect": "error"}, "mean_square")
    flat = (1.0, 1.0, 1.0)
    powers = {"": flat, "linear": THREE[0], "quadratic": THREE[1]}
    for users, rate in [(u, i) for u in powers for i in powers if u or i]:
        effect = "_x_".join(f"{power}_{letter}" for power, letter in ((users, "U"), (rate, "I")) if power)
        weights = [u * i for u in powers[users] for i in powers[rate]]
        row = {"effect": effect}
        squares = rounded(_squares(weights), cells)
        yield PAPER.cell("table03_anova", row, "mean_square", squares, "arithmetic", DIGITS)
        ratio = rounded(_ratio(weights), [*cells, error])
        yield PAPER.cell("table03_anova", row, "f_ratio", ratio, "arithmetic", DIGITS)


def _squares(weights: Sequence[float]) -> Callable[..., float]:
    norm = sum(weight**2 for weight in weights)

    def value(*means: float) -> float:
        return REPLICATIONS * sum(w * mean for w, mean in zip(weights, means, strict=True)) ** 2 / norm

    return value


def _ratio(weights: Sequence[float]) -> Callable[..., float]:
    squares = _squares(weights)
    return lambda *numbers: squares(*numbers[:-1]) / numbers[-1]


def _f_ratios() -> Iterator[Cell]:
    """F of Tables 5 to 8 from the printed mean squares."""
    for table in TABLES[2:6]:
        error = _printed(table, {"effect": "error"}, "mean_square")
        for row, square in PAPER.tables[table].printed("mean_square"):
            if row["effect"] != "error":
                ratio = rounded(lambda ms, mse: ms / mse, [square, error])
                yield PAPER.cell(table, row, "f_ratio", ratio, "arithmetic", DIGITS)


def _fractions() -> Iterator[Cell]:
    """Fractions of Table 9 from its counts, over the total that most of the three limits imply."""
    name = "table09_response_histogram"
    table = PAPER.tables[name]
    limits = sorted({row["response_limit_s"] for row in table.rows}, key=float)
    for row, count in table.printed("count"):
        rows = [{**row, "response_limit_s": limit} for limit in limits]
        counts = [_printed(name, each, "count").value for each in rows]
        shares = [_printed(name, each, "fraction") for each in rows]

        def fraction(*parts: float, own: float = count.value, counts: list[float] = counts) -> float:
            return own / statistics.median(n / part for n, part in zip(counts, parts, strict=True))

        yield PAPER.cell(name, row, "fraction", rounded(fraction, shares), "arithmetic", DIGITS)


def _facts() -> Iterator[Cell]:
    """Numbers of the text from the tables that it speaks about."""
    queued = ("table05_queued_workspaces", "avg_queued_workspaces")
    inputs = ("table06_inputs_serviced", "avg_inputs_serviced_per_10_min")
    yield PAPER.fact("A-F37", _mean_of(*queued, algorithm="fb_inf"), "arithmetic", DIGITS, "FB-infinity")
    yield PAPER.fact("A-F37", _mean_of(*queued, algorithm="modified"), "arithmetic", ABOUT, "modified")
    yield PAPER.fact("A-F41", _mean_of(*inputs, algorithm="modified"), "arithmetic", ABOUT)
    yield PAPER.fact("A-F43", _mean_of(*inputs, algorithm="fb_inf"), "arithmetic", ABOUT)
    reaction = ("table07_reaction_time", "avg_reaction_s")
    for name, time_slice in (("A-F47", 0.1), ("A-F48", 0.2)):
        mean = _mean_of(*reaction, time_slice_s=time_slice, resident_workspaces=3)
        yield PAPER.fact(name, mean, "arithmetic", ABOUT)
    for name, table, effect in F_RATIOS_OF_THE_TEXT:
        error = _printed(table, {"effect": "error"}, "mean_square")
        ratio = rounded(lambda ms, mse: ms / mse, [_printed(table, {"effect": effect}, "mean_square"), error])
        yield PAPER.fact(name, ratio, "arithmetic", DIGITS)
    for name, table, quantity in (("A-F52", *reaction), ("A-F53", "table08_response_time", "avg_response_s")):
        best = _mean_of(table, quantity, algorithm="fb_inf", resident_workspaces=3, time_slice_s=0.1)
        yield PAPER.fact(name, best, "arithmetic", DIGITS)


def _mean_of(table: str, quantity: str, **levels: str | float) -> Estimate:
    """Mean of the printed cells at these levels."""
    cells = [
        cell
        for row, cell in PAPER.tables[table].printed(quantity)
        if all(row[key] == level for key, level in levels.items())
    ]
    return rounded(lambda *values: sum(values) / len(values), cells)


def _regression() -> tuple[Table, str]:
    """Hold the printed regression of mean log reaction time against the measured periods of Table 4."""
    constant, slope, wait = (PAPER.facts[name].value.value for name in ("A-F21", "A-F22", "A-F23"))
    table = PAPER.tables["table04_apl_scheduling"]
    rows, printed_off, read_off = [], [], []
    for row in (row for row in table.rows if row["block"] == "empirical"):
        rate, queue, reaction = (
            _printed(table.shape.name, row, name).value
            for name in ("swap_rate_per_10_min", "mean_foreground_queue", "avg_reaction_s")
        )
        measured = log10(reaction + 0.5)
        minutes = queue / (USERS * INPUT_RATE_PER_MIN)
        as_printed = constant + slope * rate + wait * 60 * minutes
        as_read = REGRESSION_READING + slope * rate / 10 + wait * minutes
        printed_off.append(as_printed - measured)
        read_off.append(as_read - measured)
        rows.append((str(row["row"]), measured, as_printed, as_read))
    columns = (
        Column("period", scaled=False),
        Column("log10(mean R + 0.5), measured"),
        Column("as printed"),
        Column("as read here"),
    )
    caption = "The printed regression on D and W_F against the measured periods of Table 4"
    reading = f"constant {REGRESSION_READING}, D a minute, W_F = L_F / λ_F in minutes"
    said = (
        f"The regression as printed is {min(printed_off):+.2f} to {max(printed_off):+.2f} off "
        f"log10(mean R + 0.5) of the eight measured periods of Table 4; with {reading} it is "
        f"{min(read_off):+.2f} to {max(read_off):+.2f} off."
    )
    note = f"Read here: {reading}."
    return Table(
        name="regression-as-printed", caption=caption, columns=columns, rows=tuple(rows), notes=(note,)
    ), said
