"""Consistency of the printed numbers: nothing here is simulated."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Sequence
from math import log10, sqrt

from thinktime.documents.document import Col, Table
from thinktime.stats.estimate import Estimate
from thinktime.studies.anderson_sargent_1974.runs import (
    ALGORITHM_NAMES,
    CELL,
    F_RATIOS_OF_THE_TEXT,
    HISTOGRAM,
    PAPER,
    REGRESSION_READING,
    REPLICATIONS,
    contrasts_of_table_3,
)
from thinktime.studies.anderson_sargent_1974.service_times import CLASSES
from thinktime.studies.cells import Cell, Row
from thinktime.studies.estimates import rounded
from thinktime.studies.paper import Paper
from thinktime.studies.published import Printed
from thinktime.studies.study import Chapter

_LAST_DIGIT = (
    "Where a fraction misses by one in its last digit, count and fraction were printed with different totals."
)
USERS = 35
INPUT_RATE_PER_MIN = 1.62
"""Inputs per minute and user in the middle level of Table 3, from which W_F = L_F / lambda_F follows."""


def chapter(_: object) -> Chapter:
    """Every printed number that follows from other printed numbers."""
    figures = (*_service_times(), *mean_squares(PAPER), *_f_ratios(), *_fractions(), *_facts())
    table, regression = _regression()
    shares, counted = _shares()
    summary = (
        "A recomputed figure agrees where the printed one lies within what the rounding of its "
        "inputs allows.",
        "Of Tables 5 to 8 not every cell is known here; their mean squares need all of them, so of these "
        "analyses of variance only the F ratios can be checked.",
        regression,
        counted,
    )
    notes = {HISTOGRAM: (_LAST_DIGIT,)}
    method = (
        "Standard deviation, coefficient of variation, and the moments of the mixture of the three classes "
        "(Table 1); sums of squares 8 (Σ c ȳ)² / Σ c² of polynomial contrasts of the printed cells "
        "(Table 3); F = mean square / error mean square (Tables 3 and 5 to 8); count over the total that "
        "the three limits imply together (Table 9)."
    )
    return Chapter(cells=figures, summary=summary, tables=(table, shares), notes=notes, method=method)


def _service_times() -> Iterator[Cell]:
    name = "table01_service_times"

    def printed(row: str, quantity: str) -> Printed:
        return PAPER.printed(name, {"input_class": row}, quantity)

    for row in ("all", *CLASSES):
        key = {"input_class": row}
        spread = rounded(sqrt, [printed(row, "variance_s2")], "s")
        yield PAPER.recomputed(name, key, "std_dev_s", spread)
        ratio = rounded(lambda sd, mean: sd / mean, [printed(row, "std_dev_s"), printed(row, "mean_s")])
        yield PAPER.recomputed(name, key, "coeff_of_var", ratio)
    inputs = [
        printed(row, quantity)
        for row in CLASSES
        for quantity in ("percent_of_inputs", "mean_s", "std_dev_s", "skew")
    ]
    for moment, quantity in enumerate(("mean_s", "variance_s2", "skew")):
        mixed = rounded(_mixture(moment), inputs)
        yield PAPER.recomputed(name, {"input_class": "all"}, quantity, mixed)


def _mixture(moment: int) -> Callable[..., float]:
    """Mean, variance or skew of a mixture, of share, mean, standard deviation and skew of each class."""

    def value(*numbers: float) -> float:
        parts = [numbers[index : index + 4] for index in range(0, len(numbers), 4)]
        total = sum(part[0] for part in parts)
        raw = [0.0, 0.0, 0.0]
        for share, mean, sd, skew in parts:
            weight = share / total
            raw[0] += weight * mean
            raw[1] += weight * (sd**2 + mean**2)
            raw[2] += weight * (skew * sd**3 + 3 * mean * sd**2 + mean**3)
        variance = raw[1] - raw[0] ** 2
        third = raw[2] - 3 * raw[0] * raw[1] + 2 * raw[0] ** 3
        return (raw[0], variance, third / variance**1.5)[moment]

    return value


def mean_squares(paper: Paper) -> Iterator[Cell]:
    """Table 3: mean squares of the polynomial contrasts, of users U and input rate I, and their F."""
    cells = [cell for _, cell in paper.tables["table03_log_reaction_cells"].printed("mean_log10_reaction")]
    error = paper.printed("table03_anova", {"effect": "error"}, "mean_square")
    for effect, weights in contrasts_of_table_3().items():
        row = {"effect": effect}
        squares = rounded(_squares(weights), cells)
        yield paper.recomputed("table03_anova", row, "mean_square", squares)
        ratio = rounded(_ratio(weights), [*cells, error])
        yield paper.recomputed("table03_anova", row, "f_ratio", ratio)


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
    for table in ("table05_anova", "table06_anova", "table07_anova", "table08_anova"):
        error = PAPER.printed(table, {"effect": "error"}, "mean_square")
        for row, square in PAPER.tables[table].printed("mean_square"):
            if row["effect"] != "error":
                ratio = rounded(lambda ms, mse: ms / mse, [square, error])
                yield PAPER.recomputed(table, row, "f_ratio", ratio)


def _counts(row: Row) -> tuple[list[float], list[Printed]]:
    """Counts and fractions of Table 9 at its three limits, in the cell of the experiment that is in `row`."""
    limits = sorted({row["response_limit_s"] for row in PAPER.tables[HISTOGRAM].rows}, key=float)
    rows = [{**row, "response_limit_s": limit} for limit in limits]
    counts = [PAPER.printed(HISTOGRAM, item, "count").value for item in rows]
    return counts, [PAPER.printed(HISTOGRAM, item, "fraction") for item in rows]


def _fractions() -> Iterator[Cell]:
    """Fractions of Table 9 from its counts, over the total that most of the three limits imply."""
    for row, count in PAPER.tables[HISTOGRAM].printed("count"):
        counts, shares = _counts(row)

        def fraction(*parts: float, count: float = count.value, counts: list[float] = counts) -> float:
            return count / statistics.median(n / part for n, part in zip(counts, parts, strict=True))

        yield PAPER.recomputed(HISTOGRAM, row, "fraction", rounded(fraction, shares))


def _shares() -> tuple[Table, str]:
    """Part of the inputs of Table 6 that Table 9 counts, in each cell, beside the queue."""
    inputs = "table06_inputs_serviced", "avg_inputs_serviced_per_10_min"
    rows = []
    for row, _ in PAPER.tables[HISTOGRAM].printed("count"):
        cell = {name: row[name] for name in CELL}
        if row["response_limit_s"] != 5:
            continue
        total = statistics.median(count / share.value for count, share in zip(*_counts(row), strict=True))
        queued = PAPER.printed("table05_queued_workspaces", cell, "avg_queued_workspaces").value
        all_inputs = REPLICATIONS * PAPER.printed(inputs[0], cell, inputs[1]).value
        label = (
            f"{ALGORITHM_NAMES[str(row['algorithm'])]}, {row['resident_workspaces']}, {row['time_slice_s']} s"
        )
        rows.append((label, queued, all_inputs, total, total / all_inputs))
    shares = [row[-1] for row in rows]
    text = (
        f"The short compute transactions of Table 9 are {100 * min(shares):.1f} to {100 * max(shares):.1f} % "
        "of the inputs of Table 6 in every printed cell, however long its queue: Table 6 counts inputs taken "
        "up. "
        "Of inputs completed they would be the larger a part, the more long ones the queue holds at the end."
    )
    return Table.of(
        rows,
        Col("algorithm, workspaces, slice", lambda row: row[0]),
        Col("queued (Table 5)", lambda row: row[1], scaled=False),
        Col("inputs of eight periods (Table 6)", lambda row: row[2], scaled=False),
        Col("short compute transactions (Table 9)", lambda row: row[3], scaled=False),
        Col("part", lambda row: row[4], unit="share"),
        name="what-table-6-counts",
        caption="Short compute transactions as a part of the inputs serviced, from Tables 6 and 9",
    ), text


def _facts() -> Iterator[Cell]:
    """Numbers of the text from the tables that it speaks about."""
    queued = ("table05_queued_workspaces", "avg_queued_workspaces")
    inputs = ("table06_inputs_serviced", "avg_inputs_serviced_per_10_min")
    yield PAPER.recomputed_fact(
        "queued-workspaces", _mean_of(*queued, algorithm="fb_inf"), part="FB-infinity"
    )
    yield PAPER.recomputed_fact("queued-workspaces", _mean_of(*queued, algorithm="modified"), part="modified")
    yield PAPER.recomputed_fact("throughput-modified", _mean_of(*inputs, algorithm="modified"))
    yield PAPER.recomputed_fact("throughput-fb-infinity", _mean_of(*inputs, algorithm="fb_inf"))
    reaction = ("table07_reaction_time", "avg_reaction_s")
    for name, time_slice in (("mean-reaction-slice-0.1", 0.1), ("mean-reaction-slice-0.2", 0.2)):
        mean = _mean_of(*reaction, time_slice_s=time_slice, resident_workspaces=3)
        yield PAPER.recomputed_fact(name, mean)
    for name, table, effect in F_RATIOS_OF_THE_TEXT:
        error = PAPER.printed(table, {"effect": "error"}, "mean_square")
        ratio = rounded(
            lambda ms, mse: ms / mse, [PAPER.printed(table, {"effect": effect}, "mean_square"), error]
        )
        yield PAPER.recomputed_fact(name, ratio)
    for name, table, quantity in (
        ("best-reaction", *reaction),
        ("best-response", "table08_response_time", "avg_response_s"),
    ):
        best = _mean_of(table, quantity, algorithm="fb_inf", resident_workspaces=3, time_slice_s=0.1)
        yield PAPER.recomputed_fact(name, best)


def _mean_of(table: str, quantity: str, **levels: str | float) -> Estimate:
    """Mean of the printed cells at these levels."""
    cells = [
        cell
        for row, cell in PAPER.tables[table].printed(quantity)
        if all(row[key] == level for key, level in levels.items())
    ]
    return rounded(lambda *values: sum(values) / len(values), cells)


def _regression() -> tuple[Table, str]:
    """Comparison of the printed regression of mean log reaction time with the measured periods of Table 4."""
    constant, slope, wait = (
        PAPER.facts[name].value.value
        for name in ("regression-constant", "regression-swap-rate", "regression-foreground-time")
    )
    table = PAPER.tables["table04_apl_scheduling"]
    rows, printed_off, read_off = [], [], []
    for row in (row for row in table.rows if row["block"] == "empirical"):
        rate, queue, reaction = (
            PAPER.printed(table.shape.name, row, name).value
            for name in ("swap_rate_per_10_min", "mean_foreground_queue", "avg_reaction_s")
        )
        measured = log10(reaction + 0.5)
        minutes = queue / (USERS * INPUT_RATE_PER_MIN)
        as_printed = constant + slope * rate + wait * 60 * minutes
        as_read = REGRESSION_READING + slope * rate / 10 + wait * minutes
        printed_off.append(as_printed - measured)
        read_off.append(as_read - measured)
        rows.append((str(row["row"]), measured, as_printed, as_read))
    reading = f"constant {REGRESSION_READING}, D per minute, W_F = L_F / λ_F in minutes"
    listed = (
        f"The regression as printed is {min(printed_off):+.2f} to {max(printed_off):+.2f} off "
        f"log10(mean R + 0.5) of the eight measured periods of Table 4; with {reading} it is "
        f"{min(read_off):+.2f} to {max(read_off):+.2f} off."
    )
    return Table.of(
        rows,
        Col("period", lambda row: row[0], scaled=False),
        Col("log10(mean R + 0.5), measured", lambda row: row[1]),
        Col("as printed", lambda row: row[2]),
        Col("as read here", lambda row: row[3]),
        name="regression-as-printed",
        caption="The printed regression on D and W_F against the measured periods of Table 4",
        notes=[f"Read here: {reading}."],
    ), listed
