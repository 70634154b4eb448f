"""Consistency of the printed numbers, and the doubtful ones: nothing here is simulated."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from thinktime.documents.document import Col, Table
from thinktime.stats.estimate import Estimate
from thinktime.studies.bard_1971.records import (
    DATA_PERIODS,
    DATA_SETS,
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
from thinktime.studies.common_sections import doubtful
from thinktime.studies.estimates import exact, rounded
from thinktime.studies.paper import ENDS
from thinktime.studies.published import Printed
from thinktime.studies.study import Chapter

BEST = {"II-2": "adjusted_for_vmio", "II-3": "adjusted_for_vmio", "III-3": "vmio_included"}
"""Rows of Table 5 that Table 8 is made of."""
CALLS, REDUCTIONS, OBSERVED = (
    {request: f"{name}-{request.replace('_', '-')}" for request in ("vsio", "vmio", "page_io", "spool_io")}
    for name in ("calls", "expected-reduction", "observed-reduction")
)
"""Facts about each request: its FREE calls, and the reductions of its cost as expected and as observed."""
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
    for which in ("old", "new"):
        yield PAPER.recomputed_fact(f"share-measured-{which}", free_fret_share(which))
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
    for end, value in zip(ENDS, (min(r2), max(r2)), strict=True):
        ours = exact(value, "", len(r2))
        yield PAPER.recomputed_fact("r-squared", ours, end=end)
    table = PAPER.tables[DATA_PERIODS]
    months = [table.remark(row, name) for row in table.rows for name in ("start_month", "end_month")]
    numbers = [12 * int(month[:4]) + int(month[5:]) for month in months]
    yield PAPER.recomputed_fact("study-length", exact(max(numbers) - min(numbers) + 1, "", len(months)))


def _explained() -> Iterator[str]:
    """Share of the mean CP time that the printed coefficients explain."""
    included: list[str] = []
    adjusted: list[str] = []
    for item in _sums():
        (included if item.name.startswith("III-3, ") else adjusted).append(
            f"{item.percent:.0f} % ({item.name})"
        )
    yield (
        "Base and requests of Table 5 at the mean rates of Table 7 explain of the mean CP time "
        f"{', '.join(included)}; with what is adjusted for VMIO only {', '.join(adjusted)}, for the "
        "adjustment takes the share of VMIO out and puts no term for it in."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Explained:
    """CP time that printed coefficients explain at printed rates, and its mean [ms/s]."""

    name: str
    explained: float
    mean: float

    @property
    def percent(self) -> float:
        """Explained part of the mean, in per cent."""
        return 100.0 * self.explained / self.mean


def _sums() -> Iterator[Explained]:
    """CP time that Table 5 explains at the rates of Table 7, for each data set."""
    for data_set, variant in BEST.items():
        explained = _theta(data_set, variant, "base").value
        for request in REQUESTS[1:]:
            if data_set != "III-3" and request == "vmio":
                continue
            explained += _theta(data_set, variant, request).value * _rate(data_set, request).value
        name = f"{data_set}, {variant.replace('_', ' ').replace('vmio', 'VMIO')}"
        yield Explained(name=name, explained=explained, mean=1000.0 * _rate(data_set, "cp_time").value)


def _explained_table() -> Table:
    return Table.of(
        [*_sums(), *(_experiment(which) for which in ("old", "new"))],
        Col("data", lambda item: item.name),
        Col("base and requests, ms/s", lambda item: f"{item.explained:.1f}", scaled=False),
        Col("mean CP time, ms/s", lambda item: f"{item.mean:.0f}", scaled=False),
        Col("explained, %", lambda item: f"{item.percent:.1f}", scaled=False),
        name="explained",
        caption="Printed coefficients at printed rates",
        notes=(
            "The eight days: coefficients of Table 11, base and problem state of Table 5, rates of Table 12.",
        ),
    )


def _experiment(which: str) -> Explained:
    column = f"{which}_free_fret"
    explained = _theta("III-3", "vmio_included", "base").value
    rate = PAPER.printed(EXPERIMENT, {"variable": "problem_state_time"}, column).value / 100.0
    explained += _theta("III-3", "vmio_included", "problem_state_time").value * rate
    for request in CALLS:
        theta = PAPER.printed(FREE_FRET, key(FREE_FRET, request), f"cp_iii_{column}").value
        explained += theta * PAPER.printed(EXPERIMENT, {"variable": request}, column).value
    mean = 10.0 * PAPER.printed(EXPERIMENT, {"variable": "cp_time"}, column).value
    return Explained(name=f"eight days, {which} free-fret", explained=explained, mean=mean)


# Doubts


def doubts(_: object) -> Chapter:
    """Every doubtful number as printed, with what the other printed numbers imply."""
    return doubtful(
        ("rows of Table 8", "one label is lost, two read 11-3 and 111-3", _rows_of_table_8),
        ("order of Table 7", "labels are broken by overlines", _order_of_table_7),
        ("columns of Table 11", "heads read 11*, III*, III", _columns_of_table_11),
        ("phi5", "1, without a decimal", _phi5),
        ("theta1 - phi1 of Table 9", "52 %", _vsio_of_table_9),
        ("theta5 of II-2, adjusted", "24.0", _theta5),
        ("observations of II-3", "7890 in Table 3", _observations),
        ("reductions of 1.8, -0.3, 1.0 and 1.1", "seconds", _seconds),
        ("divisor of equation 6", "n - m, with m + 1 coefficients", _divisor),
        ("time that measuring free-fret takes", "16.5 and 14.6 %, 2.9 and 2.3 %", _measuring),
        ("shares of free-fret", "16.5 and 2.9 %", _shares),
    )


def _off(row: str, data_set: str, order: tuple[str, ...] = ()) -> float:
    """Largest difference of a row of Table 8 from the shares of a data set, points."""
    requests = [request for request in SHARE_COLUMNS.values() if request != "vmio"]
    rates = dict(zip(requests, order or requests, strict=True))
    result = []
    for column, request in SHARE_COLUMNS.items():
        cell = PAPER.tables[SHARES].cell({"data_set": row}, column)
        if cell is not None and request != "vmio":
            theta = _theta(data_set, BEST[data_set], request).value
            share = 0.1 * theta * _rate(data_set, rates[request]).value / _rate(data_set, "cp_time").value
            result.append(abs(share - cell.value))
    return max(result)


def _rows_of_table_8() -> str:
    listed = []
    for row in DATA_SETS:
        fits = ", ".join(f"{_off(row, data_set):.1f} from {data_set}" for data_set in DATA_SETS)
        listed.append(f"row {row} {fits}")
    return f"largest differences in points: {'; '.join(listed)}"


def _order_of_table_7() -> str:
    named = _off("III-3", "III-3")
    exchanged = _off("III-3", "III-3", ("page_io", "vsio", "spool_io", "problem_state_time"))
    return (
        f"with the order x1 to x5 the shares of III-3 are within {named:.2f} points of Table 8, with x1 and "
        f"x3 exchanged within {exchanged:.0f}"
    )


def _columns_of_table_11() -> str:
    first = [
        _theta("II-3", "adjusted_for_vmio", request).value for request in ("vsio", "page_io", "spool_io")
    ]
    last = [_theta("III-3", "vmio_included", request).value for request in CALLS]
    listed = [", ".join(f"{value:g}" for value in column) for column in (first, last)]
    return (
        f"the first column is that of II-3, adjusted ({listed[0]}), the last that of III-3 in Table 5 "
        f"({listed[1]}): old, old and new free-fret"
    )


def _phi5() -> str:
    tau, rate = _rate("III-3", "cp_time").value, _rate("III-3", "problem_state_time").value
    theta = _theta("III-3", "vmio_included", "problem_state_time").value
    low, high = (theta - 10.0 * percent * tau / rate for percent in (17.5, 16.5))
    phi = {row["request_type"]: cell.value for row, cell in PAPER.tables[DISPATCH].printed("value")}
    rest = sum(
        value * (1.0 if request == "base" else _rate("III-3", str(request)).value)
        for request, value in phi.items()
        if request != "problem_state_time"
    )
    shares = [0.1 * (rest + value * rate) / tau for value in (phi["problem_state_time"], low)]
    return (
        f"17 % in Table 9 needs phi5 between {low:.1f} and {high:.1f}; dispatch takes {shares[0]:.1f} % of "
        f"CP time with phi5 as printed, {shares[1]:.1f} % with {low:.1f}, and 8.5 % is printed"
    )


def _vsio_of_table_9() -> str:
    tau, rate = _rate("III-3", "cp_time").value, _rate("III-3", "vsio").value
    theta, phi = (
        _theta("III-3", "vmio_included", "vsio").value,
        PAPER.printed(DISPATCH, key(DISPATCH, "vsio"), "value").value,
    )
    ends = [0.1 * (theta - phi + off) * rate / tau for off in (-0.1, 0.0, 0.1)]
    return f"{ends[1]:.1f} %, and {ends[0]:.1f} to {ends[2]:.1f} % by the rounding of the two coefficients"


def _theta5() -> str:
    present, unknown = (
        PAPER.printed(OMISSION, key(OMISSION, "problem_state_time"), name).value
        for name in ("with_vmio", "without_vmio")
    )
    plain = _theta("II-2", "vmio_not_included", "problem_state_time").value
    low, high = (plain + off for off in (-0.05, 0.05))
    return (
        f"{plain:g} x {present:g} / {unknown:g} is {plain * present / unknown:.2f}, between "
        f"{low * present / unknown:.2f} and {high * present / unknown:.2f} by rounding"
    )


def _observations() -> str:
    total = sum(cell.value for _, cell in PAPER.tables[LOADS].printed("ii_3"))
    stated = PAPER.printed(DATA_PERIODS, {"data_set": "II-3"}, "n_points").value
    row = {"data_set": "II-3", "variant": "vmio_not_included"}
    fitted = sum(
        PAPER.printed(REGRESSION, row, name).value for name in ("n_rejected_outliers", "n_remaining_points")
    )
    return f"Table 10 adds up to {total:.0f}, Table 5 to {fitted:.0f}; Table 3 says {stated:.0f}"


def _seconds() -> str:
    pairs = (fact(CALLS["vsio"]).value * fact("pair-saving").value) / 1000.0
    return f"calls times what a pair of calls is faster is {pairs:.1f} milliseconds for a VSIO"


def _divisor() -> str:
    n = PAPER.printed(
        REGRESSION, {"data_set": "II-2", "variant": "vmio_not_included"}, "n_remaining_points"
    ).value
    ratio = ((n - 4.0) / (n - 5.0)) ** 0.5
    return (
        f"n - m - 1 would make s {100.0 * (ratio - 1.0):.2f} % larger in the smallest data set: hardly an "
        "outlier more or less"
    )


def measuring_s(way: str) -> float:
    r"""Time that measuring a pair of calls takes, by the printed shares with the old or new algorithm [s].

    With share S measured and B bare, measuring is :math:`(S - B)/(1 - B)` of CP time, which is spread over
    the calls of Table 12.
    """
    measured, bare = (fact(f"share-{kind}-{way}").value / 100.0 for kind in ("measured", "bare"))
    column = f"{way}_free_fret"
    cp = PAPER.printed(EXPERIMENT, {"variable": "cp_time"}, column).value / 100.0
    pairs = sum(
        fact(name).value * PAPER.printed(EXPERIMENT, {"variable": request}, column).value
        for request, name in CALLS.items()
    )
    return (measured - bare) / (1.0 - bare) * cp / pairs


def _measuring() -> str:
    return "; ".join(
        f"{1e6 * measuring_s(way):.0f} microseconds a pair of calls with the {way} algorithm"
        for way in ("old", "new")
    )


def _shares() -> str:
    old, new = (free_fret_share(way).value for way in ("old", "new"))
    return f"calls a request, rates of Table 12 and times of a call give {old:.1f} and {new:.1f} % of CP time"
