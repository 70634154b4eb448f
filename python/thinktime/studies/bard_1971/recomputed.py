"""Consistency of the printed numbers: nothing here is simulated."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from thinktime.documents import document
from thinktime.documents.document import Column, Table
from thinktime.stats.estimate import Estimate
from thinktime.studies.bard_1971.records import (
    DATA_PERIODS,
    DISPATCH,
    EXPERIMENT,
    FREE_FRET,
    LOADS,
    OMISSION,
    PAPER,
    RATES,
    REGRESSION,
    REQUESTS,
    SHARE_COLUMNS,
    SHARES,
    SHARES_APART,
    THETAS,
    key,
)
from thinktime.studies.cells import Cell, Row
from thinktime.studies.estimates import exact, rounded
from thinktime.studies.published import Printed
from thinktime.studies.study import Chapter

DATA_SETS = {"II-2": "ii_2", "II-3": "ii_3", "III-3": "iii_3"}
"""Columns of Tables 7 and 10 by data set."""
BEST = {"II-2": "adjusted_for_vmio", "II-3": "adjusted_for_vmio", "III-3": "vmio_included"}
"""Rows of Table 5 that Table 8 is made of."""
CALLS = {"vsio": "calls-vsio", "vmio": "calls-vmio", "page_io": "calls-page-io", "spool_io": "calls-spool-io"}
"""FREE calls of a request, by fact."""
REDUCTIONS = {
    "vsio": "expected-reduction-vsio",
    "vmio": "expected-reduction-vmio",
    "page_io": "expected-reduction-page-io",
    "spool_io": "expected-reduction-spool-io",
}
OBSERVED = {
    "vsio": "observed-reduction-vsio",
    "vmio": "observed-reduction-vmio",
    "page_io": "observed-reduction-page-io",
    "spool_io": "observed-reduction-spool-io",
}
TIMES = {"old": ("free-time-old", "fret-time-old"), "new": ("free-time-new", "fret-time-new")}
"""Mean times of FREE and FRET, by algorithm."""


def chapter(_: object) -> Chapter:
    """Every printed number that follows from other printed numbers."""
    figures = (
        *_counts(),
        *_repeated(),
        *_adjusted(),
        *shares(BEST),
        *_apart(),
        *_free_fret(),
        *_facts(),
    )
    summary = (
        "A recomputed figure agrees where the printed one lies within what the rounding of its "
        "inputs allows.",
        *_explained(),
    )
    method = (
        "Adjusted coefficients: those of II-2 and II-3 times with / without VMIO of III-3 (Table 5). Shares: "
        "100 theta_i x_i / tau (Table 8), 100 (theta_i - phi_i) x_i / tau and the sum of phi_i x_i for "
        "dispatch (Table 9). Reductions: calls times what a FREE and a FRET are faster; differences of "
        "Table 11."
    )
    return Chapter(cells=figures, summary=summary, tables=(_explained_table(),), method=method)


def fact(name: str) -> Printed:
    """One number stated in the text."""
    return PAPER.facts[name].value


def _theta(data_set: str, variant: str, request: str) -> Printed:
    column = next(name for name, item in THETAS.items() if item == request)
    return PAPER.printed(REGRESSION, {"data_set": data_set, "variant": variant}, column)


def _rate(data_set: str, request: str) -> Printed:
    return PAPER.printed(RATES, key(RATES, request), DATA_SETS[data_set])


def _phi(request: str) -> Printed:
    return PAPER.printed(DISPATCH, key(DISPATCH, request), "value")


def _counts() -> Iterator[Cell]:
    """Observations of Table 3 as Tables 5 and 10 add up to them."""
    for data_set, column in DATA_SETS.items():
        row: Row = {"data_set": data_set}
        cells = [cell for _, cell in PAPER.tables[LOADS].printed(column)]
        total = exact(sum(cell.value for cell in cells), "", len(cells))
        yield PAPER.recomputed(DATA_PERIODS, row, "n_points", total)
    for selected in PAPER.tables[REGRESSION].rows:
        if PAPER.tables[REGRESSION].cell(selected, "n_rejected_outliers") is None:
            continue
        every = PAPER.printed(DATA_PERIODS, {"data_set": selected["data_set"]}, "n_points")
        rejected = PAPER.printed(REGRESSION, selected, "n_rejected_outliers")
        left = exact(every.value - rejected.value, "", 2)
        yield PAPER.recomputed(REGRESSION, selected, "n_remaining_points", left)


def _repeated() -> Iterator[Cell]:
    """Coefficients of III-3 stand in Tables 4, 5 and 11, those of II-3 in Tables 5 and 11."""
    for request in REQUESTS:
        for column, variant in (("without_vmio", "vmio_not_included"), ("with_vmio", "vmio_included")):
            row = key(OMISSION, request)
            if PAPER.tables[OMISSION].cell(row, column) is not None:
                ours = exact(_theta("III-3", variant, request).value, "", 1)
                yield PAPER.recomputed(OMISSION, row, column, ours)
    for row in PAPER.tables[FREE_FRET].rows:
        request = str(row["request_type"])
        for column, data_set in (("cp_ii_old_free_fret", "II-3"), ("cp_iii_new_free_fret", "III-3")):
            if PAPER.tables[FREE_FRET].cell(row, column) is not None:
                ours = exact(_theta(data_set, BEST[data_set], request).value, "", 1)
                yield PAPER.recomputed(FREE_FRET, row, column, ours)


def _adjusted() -> Iterator[Cell]:
    """Coefficients adjusted for VMIO, which was not counted under version II."""
    for data_set in ("II-2", "II-3"):
        row: Row = {"data_set": data_set, "variant": "adjusted_for_vmio"}
        for column, request in THETAS.items():
            if request == "vmio":
                continue
            inputs = (
                _theta(data_set, "vmio_not_included", request),
                PAPER.printed(OMISSION, key(OMISSION, request), "with_vmio"),
                PAPER.printed(OMISSION, key(OMISSION, request), "without_vmio"),
            )
            ours = rounded(lambda plain, known, unknown: plain * known / unknown, inputs)
            yield PAPER.recomputed(REGRESSION, row, column, ours)


def shares(variants: Mapping[str, str]) -> Iterator[Cell]:
    """Table 8 from these rows of Table 5, by data set."""
    for data_set in DATA_SETS:
        for column, request in SHARE_COLUMNS.items():
            row: Row = {"data_set": data_set}
            if PAPER.tables[SHARES].cell(row, column) is None:
                continue
            inputs = (
                _theta(data_set, variants[data_set], request),
                _rate(data_set, request),
                _rate(data_set, "cp_time"),
            )
            ours = rounded(lambda theta, rate, tau: 0.1 * theta * rate / tau, inputs, "% of CP time")
            yield PAPER.recomputed(SHARES, row, column, ours)


def _apart() -> Iterator[Cell]:
    row: Row = {"data_set": "III-3"}
    tau = _rate("III-3", "cp_time")
    for column, request in SHARE_COLUMNS.items():
        inputs = (_theta("III-3", "vmio_included", request), _phi(request), _rate("III-3", request), tau)
        ours = rounded(lambda theta, phi, rate, tau: 0.1 * (theta - phi) * rate / tau, inputs, "% of CP time")
        yield PAPER.recomputed(SHARES_APART, row, column, ours)
    counted = REQUESTS[1:]
    numbers = (tau, *(_phi(request) for request in REQUESTS), *(_rate("III-3", item) for item in counted))
    ours = rounded(_dispatch_share, numbers, "% of CP time")
    yield PAPER.recomputed(SHARES_APART, row, "dispatch_percent", ours)


def _dispatch_share(tau: float, *numbers: float) -> float:
    """Per cent of CP time that goes to dispatch, of tau, phi0 to phi5 and x1 to x5."""
    phi, rates = numbers[: len(REQUESTS)], (1.0, *numbers[len(REQUESTS) :])
    return 0.1 * sum(one * other for one, other in zip(phi, rates, strict=True)) / tau


def _free_fret() -> Iterator[Cell]:
    """Savings of the new algorithm, and its share of CP time, as calls times times."""
    times = [fact(name) for name in (*TIMES["old"], *TIMES["new"])]
    saved = rounded(lambda free, fret, newer, newest: free + fret - newer - newest, times, "microseconds")
    yield PAPER.recomputed_fact("pair-saving", saved)
    for request, name in REDUCTIONS.items():
        inputs = (fact(CALLS[request]), fact("pair-saving"))
        ours = rounded(lambda calls, each: calls * each / 1000.0, inputs, "ms")
        yield PAPER.recomputed_fact(name, ours)
    for request, name in OBSERVED.items():
        row = key(FREE_FRET, request)
        pair = [PAPER.printed(FREE_FRET, row, f"cp_iii_{which}_free_fret") for which in ("old", "new")]
        ours = rounded(lambda old, new: old - new, pair, "ms")
        yield PAPER.recomputed_fact(name, ours)
    for which, name in (("old", "share-measured-old"), ("new", "share-measured-new")):
        yield PAPER.recomputed_fact(name, free_fret_share(which))
    page = key(FREE_FRET, "page_io")
    columns = ("cp_ii_old_free_fret", "cp_iii_old_free_fret", "cp_iii_new_free_fret")
    pages = tuple(PAPER.printed(FREE_FRET, page, column) for column in columns)
    coding = rounded(lambda second, old, _: 100.0 * (second - old) / second, pages, "percent")
    yield PAPER.recomputed_fact("page-gain-by-coding", coding)
    more = rounded(lambda second, old, new: 100.0 * (old - new) / second, pages, "percent")
    yield PAPER.recomputed_fact("page-gain-by-free-fret", more)


def free_fret_share(which: str) -> Estimate:
    """Per cent of CP time in FREE and FRET: calls of each request, its rate in Table 12, time of a pair."""
    column = f"{which}_free_fret"
    tau = PAPER.printed(EXPERIMENT, {"variable": "cp_time"}, column)
    rates = [PAPER.printed(EXPERIMENT, {"variable": request}, column) for request in CALLS]
    calls = [fact(name) for name in CALLS.values()]
    return rounded(_pair_share, (tau, *(fact(name) for name in TIMES[which]), *calls, *rates), "percent")


def _pair_share(tau: float, free: float, fret: float, *numbers: float) -> float:
    half = len(numbers) // 2
    pairs = sum(one * other for one, other in zip(numbers[:half], numbers[half:], strict=True))
    return 100.0 * pairs * (free + fret) * 1e-6 / (tau / 100.0)


def _facts() -> Iterator[Cell]:
    r2 = [cell.value for _, cell in PAPER.tables[REGRESSION].printed("r2")]
    for end, value in (("low", min(r2)), ("high", max(r2))):
        ours = exact(value, "", len(r2))
        # Literal ends, for the type checker.
        yield PAPER.recomputed_fact("r-squared", ours, end="low" if end == "low" else "high")
    table = PAPER.tables[DATA_PERIODS]
    months = [table.remark(row, name) for row in table.rows for name in _ENDS]
    numbers = [12 * int(month[:4]) + int(month[5:]) for month in months]
    yield PAPER.recomputed_fact("study-length", exact(max(numbers) - min(numbers) + 1, "", len(months)))


_ENDS = ("start_month", "end_month")


def _explained() -> Iterator[str]:
    """Share of the mean CP time that the printed coefficients explain."""
    included: list[str] = []
    adjusted: list[str] = []
    for name, _, _, part in _sums():
        (included if name.startswith("III-3, ") else adjusted).append(f"{part:.0f} % ({name})")
    yield (
        "Base and requests of Table 5 at the mean rates of Table 7 explain of the mean CP time "
        f"{', '.join(included)}; with what is adjusted for VMIO only {', '.join(adjusted)}, for the "
        "adjustment takes the share of VMIO out and puts no term for it in."
    )


def _sums() -> Sequence[tuple[str, float, float, float]]:
    """Data set, explained and mean CP time [ms/s], and the first as per cent of the second."""
    result = []
    for data_set, variant in BEST.items():
        explained = _theta(data_set, variant, "base").value
        for request in REQUESTS[1:]:
            if data_set != "III-3" and request == "vmio":
                continue
            explained += _theta(data_set, variant, request).value * _rate(data_set, request).value
        mean = 1000.0 * _rate(data_set, "cp_time").value
        name = f"{data_set}, {variant.replace('_', ' ').replace('vmio', 'VMIO')}"
        result.append((name, explained, mean, 100.0 * explained / mean))
    return result


def _explained_table() -> Table:
    rows: list[tuple[document.Cell, ...]] = [
        (name, f"{explained:.1f}", f"{mean:.0f}", f"{part:.1f}") for name, explained, mean, part in _sums()
    ]
    rows += [_experiment(which) for which in ("old", "new")]
    columns = (
        Column("data"),
        Column("base and requests, ms/s", scaled=False),
        Column("mean CP time, ms/s", scaled=False),
        Column("explained, %", scaled=False),
    )
    note = "The eight days: coefficients of Table 11, base and problem state of Table 5, rates of Table 12."
    return Table(
        name="explained",
        caption="Printed coefficients at printed rates",
        columns=columns,
        rows=tuple(rows),
        notes=(note,),
    )


def _experiment(which: str) -> tuple[document.Cell, ...]:
    column = f"{which}_free_fret"
    explained = _theta("III-3", "vmio_included", "base").value
    rate = PAPER.printed(EXPERIMENT, {"variable": "problem_state_time"}, column).value / 100.0
    explained += _theta("III-3", "vmio_included", "problem_state_time").value * rate
    for request in CALLS:
        theta = PAPER.printed(FREE_FRET, key(FREE_FRET, request), f"cp_iii_{column}").value
        explained += theta * PAPER.printed(EXPERIMENT, {"variable": request}, column).value
    mean = 10.0 * PAPER.printed(EXPERIMENT, {"variable": "cp_time"}, column).value
    name = f"eight days, {which} free-fret"
    return (name, f"{explained:.1f}", f"{mean:.0f}", f"{100.0 * explained / mean:.1f}")
